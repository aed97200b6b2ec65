"""What a person sees while a run goes on: a live line in a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from plume.train.budget import Budget, Spent
from plume.train.evaluate import learned_context

_PLAIN_EVERY = 30.0  # seconds between two lines where there is no terminal
_MOVING = 0.99  # of the measurement before


def duration(seconds: float) -> str:
    """
    >>> duration(3725)
    '1h02m'
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60}h{minutes % 60:02d}m"
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


def _figure(name: str, value: float) -> str:
    kind = name.partition("/")[2]
    return {"accuracy": f"(accuracy {value:.1%})", "guessing": f"(chance {value:.3f})"}.get(kind, f"{name} {value:.3f}")


HELD_OUT = "held out"  # what is measured on, in words, as a rule


class Progress:
    """Reports on stderr; `quiet` for tests, for other processes than the first, and for callers in Python who ask."""

    def __init__(
        self, *, budget: Budget, entropy: float, trivial: dict[str, float], quiet: bool = False, start: Spent = Spent(), on: str = HELD_OUT
    ) -> None:
        self.budget, self.entropy, self.trivial, self.quiet, self.on = budget, entropy, trivial, quiet, on
        self._losses: dict[str, float] = {}  # the last of each objective: not every step has all
        self.console = Console(stderr=True, quiet=quiet, highlight=False)
        self._live = not quiet and sys.stderr.isatty()
        self._start, self._begin = start, time.monotonic()
        self._before: dict[str, float] = {}  # the held-out losses measured last
        self._held_out = ""
        self._said_stuck = False
        self._last_plain = self._begin
        self._bar = Bar(
            BarColumn(bar_width=20), TextColumn("{task.description}"), console=self.console, disable=not self._live, transient=True
        )
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self.console.print(text, soft_wrap=True)

    def preparing(self, share: float) -> None:
        """Of what has to be done before the first step."""
        self._bar.update(self._task, completed=share, description=f"{share:4.0%}  preparing")

    def step(self, spent: Spent, losses: dict[str, float]) -> None:
        """After a step: where the run is, and its losses."""
        self._losses |= losses
        line = self._line(spent, self._losses)
        self._bar.update(self._task, completed=min(self.budget.progress(spent), 1.0), description=line)
        if not self._live and not self.quiet and time.monotonic() - self._last_plain > _PLAIN_EVERY:
            self._last_plain = time.monotonic()
            self.say(line)

    def _line(self, spent: Spent, losses: dict[str, float]) -> str:
        rate = (spent.tokens - self._start.tokens) / max(spent.seconds - self._start.seconds, 1e-9)
        share = self.budget.progress(spent)
        used = share - self.budget.progress(self._start)
        left = (time.monotonic() - self._begin) / max(used, 1e-9) * max(1 - share, 0)
        shown = "  ".join(f"{name} {loss:.3f}" for name, loss in losses.items())
        against = f" (unigram entropy {self.entropy:.2f})" if self.trivial else ""
        return f"{share:4.0%}  step {spent.steps}  {shown}{against}  {rate:,.0f} tokens/s  {duration(left)} left{self._held_out}"

    def _warn_if_stuck(self, spent: Spent, name: str, loss: float) -> None:
        """Late, no better than what needs no context, and no longer moving."""
        still = name in self._before and loss > _MOVING * self._before[name]
        self._before[name] = loss
        late = self.budget.progress(spent) > 0.3 and spent.steps >= 100
        if late and still and not self._said_stuck and not learned_context(loss, self.trivial[name]):
            self._said_stuck = True
            self.say(
                f"The loss ({loss:.2f}) is stuck at what the unigram entropy allows ({self.trivial[name]:.2f}): the model has learned how "
                "frequent tokens are, and nothing of their context. More steps, another training.peak, or a smaller model may free it."
            )

    def measured(self, spent: Spent, measured: dict[str, float]) -> None:
        """Held-out figures, where there are such; a loss that is stuck is said once."""
        shown = "  ".join(_figure(name, value) for name, value in measured.items())
        main = next((name for name in self.trivial if name in measured), None)
        self._held_out = f"  held out {measured[main]:.3f}" if main is not None else ""
        if shown:  # there may be nothing to measure on
            self.say(f"{self.on} at step {spent.steps}: {shown}")
        for name in self.trivial.keys() & measured.keys():
            self._warn_if_stuck(spent, name, measured[name])
