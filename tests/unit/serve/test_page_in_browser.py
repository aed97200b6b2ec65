"""The page in a real browser: every panel is used, with pointer and keys, and nothing is asked of another host."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import torch

import plume
from plume.core import catalog
from plume.core.part import replace
from plume.model.use.language_model import LanguageModel
from plume.serve.errors import ServeError
from plume.serve.page import FILES
from plume.tuning.adapting.adaptation import way
from plume.tuning.declared import Declared
from plume.tuning.tuned import TunedModel, assemble, reading_order

TEXT, OTHER = "The old captain 😀 finds a wooden box in the garden.", "My sister carries two apples."
HOSTILE = "<img src=x onerror=alert(1)> <b>box</b> &amp;"
LINES = ["the old captain", "the wooden box", "my sister", "two apples", "老船长", "木箱"]
LABELS: dict[str, dict[str, Any]] = {
    "ner": {"labels": ("O", "B-PER", "I-PER", "B-THING", "I-THING"), "crf": False}, "qa": {}, "multiple-choice": {},
    "similarity": {"texts": 2, "mean": 2.5}, "multi-label": {"labels": ("cold", "dry", "warm"), "texts": 1},
}  # fmt: skip
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def models(miniature: Any, built: Any, tokenizer_for: Any, tmp_path_factory: Any, directory: Any, classifier: Path) -> list[Any]:
    """A model for each task, its head at random: the page shows whatever it is told. And an index."""
    home = tmp_path_factory.mktemp("page")
    for name, own in LABELS.items():
        recipe = miniature("bert")
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size)
        task = replace(catalog.load("tasks", name).TASK, **own)
        declared = Declared(tasks=(task,), adaptation=way("full"), length=64, order=reading_order(body, tokenizer))
        model = assemble(body, declared)
        with torch.random.fork_rng():
            torch.manual_seed(3)
            for weight in (weight for head in model.heads.values() for weight in head.parameters()):
                torch.nn.init.normal_(weight, std=0.3)
                if weight.shape == (len(task.labels),) and name == "ner":
                    weight.data[0] -= 9  # something is found
        TunedModel(model.float(), tokenizer, declared).save(home / name)
    recipe = miniature("gpt2", length=64)
    LanguageModel(built(recipe, vocabulary=tokenizer_for(recipe).size).float(), tokenizer_for(recipe)).save(home / "writer")
    talks = [{"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "a letter today"}]}] * 8
    (home / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)) + "\n", encoding="utf-8")
    talk = str(home / "talks.jsonl")
    plume.tune(home / "writer", task="dialogue", train=talk, dev=talk, out=home / "talker", epochs=1.0, quiet=True)
    with plume.Index.create(home / "idx", model=directory("bert")) as made:
        made.add(
            [{"id": f"d{i}", "text": f"{line} today", "year": 2020 + i, "kind": "o'clock"} for i, line in enumerate([*LINES, HOSTILE])]
        )
    return [*(home / name for name in LABELS), home / "writer", home / "talker", home / "idx", directory("bert"), classifier]


@pytest.fixture(scope="module")
def served(server: Callable[..., Any], models: list[Any]) -> Iterator[Any]:
    with server(*models) as running:
        yield running


@pytest.fixture
def page(browser: Any, served: Any) -> Iterator[Open]:
    """Open a panel with its fields, and hold the page to its promises: no error, no other host, nothing wider than the screen."""
    troubles: list[str] = []
    contexts = []

    def show(panel: str = "", *, width: int = 1200, scheme: str = "light", locale: str = "en-GB", url: str = "", **fields: str) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, locale=locale)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        home = url or served.url
        tab.on("request", lambda one: None if one.url.startswith((home, "data:", "blob:")) else troubles.append(one.url))
        tab.goto(f"{home}/#{panel}?{urlencode(fields)}" if panel else f"{home}/")
        tab.wait_for_selector("main .card")
        tab.set_default_timeout(15_000)
        return tab

    show.troubles = troubles  # type: ignore[attr-defined]
    yield show
    for context in contexts:
        for tab in context.pages:
            assert tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
        context.close()
    assert not troubles


def run(tab: Any) -> str:
    """Press the button, wait for the answer, and say what the line says."""
    tab.click("button.go")
    return waited(tab)


def waited(tab: Any) -> str:
    tab.wait_for_function(
        "() => /\\d+ ms$/.test(document.querySelector('[role=status]').textContent) || document.querySelector('.status.error')"
    )
    return str(tab.locator("[role=status]").first.inner_text())


def predicted(served: Any, model: str, item: Any, **more: Any) -> Any:
    return served.client.post(f"/predict/{model}", json={"inputs": [item], **more}).json()["predictions"][0]


def test_entities_are_marked_where_they_are(page: Open, served: Any) -> None:
    expected = predicted(served, "ner", TEXT)["entities"]
    assert expected
    tab = page("try", model="ner", text=TEXT)
    assert run(tab).startswith(f"{len(expected)} found")
    marks = tab.locator(".reading mark").all()
    assert [one.evaluate("one => one.firstChild.data") for one in marks] == [one["text"] for one in expected]
    assert [one.locator("small").inner_text() for one in marks] == [one["label"] for one in expected]
    labels = sorted({one["label"] for one in expected})
    assert [re.sub(r"\d+$", "", one).strip() for one in tab.locator(".legend li").all_inner_texts()] == labels


def test_answers_are_marked_in_their_context(page: Open, served: Any) -> None:
    expected = predicted(served, "qa", {"question": "Who?", "context": TEXT})
    tab = page("try", model="qa", question="Who?", context=TEXT)
    run(tab)
    assert tab.locator(".said").inner_text() == (expected["answer"] or "No answer in this text")
    if expected["answer"]:
        assert tab.locator(".reading mark").evaluate("one => one.firstChild.data") == expected["answer"]


@pytest.mark.parametrize(("model", "fields", "item"), [
    ("classifier", {"text": TEXT}, TEXT), ("multi-label", {"text": TEXT}, TEXT),
    ("multiple-choice", {"context": TEXT, "choices": "a box\nan apple\n木箱"}, {"context": TEXT, "choices": ["a box", "an apple", "木箱"]}),
])  # fmt: skip
def test_labels_have_bars(page: Open, served: Any, model: str, fields: dict[str, str], item: Any) -> None:
    answer = predicted(served, model, item)
    scores = answer["scores"] if isinstance(answer["scores"], dict) else dict(zip(item["choices"], answer["scores"], strict=True))
    tab = page("try", model=model, **fields)
    run(tab)
    expected = sorted(scores, key=lambda label: -scores[label])
    assert tab.locator(".bars .name").all_inner_texts() == expected
    widths = tab.locator(".bars .bar i").evaluate_all("all => all.map(one => parseFloat(one.style.width))")
    np.testing.assert_allclose(widths, [100 * scores[label] for label in expected], atol=0.01)


def test_numbers_stand_on_a_scale(page: Open, served: Any) -> None:
    tab = page("try", model="similarity", text=TEXT, second=OTHER)
    run(tab)
    score = predicted(served, "similarity", [TEXT, OTHER])["score"]
    assert abs(float(tab.locator(".gauge strong").inner_text()) - score) < 0.006
    assert "2.50" in tab.locator(".gauge .hint").inner_text()


def test_a_guess_is_put_into_its_blank(page: Open, served: Any) -> None:
    text = "The old ___ finds a wooden ___."
    blanks = served.client.post("/fill", json={"model": "bert", "inputs": text, "top": 8}).json()["results"][0]
    tab = page("try", model="bert", way="fill", text=text)
    run(tab)
    assert tab.locator(".slot").all_inner_texts() == [guesses[0]["token"].strip() for guesses in blanks]
    tab.locator("[role=listbox]").nth(1).locator("[role=option]").nth(2).click()
    chosen = blanks[1][2]["token"].strip()
    assert tab.locator(".reading").inner_text() == f"The old {blanks[0][0]['token'].strip()} finds a wooden {chosen}."


def test_labels_of_ones_own_and_how_likely(page: Open, served: Any) -> None:
    tab = page("try", model="bert", way="zero", text=TEXT, labels="letter, garden， box")
    run(tab)
    assert sorted(tab.locator(".bars .name").all_inner_texts()) == ["box", "garden", "letter"]
    tab.get_by_label("Perplexity").check()
    tab.fill("textarea[name=text]", f"{OTHER}\n\napples two carries sister My.")
    run(tab)
    assert tab.locator("tbody tr").count() == 2


def test_text_streams_in(page: Open, served: Any) -> None:
    tab = page("try", model="writer", way="write", text="the old")
    assert "characters written" in run(tab)
    assert tab.locator(".given").inner_text() == "the old" and tab.locator(".written").inner_text()
    assert tab.locator(".streams").count() == 0


def test_a_conversation_has_turns(page: Open) -> None:
    tab = page("try", model="talker", text="hello")
    run(tab)
    assert tab.locator("textarea[name=text]").input_value() == ""
    tab.fill("textarea[name=text]", HOSTILE)
    tab.click("button.go")
    tab.wait_for_function("() => document.querySelectorAll('.turns li').length === 4 && !document.querySelector('.streams')")
    assert tab.locator(".turns .user p").all_inner_texts() == ["hello", HOSTILE]
    tab.reload()
    tab.wait_for_selector(".turns li")
    assert tab.locator(".turns li").count() == 4
    tab.get_by_role("button", name="Start over").click()
    assert tab.locator(".turns li").count() == 0


def test_two_models_answer_side_by_side(page: Open, served: Any) -> None:
    tab = page("compare", model="classifier", other="multi-label", text=TEXT)
    run(tab)
    assert tab.locator(".sides h2").all_inner_texts() == ["classifier", "multi-label"]
    assert [side.locator(".bars li").count() for side in tab.locator(".sides .card").all()] == [2, 3]
    tab.get_by_label("Second model").select_option("ner")
    run(tab)
    assert tab.locator(".sides .card").nth(1).locator(".reading").count() == 1 and "other=ner" in tab.url


def test_a_hit_says_why_it_was_found(page: Open, served: Any) -> None:
    body = {"query": "wooden box", "top": 10, "mode": "hybrid"}
    hits = served.client.post("/search/idx", json=body).json()["hits"]
    tab = page("search", model="idx", query="wooden box")
    assert run(tab).startswith(f"{len(hits)} hits")
    assert tab.locator(".hit code").all_inner_texts() == [hit["id"] for hit in hits]
    assert tab.locator(".hit .reading").all_inner_texts() == [hit["text"] for hit in hits]
    first = next(place for place, hit in enumerate(hits) if len(hit["matched"]) == 2)
    assert tab.locator(".hit").nth(first).locator("mark").all_inner_texts() == ["wooden", "box"]
    sides = [set(hit) & {"vectors", "words"} for hit in hits]
    assert [one.locator(".why dt").count() for one in tab.locator(".hit").all()] == [len(one) for one in sides]
    tab.get_by_label("Words").check()
    tab.wait_for_function("() => document.querySelectorAll('.hit').length < 5 && document.querySelector('.hit')")
    assert "mode=words" in tab.url


def test_metadata_become_a_filter(page: Open) -> None:
    tab = page("search", model="idx", query="today", where="year > 2024")
    assert run(tab).startswith("2 hits")
    tab.locator(".hit").first.get_by_role("button", name="o'clock").click()
    assert tab.locator("input[name=where]").input_value() == "year > 2024 and kind = 'o''clock'"
    tab.keyboard.press("Enter")
    assert waited(tab).startswith("2 hits")
    page.troubles.clear()  # type: ignore[attr-defined]
    tab.fill("input[name=where]", "moon = 1")
    tab.click("button.go")
    tab.wait_for_selector(".status.error")
    assert (
        tab.locator(".status.error").inner_text().startswith("This model cannot do that: ")
        and "moon" in tab.locator(".status.error").inner_text()
    )
    page.troubles.clear()  # type: ignore[attr-defined]  # the browser itself notes the 400


def test_lines_become_a_map(page: Open, served: Any) -> None:
    tab = page("map", model="bert", lines="\n".join(LINES))
    run(tab)
    vectors = np.array(
        [one["embedding"] for one in served.client.post("/v1/embeddings", json={"model": "bert", "input": LINES}).json()["data"]]
    )
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found = np.array([[float(cell) for cell in row] for row in tab.locator(".cosines tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(one => one.textContent))")])  # fmt: skip
    np.testing.assert_allclose(found, unit @ unit.T, atol=0.0051)
    left, values, _ = np.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    expected = (left * values)[:, :2]
    read = "all => all.map(one => [+one.getAttribute('cx'), +one.getAttribute('cy')])"
    places = np.array(tab.locator(".point circle:last-child").evaluate_all(read))
    apart = [np.linalg.norm(each[:, None] - each[None], axis=-1) for each in (expected, places)]
    np.testing.assert_allclose(apart[1] / apart[1].max(), apart[0] / apart[0].max(), atol=1e-3)
    tab.locator(".point").nth(1).click()
    assert tab.locator(".pointed strong").inner_text() == LINES[1]
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".pointed strong").inner_text() == LINES[2] and tab.locator(".point.near").count() == 3


@pytest.mark.parametrize(("model", "view", "drawn"), [
    ("bert", "head", "canvas"), ("bert", "predictions", "table"), ("classifier", "gradients", ".running, .view *"),
])  # fmt: skip
def test_views_open_in_a_frame(page: Open, model: str, view: str, drawn: str) -> None:
    tab = page("views", model=model, view=view, text=HOSTILE)
    run(tab)
    inside = tab.frame_locator("iframe")
    inside.locator("h1").wait_for()
    assert model in inside.locator("h1").inner_text() and inside.locator(drawn).count()
    with tab.context.expect_page() as other:
        tab.get_by_role("button", name="Open in a tab").click()
    other.value.wait_for_selector("h1")
    assert other.value.evaluate("self.origin") == "null"  # it can reach nothing of ours
    with tab.expect_download() as saved:
        tab.get_by_role("link", name="Save the page").click()
    assert "</html>" in Path(saved.value.path()).read_text(encoding="utf-8")


def test_a_frame_that_is_gone_is_handed_nothing(page: Open) -> None:
    tab = page("views", model="bert", view="head", text=TEXT)
    tab.route("**/page/view.html", lambda route: None)  # never says that it is ready
    run(tab)
    tab.locator("iframe").evaluate("frame => frame.remove()")
    tab.evaluate("window.dispatchEvent(new MessageEvent('message', { data: 'plume: ready' }))")  # what a closed frame sent has no source


def test_two_models_are_seen_side_by_side(page: Open) -> None:
    tab = page("views", model="bert", view="head", text=TEXT)
    tab.get_by_label("Beside it").select_option("writer")
    assert "other=writer" in tab.url
    run(tab)
    inside = tab.frame_locator("iframe")
    inside.locator("h1").wait_for()
    assert "bert and writer" in inside.locator("h1").inner_text() and inside.locator("#head canvas").count() == 2
    tab.get_by_label("Predictions by layer").check()
    assert tab.get_by_label("Beside it").count() == 0
    run(tab)


def test_texts_are_texts(page: Open) -> None:
    for model, way_ in (("ner", ""), ("classifier", ""), ("bert", "score"), ("writer", "write")):
        tab = page("try", model=model, way=way_, text=HOSTILE)
        run(tab)
        assert tab.locator("main img, main b[onerror]").count() == 0
    tab = page("search", model="idx", query="box today")
    run(tab)
    assert HOSTILE in " ".join(tab.locator(".hit .reading").all_inner_texts())


@pytest.mark.parametrize(("width", "scheme", "locale"), [(360, "dark", "zh-CN"), (360, "light", "en-GB"), (1600, "dark", "zh-CN")])
def test_every_panel_in_both_languages_and_widths(page: Open, width: int, scheme: str, locale: str) -> None:
    tab = page(width=width, scheme=scheme, locale=locale)
    chinese = locale.startswith("zh")
    assert tab.locator("html").get_attribute("lang") == ("zh-Hans" if chinese else "en-GB")
    for name in ("try", "compare", "search", "map", "views"):
        tab.click(f"#tab-{name}")
        assert f"#{name}" in tab.url and tab.locator(f"#tab-{name}").get_attribute("aria-selected") == "true"
        tab.locator(".examples .chip").first.click()
        waited(tab)
        if width < 500:
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
        words = tab.locator("main label, main legend, main h2, main summary").all_inner_texts()
        assert words and (not chinese or any(re.search(r"[一-鿿]", one) for one in words))
    tab.locator("#switches select").select_option("en" if chinese else "zh")
    tab.wait_for_function(f"() => document.documentElement.lang === '{'en-GB' if chinese else 'zh-Hans'}'")


def test_light_and_dark_can_be_chosen(page: Open) -> None:
    tab = page("views", model="bert", view="head", text=TEXT)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    button = tab.get_by_role("button", name="Light or dark")
    button.click()
    assert tab.evaluate(paper) == light
    button.click()
    dark = tab.evaluate(paper)
    assert dark != light
    tab.reload()
    tab.wait_for_selector("button.go")
    assert tab.evaluate(paper) == dark
    run(tab)
    tab.frame_locator("iframe").locator("h1").wait_for()
    assert tab.frames[1].evaluate(paper) == dark


def test_all_of_it_by_keys(page: Open, served: Any) -> None:
    tab = page()
    for _ in range(10):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.id") == "tab-try":
            break
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("document.activeElement.id") == "tab-try"
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.tagName") == "SELECT"
    for _ in range(20):
        if tab.evaluate("document.activeElement.value") == "classifier":
            break
        tab.keyboard.press("ArrowDown")
    for _ in range(4):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.name") == "text":
            break
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.keyboard.type("the cat sunny letter")
    tab.keyboard.press("Control+Enter")
    waited(tab)
    assert tab.locator(".said").inner_text() == predicted(served, "classifier", "the cat sunny letter")["label"]
    assert tab.evaluate("document.activeElement.name") == "text"
    assert "text=the+cat+sunny+letter" in tab.url


def test_a_key_is_asked_for_and_kept(browser: Any, page: Open, server: Callable[..., Any], classifier: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("s3cret alice\n", encoding="utf-8")
    with server(classifier, keys=keys) as running:
        tab = page("try", url=running.url, model="classifier", text=TEXT)
        assert "asks for an API key" in tab.locator("[role=alert]").inner_text()
        tab.fill("input[type=password]", "wrong")
        tab.keyboard.press("Enter")
        tab.wait_for_function("() => document.querySelector('[role=alert]')?.textContent.includes('does not know')")
        tab.fill("input[type=password]", "s3cret")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("textarea")
        page.troubles.clear()  # type: ignore[attr-defined]  # the browser itself notes each 401
        run(tab)
        assert tab.locator(".said").inner_text() in ("warm", "cold")
        tab.reload()
        tab.wait_for_selector("textarea")
        assert tab.evaluate("localStorage.length") == 0 and "s3cret" not in tab.url
        tab.goto("about:blank")


def test_a_server_with_nothing_says_so(page: Open, server: Callable[..., Any], models: list[Any]) -> None:
    with server(next(one for one in models if one.name == "idx")) as running:
        tab = page(url=running.url)
        for name in ("try", "compare", "map", "views"):
            tab.click(f"#tab-{name}")
            assert tab.locator("main .empty").count() == 1
        tab.goto("about:blank")


@pytest.mark.parametrize(("panel", "fields", "sentence", "behind"), [
    ("views", {"model": "bert", "view": "predictions", "text": "box " * 200}, "内容过长：“文本”超过了", "tokens"),
    ("views", {"model": "bert", "text": ""}, "没有内容：“文本”是空的", "empty"), ("search", {"model": "idx", "query": " "}, "“查询”是空的", "empty"),
    ("search", {"model": "idx", "query": "box", "where": "yeer > 1"}, "筛选条件不可用", "yeer"),
])  # fmt: skip
def test_refusals_are_said_in_chinese(page: Open, panel: str, fields: dict[str, str], sentence: str, behind: str) -> None:
    tab = page(panel, locale="zh-CN", **fields)
    tab.click("button.go")
    said = tab.locator(".status.error")
    said.wait_for()
    assert sentence in said.inner_text() and behind in said.locator("[lang=en]").inner_text()
    page.troubles.clear()  # type: ignore[attr-defined]  # the browser itself notes each status


def test_every_error_has_its_sentence(page: Open) -> None:
    """Whatever the server says in English, the page says in Chinese, by the code; English shows the server's own sentence."""
    for locale in ("zh-CN", "en-GB"):
        tab = page("try", model="classifier", text=TEXT, locale=locale)
        answer: dict[str, Any] = {}
        tab.route("**/predict/**", lambda route: route.fulfill(**answer))  # noqa: B023
        for kind in all_below(ServeError):
            told = {"message": f"Because: {kind.__name__}.", "type": kind.type, "param": "text", "code": kind.code}
            answer.update(status=kind.status, json={"error": told})
            tab.click("button.go")
            tab.wait_for_function("name => document.querySelector('.status.error')?.textContent.includes(name)", arg=kind.__name__)
            said = tab.locator(".status.error")
            chinese = bool(re.search("[一-鿿]", said.inner_text()))
            assert chinese == (said.locator("[lang=en]").count() == 1) == (locale == "zh-CN"), kind
            assert said.inner_text().endswith(f"{kind.__name__}.") and "{" not in said.inner_text()
    page.troubles.clear()  # type: ignore[attr-defined]


def all_below(kind: type[ServeError]) -> list[type[ServeError]]:
    return [found for one in kind.__subclasses__() for found in (one, *all_below(one))]


def test_words_are_there_in_both_languages() -> None:
    script = FILES["/page/words.js"].content.decode()
    words = dict(re.findall(r'^  "?([\w-]+)"?: \[(".*)\],$', script, flags=re.MULTILINE))
    for name, said in words.items():
        english, chinese = json.loads(f"[{said}]")
        assert english and chinese and sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", chinese)), name
    used = {
        name for file in FILES.values() if file.type == "text/javascript" for name in re.findall(r'\bt\("(\w+)"', file.content.decode())
    }
    assert used <= words.keys()
    assert {f"kind_{name.replace('_', '-')}" for name in catalog.names("tasks")} - words.keys() <= {
        "kind_language-modelling",
        "kind_zero-shot",
    }
