"""Real English that every Python carries: the language reference behind help()."""

from __future__ import annotations

import re
from collections.abc import Iterator


def english_documents() -> Iterator[str]:
    """The topics of Python's help(), as plain paragraphs: about 700,000 characters."""
    from pydoc_data.topics import topics

    for name in sorted(topics):
        paragraphs = [" ".join(block.split()) for block in re.split(r"\n\s*\n", topics[name])]
        # Grammar rules and rulers of the manual are not prose.
        kept = [text for text in paragraphs if len(text.split()) > 5 and "::=" not in text and not set(text) <= set("*=-~ ")]
        if kept:
            yield "\n".join(kept)
