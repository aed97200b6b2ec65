"""The page of replies: every name and sentence is there and escaped, cycles are drawn, and nothing is fetched."""

from __future__ import annotations

import re
from pathlib import Path

from plume.tuning.asked import Edge, Reply, Stage
from plume.view.asked import asked_page, graph_svg, write_asked_page


def reply(*edges: tuple[str, str], answer: str = "d") -> Reply:
    graph = tuple(Edge(source=a, label=f"{a} knows <b>{b}</b>", target=b) for a, b in edges)
    return Reply(question="who <i>?", answers=(answer,), score=0.5, steps=(Stage(name="start", said="a", score=1.0),), graph=graph)


def test_a_column_for_each_hop() -> None:
    drawn = graph_svg(reply(("a", "b"), ("a", "c"), ("c", "d"), ("d", "a")))
    boxes = {name: int(x) for name, x in re.findall(r"<title>(.)</title><rect x=\"(\d+)\"", drawn)}
    # a is on a cycle: where everything is reached from somewhere, the first name begins.
    assert boxes["a"] < boxes["b"] == boxes["c"] < boxes["d"]
    assert drawn.count("<path") == 4 and drawn.count('class="chosen"') == 1
    assert graph_svg(reply(("a", "b"), ("b", "a"))).count("<rect") == 2


def test_the_page(tmp_path: Path) -> None:
    write_asked_page([reply(("a", "d")), Reply(question="x", answers=(), score=0.0)], tmp_path / "graph.html")
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert "who &lt;i&gt;?" in page and "a knows &lt;b&gt;d&lt;/b&gt;" in page and "No answer" in page
    assert not re.search(r"(src|href)=", page) and "<script" not in page
    assert "没有答案" in asked_page([Reply(question="x", answers=(), score=0.0)], language="zh")
