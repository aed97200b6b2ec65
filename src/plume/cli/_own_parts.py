"""--parts: the files of the user's own that a command may take parts from. Every command has it, before its name or after."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from plume.core.own_parts import VARIABLE, use_parts


def _use(sources: list[str] | None) -> list[str] | None:
    use_parts(*(sources or ()))
    return sources


Parts = Annotated[
    list[str] | None,
    typer.Option(
        "--parts",
        metavar="FILE",
        callback=_use,
        is_eager=True,
        help=f"A Python file or module of your own that the model's parts come from; may be repeated. Also {VARIABLE}.",
    ),
]


def with_parts(run: Callable[..., Any]) -> Callable[..., Any]:
    """The command, with --parts besides its own options."""
    signature = inspect.signature(run, eval_str=True)
    option = inspect.Parameter("parts", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Parts)

    @functools.wraps(run)
    def command(parts: Any = None, **given: Any) -> Any:
        return run(**given)

    command.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()} | {"parts": Parts}
    return command
