"""docs/recipes.md, made from the code: what each family is, who sees whom, what it costs, and what it has been measured to learn.

    python docs/make_recipes.py

The words are the recipe files' own; the measurements are those of bench/recipes_table.py, in docs/recipes.json.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from plume.recipes import _catalog as catalog
from plume.recipes import _sizes
from plume.static.recipe import StaticRecipe
from plume.train.card import table
from plume.train.diagram import diagrams

HERE = Path(__file__).parent
HEAD = """# The families

One section per family: what it is and when to use it, where it differs from its paper, its attention masks in training, what it costs, and
what it learns in minutes. This page is generated from the code (`make recipes-table`).

In the attention masks a line is a query position: its input token, the positions it attends to (■ yes, · no; columns are positions in the same
order), and, after the arrow, what must be predicted there. The rows come from a real batch of a tiny text. `plume show FAMILY --visibility`
draws them for any recipe, including your own.
"""
MEASURED = """## What each learns

Every family's `tiny` (Transformers: width 128, two blocks; an encoder–decoder has two of each), trained by the same command, one seed.
Transformers have 3.1e12 FLOPs, about one minute of one core, of which the warm start of token vectors takes up to a fifth (before Muon had
decay); families whose objectives predict every token spend most of that on scores of 16,000 tokens, and read fewer.
Recurrent families and word vectors have what their row names.
Other work ran on the machine: seconds say nothing of speed.

*Loss* is the held-out loss, in nats per prediction. *Baseline* is the context-free
loss: for tokens, knowing how frequent each is and copying what the input shows at the same place (for BERT 0.9 × entropy + 0.14; of T5's spans
one knows the mean length); for classes, guessing by their shares in training; for word vectors, the best guess from how frequent the word to be
predicted is (GloVe's loss is its weighted square error, its baseline that of the biases alone). A loss below its baseline is learned from context;
*right* is the accuracy of the most likely answer. Tokens count everything that the network reads, a decoder's input too. `labelled.jsonl` is
enwiki_slice and ag_news with their sections as labels, `tweets.txt` tweeteval_emoji with its emoji put back.

Earlier, with random token vectors and AdamW, T5, SpanBERT, ERNIE, MPNet and whole-word BERT had 0.94 to 0.96 of their baseline after two to eight
times as many tokens. realm, eae, fae, ernie-thu and knowbert, which need documents or a knowledge base, are measured
in [knowledge.md](knowledge.md).
"""


def main() -> None:
    results = json.loads((HERE / "recipes.json").read_text(encoding="utf-8")) if (HERE / "recipes.json").exists() else {}
    small = f"## Small sizes\n\n{inspect.cleandoc(_sizes.__doc__ or '')}"
    sections = [HEAD, small, MEASURED, measured(results), *[section(family, results) for family in catalog.families()]]
    (HERE / "recipes.md").write_text("\n\n".join(part.strip() for part in sections) + "\n", encoding="utf-8")


def measured(results: dict[str, Any]) -> str:
    rows = []
    for family, result in results.items():
        for number, (name, value) in enumerate(result["objectives"].items()):
            first = (
                (f"{family}/tiny", result["corpus"], f"{result['tokens'] / 1e6:.2f} M", f"{result['seconds']:.0f}")
                if number == 0
                else ("", "", "", "")
            )
            baseline = value["baseline"]
            verdict = "" if baseline is None else f"{value['loss'] / baseline:.2f}"
            rows.append(
                (
                    *first,
                    name,
                    f"{value['loss']:.3f}",
                    "" if baseline is None else f"{baseline:.3f}",
                    verdict,
                    "" if value["accuracy"] is None else f"{value['accuracy']:.1%}",
                )
            )
    header = ("recipe", "corpus", "tokens", "seconds", "objective", "loss", "baseline", "loss / baseline", "right")
    notes = [f"- {family}/tiny: {result['note']}" for family, result in results.items() if "note" in result]
    return "\n\n".join([table(header, rows), *(["\n".join(notes)] if notes else [])])


def section(family: str, results: dict[str, Any]) -> str:
    base = catalog.declarations(family)["base"]
    parts = [f"## {family}", catalog.about(family)]
    if isinstance(base, StaticRecipe):
        return "\n\n".join([*parts, f"Paper: {base.paper}."])
    parts.append(f"Paper: {base.paper}. {costs(family, results)}")
    for name, picture in diagrams(catalog.recipe(f"{family}/tiny")).items():
        parts.append(f"`{name}`\n\n```text\n{picture}\n```")
    return "\n\n".join(parts)


def costs(family: str, results: dict[str, Any]) -> str:
    sizes = ", ".join(f"{size} {catalog.parameters(recipe) / 1e6:,.1f} M" for size, recipe in catalog.sizes(family).items())
    said = f"Parameters: {sizes}."
    if family in results and "bert" in results:
        ours, bert = results[family], results["bert"]
        flops = (ours["flops"] / ours["tokens"]) / (bert["flops"] / bert["tokens"])
        said += f" A token read costs {flops:.2f} times the FLOPs of bert/tiny."
    return said


if __name__ == "__main__":
    main()
