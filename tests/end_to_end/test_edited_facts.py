"""Facts edited without training, from text to answer: what nobody told is not known, is known once it is added, and forgotten when it is removed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "knowledge_facts.py"


@pytest.mark.slow
def test_answers_follow_the_facts(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(SCRIPT), "--out", str(tmp_path), "--seeds", "1", "--arms", "fae"], check=True)
    (found,) = [json.loads(line) for line in (tmp_path / "facts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert found["told"] > 0.7 and found["added"] > 0.7 and found["other ones"] > 0.7
    assert found["without"] < 0.2 and found["removed"] == found["without"]
