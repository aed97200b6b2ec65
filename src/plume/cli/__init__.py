"""The command line: one thin file per command. Heavy imports stay inside the commands, so that --help answers at once."""

from __future__ import annotations

import errno
import importlib
import os
import sys

import typer

from plume._version import __version__
from plume.cli._own_parts import Parts, with_parts
from plume.core.errors import PlumeError
from plume.core.files import refusal

# In the order of use, which is also the order of --help.
COMMANDS = (
    "doctor",
    "recipes",
    "show",
    "tasks",
    "pretrain",
    "compare",
    "tune",
    "prompt",
    "compress",
    "predict",
    "eval",
    "fill",
    "generate",
    "chat",
    "score",
    "embed",
    "sentences",
    "neighbours",
    "map",
    "view",
    "index",
    "search",
    "kb",
    "ask",
    "probe-facts",
    "serve",
    "import",
    "export",
)

app = typer.Typer(
    name="plume",
    help="Pre-train, fine-tune, compare and serve families of language models on your own text, at an equal budget.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"plume {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version and exit."),
    parts: Parts = None,
) -> None:
    """Pre-train, fine-tune, compare and serve families of language models on your own text, at an equal budget."""


for _name in COMMANDS:
    _module = importlib.import_module(f"plume.cli.{_name}_" if _name == "import" else f"plume.cli.{_name.replace('-', '_')}")
    if hasattr(_module, "app"):  # a group of commands
        app.add_typer(_module.app, name=_name)
    else:
        app.command(_name)(with_parts(_module.run))


def main() -> None:
    """Run, and turn an error meant for the user into one message and exit code 2."""
    try:
        try:
            app()
        finally:
            _flush()
    except PlumeError as error:
        print(f"plume: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("plume: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:  # where a command writes without saying what
        if error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EROFS):
            raise
        print(f"plume: Cannot write{f' {error.filename}' if error.filename else ''}: {refusal(error)}.", file=sys.stderr)
        sys.exit(2)


def _flush() -> None:
    """What cannot be printed must be known before Python ends."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what waits would be refused again
        raise PlumeError(f"Cannot print: {refusal(error) or error}.") from None
