"""--language, which several commands have."""

from __future__ import annotations

LANGUAGE = "Of families with a vector for each language (xlm): which one the text is in.  [default: found]"
LANGUAGES = "Of families with a vector for each language (xlm): that of all texts, or en,de for pairs.  [default: as rows say, or found]"
