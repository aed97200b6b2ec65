"""Pre-train two families on embedded text, then fill blanks with one and write with the other. Run by `make demo`; takes about three minutes.

python examples/demo.py --out demo --budget 60s
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import plume
from plume.embedded.chinese_grammar import chinese_documents
from plume.embedded.material import write_embedded
from plume.embedded.python_manual import english_documents

BLANKS = ("巴黎是[MASK]国的首都。", "东京是日本的首[MASK]。", "熊猫爱吃[MASK]子。", "冬天到了，下[MASK]了。")
PROMPTS = ("The for statement", "A class definition", "If an exception is raised")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--out", type=Path, default=Path("demo"))
    arguments.add_argument("--budget", default="60s", help="for each of the two models")
    options = arguments.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    write_embedded(options.out / "chinese.txt", chinese_documents())
    write_embedded(options.out / "english.txt", english_documents())

    print("1/2  BERT, on generated Chinese: learns to fill blanks")
    bert = plume.pretrain("bert/tiny", corpus=options.out / "chinese.txt", out=options.out / "bert", budget=options.budget)
    print("2/2  GPT-2, on Python's own manual: learns to write on")
    gpt = plume.pretrain("gpt2/tiny", corpus=options.out / "english.txt", out=options.out / "gpt2", budget=options.budget)

    lines = ["# plume demo", "", "## BERT fills blanks (chinese.txt is generated; it knows that small world only)", ""]
    for blank in BLANKS:
        guesses = bert.fill(blank, top=3)[0]
        lines.append(f"- {blank} → " + ", ".join(f"{guess.token} ({guess.probability:.0%})" for guess in guesses))
    lines += ["", "## GPT-2 writes on (english.txt is Python's language reference)", ""]
    lines += [f"- {gpt.generate(prompt, max_tokens=40, top_p=0.9, temperature=0.8)}" for prompt in PROMPTS]
    lines += ["", f"The models' cards: {options.out / 'bert' / 'card.md'}, {options.out / 'gpt2' / 'card.md'}"]
    report = options.out / "report.md"
    report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    print(f"\nThis report: {report}")


if __name__ == "__main__":
    main()
