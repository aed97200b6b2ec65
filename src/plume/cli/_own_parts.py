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
    option = inspect.Parameter("parts", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Parts)

    @functools.wraps(run)
    def command(parts: Any = None, **given: Any) -> Any:
        return run(**given)

    return _declared(command, [*_parameters(run), option])


def with_parameters_of(shared: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The command, with the arguments and options of another function before its own; it gets them by name."""

    def decorated(run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def command(**given: Any) -> Any:
            return run(**given)

        return _declared(command, [one.replace(kind=one.KEYWORD_ONLY) for one in (*_parameters(shared), *_parameters(run))])

    return decorated


def _parameters(run: Callable[..., Any]) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(run, eval_str=True).parameters.values() if one.kind is not one.VAR_KEYWORD]


def _declared(command: Callable[..., Any], parameters: list[inspect.Parameter]) -> Callable[..., Any]:
    """For typer, which reads the command line from a signature."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command
