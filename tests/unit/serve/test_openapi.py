"""Schemathesis over the whole description: whatever is sent, nothing breaks, and every answer is as the description says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

import plume

WRITERS = {"/v1/completions": "gpt2", "/generate": "gpt2", "/v1/chat/completions": "chat"}
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_nothing_breaks(
    server: Callable[..., Any], directory: Callable[[str], Path], classifier: Path, talker: Path, tmp_path: Path, mode: Any
) -> None:
    """With requests as described, and with such as are not."""
    with plume.Index.create(tmp_path / "idx", model=directory("bert")) as made:
        made.add([{"id": "a", "text": "the cat finds a box", "year": 2024}, {"id": "b", "text": "my sister carries apples", "year": 2020}])
    with server(f"model={directory('bert')}", directory("gpt2"), classifier, talker, tmp_path / "idx", timeout=5) as running:
        description = schemathesis.openapi.from_url(f"{running.url}/openapi.json")
        operations = [one.ok() for one in description.get_all_operations()]
        assert {"/v1/embeddings", "/v1/models", "/predict/{model}", "/health", "/ready", "/metrics"} <= {one.path for one in operations}
        for operation in operations:

            @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
            @given(case=operation.as_strategy(generation_mode=mode))
            def breaks_nothing(case: Any) -> None:
                aim(case)
                case.call_and_validate(checks=CHECKS)

            with suppress(Unsatisfiable):  # there is no wrong way to ask for what takes nothing
                breaks_nothing()


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions", "/generate"])
def test_streams_are_as_described(server: Callable[..., Any], directory: Callable[[str], Path], talker: Path, path: str) -> None:
    """Schemathesis asks for one only by chance."""
    with server(directory("gpt2"), talker) as running:
        description = schemathesis.openapi.from_url(f"{running.url}/openapi.json")
        body = {"model": WRITERS[path], "max_tokens": 3, "stream": True}
        body |= {"messages": [{"role": "user", "content": "a box"}]} if "chat" in path else {"prompt": "a box"}
        answer = description[path]["POST"].Case(body=body, media_type="application/json").call_and_validate(checks=CHECKS)
        assert answer.headers["content-type"][0].startswith("text/event-stream")


def aim(case: Any) -> None:
    """Where a model is named, at one that is served: else all that is tried is 404."""
    if isinstance(case.body, dict) and isinstance(case.body.get("model"), str):
        case.body["model"] = WRITERS.get(case.operation.path, "model")
    if isinstance(case.body, dict) and isinstance(case.body.get("against"), str):
        case.body["against"] = "gpt2"
    if isinstance(case.path_parameters.get("index"), str):
        case.path_parameters["index"] = "idx"
    if isinstance(case.path_parameters.get("model"), str):
        case.path_parameters["model"] = "classifier" if case.operation.path.startswith("/predict") else "model"
