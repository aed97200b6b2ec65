"""A measurement in a process of its own, so that one side's settings do not help or hinder the other."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any


def measured(measure: Callable[..., Any], *arguments: Any) -> Any:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_send, args=(there, measure, *arguments))
    process.start()
    value = here.recv()
    process.join()
    return value


def _send(pipe: Any, measure: Callable[..., Any], *arguments: Any) -> None:
    pipe.send(measure(*arguments))
