"""Examples with their demonstrations, as rows: these in front for a model that reads left to right, behind for one that fills masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.tuning.prompts.blank import AskedRow
from plume.tuning.prompts.demonstrations import Demonstrations, Shown
from plume.tuning.prompts.layout import PromptedRows, PromptLayout

_LEAST = 2  # tokens of an example, where others stand beside it


class ShownLayout:
    """`layout_of` is the layout of a template: all but what stands first begin with what stands between two."""

    def __init__(self, layout_of: Callable[[str], PromptLayout], template: str, demonstrations: Demonstrations) -> None:
        self.shown = demonstrations
        self.opening, self.following = layout_of(template), layout_of(demonstrations.between + template)
        self._known: dict[tuple[Shown, int], list[int]] = {}

    def lay_out(self, examples: Sequence[Example], chosen: Sequence[tuple[Shown, ...]]) -> list[PromptedRows]:
        """Of each example the rows of all its draws: that all of them are read is the mean over draws."""
        asked = self.following if self.opening.blank.demonstrations_first else self.opening
        room = asked.text_room(examples)
        copies = [example for example, draws in zip(examples, chosen, strict=True) for _ in draws]
        laid = iter(asked.lay_out(copies, [self._tokens(shown, room) for draws in chosen for shown in draws]))
        return [_together([next(laid) for _ in draws]) for draws in chosen]

    def _tokens(self, shown: Shown, room: int) -> list[int]:
        """In their order. Every example has as much room for its texts, and so has the one that is asked about."""
        if (shown, room) not in self._known:
            bare = sum(len(self._one(place, number, 0)) for number, place in enumerate(shown))
            each = (room - bare) // (len(shown) + 1)
            if each < _LEAST:
                raise PlumeError(
                    f"{len(shown)} examples and the one that is asked about do not fit into {self.opening.length} tokens: show fewer (--shots), "
                    "or shorten the template."
                )
            self._known[shown, room] = [token for number, place in enumerate(shown) for token in self._one(place, number, each)]
        return self._known[shown, room]

    def _one(self, place: int, number: int, room: int) -> list[int]:
        first = number == 0 and self.opening.blank.demonstrations_first
        one = self.shown.pool[place]
        return (self.opening if first else self.following).demonstrated(one.texts, one.word, room=room)


def _together(draws: list[PromptedRows]) -> PromptedRows:
    """Every draw's readings count for as many times fewer."""
    rows = [_weighed(row, len(draws)) for one in draws for row in one.rows]
    return PromptedRows(rows, cut=any(one.cut for one in draws))


def _weighed(row: AskedRow, draws: int) -> AskedRow:
    return replace(row, readings=[replace(one, among=one.among * draws) for one in row.readings])
