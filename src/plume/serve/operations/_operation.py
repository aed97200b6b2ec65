"""Operation: how requests to a model are prepared, which of them may share a batch, and how a batch is run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Generic, Protocol, TypeVar

from plume.serve.models.opened import Opened

Asked = TypeVar("Asked", contravariant=True)
Ready = TypeVar("Ready", bound="Prepared")
Answer = TypeVar("Answer")
_Waits = TypeVar("_Waits", bound="Prepared", covariant=True)
_Given = TypeVar("_Given", contravariant=True)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A request that waits for its batch; operations add what they need."""

    cost: int  # in tokens
    group: Hashable = None  # only requests of one group share a batch


class BatchPlace(Protocol[_Waits, _Given]):
    """One request in a running batch."""

    @property
    def prepared(self) -> _Waits:
        """What is asked."""

    @property
    def gone(self) -> bool:
        """Does nobody wait for it any more? Then it may be dropped at any moment."""

    def tell(self, piece: object) -> None:
        """A piece of the answer, as it is made."""

    def answer(self, answer: _Given) -> None:
        """The whole answer, now: others of the batch may go on."""

    def fail(self, error: BaseException) -> None:
        """It cannot be answered, and that is its own fault: others of the batch go on."""


class Operation(Generic[Asked, Ready, Answer]):
    """What a file here declares. Nothing of it may change: threads share it."""

    name: ClassVar[str]
    field: ClassVar[str | None] = None  # of a request: where its texts stand, which is to blame if they cannot be read
    parallel: ClassVar[bool] = False  # may several batches of one model run side by side, each on one thread?

    def able(self, opened: Opened) -> bool:
        """Can this model do it?"""
        raise NotImplementedError

    def characters(self, asked: Asked) -> int:
        """How much text there is to prepare: much of it is prepared off the event loop."""
        return 0

    def prepare(self, opened: Opened, asked: Asked) -> Ready:
        """Check and tokenise one request; what cannot be done is a `ServeError` or `PlumeError`."""
        raise NotImplementedError

    def run(self, opened: Opened, prepared: Sequence[Ready]) -> Sequence[Answer]:
        """One answer for each, from one call of the model. If it fails, each is run again alone."""
        raise NotImplementedError

    def work(
        self, opened: Opened, places: Sequence[BatchPlace[Ready, Answer]], more: Callable[[], Sequence[BatchPlace[Ready, Answer]]]
    ) -> None:
        """The same for operations that stream or end requests one by one: they override this instead of `run`.

        Where requests may join a batch that runs, `more` gives those that have come meanwhile and for which there is room.
        """
        answers = self.run(opened, [place.prepared for place in places])
        for place, answer in zip(places, answers, strict=True):
            place.answer(answer)

    def warm_up(self, opened: Opened) -> None:
        """Whatever makes the first request slow, before there is one."""


def parted(answers: Sequence[Answer], sizes: Iterable[int]) -> list[list[Answer]]:
    """The answers of a batch, to each request its own.

    >>> parted("abcde", [2, 0, 3])
    [['a', 'b'], [], ['c', 'd', 'e']]
    """
    remaining = iter(answers)
    return [list(islice(remaining, size)) for size in sizes]


def about_tokens(text: str) -> int:
    """How many tokens a text has, roughly: a Chinese character is one, so are three or four letters.

    >>> about_tokens("The cat sat on the mat."), about_tokens("猫坐在垫子上。")
    (9, 9)
    """
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 2
