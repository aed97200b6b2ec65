"""One demonstration of each label (LM-BFF, arXiv:2012.15723 §6): drawn anew in each epoch of training, several draws averaged at use."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.readers.example import Example
from plume.tuning.prompts.demonstrations import Demonstration, DemonstrationChoice, Embed, Shown, likeness


@dataclass(frozen=True, kw_only=True)
class OneOfEachLabel(DemonstrationChoice):
    """Drawn from the share of a label's examples that is most like the question, by the model's vectors. What is drawn depends on the question's text
    alone, so that texts answered together are as each alone; an example is never shown to itself."""

    by_vectors: ClassVar[bool] = True
    renews: ClassVar[bool] = True

    draws: int = 16  # at use
    nearest: float = 0.5  # of a label's examples
    seed: int = 0

    def __post_init__(self) -> None:
        if self.draws < 1 or not 0 < self.nearest <= 1:
            raise PlumeError(
                f"There are 1 or more draws from a share above 0 and up to 1 of the examples, not {self.draws} from {self.nearest}."
            )

    def chosen(
        self, pool: Sequence[Demonstration], examples: Sequence[Example], *, embed: Embed | None = None, epoch: int | None = None
    ) -> list[tuple[Shown, ...]]:
        of_label: dict[str, list[int]] = {}
        for place, one in enumerate(pool):
            of_label.setdefault(one.label, []).append(place)
        like = (
            likeness(pool, examples, embed) if self.nearest < 1 and embed is not None else np.zeros((len(examples), len(pool)), np.float32)
        )
        return [self._draws(pool, of_label, example, row, epoch) for example, row in zip(examples, like, strict=True)]

    def _draws(
        self,
        pool: Sequence[Demonstration],
        of_label: dict[str, list[int]],
        example: Example,
        like: NDArray[np.float32],
        epoch: int | None,
    ) -> tuple[Shown, ...]:
        near = []
        for places in of_label.values():
            others = [place for place in places if pool[place].texts != example.texts] or places
            ordered = sorted(others, key=lambda place: (-like[place], place))
            near.append(ordered[: max(1, round(self.nearest * len(ordered)))])
        said = zlib.crc32("\n".join(example.texts).encode())
        generator = np.random.default_rng([self.seed, said, 0 if epoch is None else epoch + 1])
        times = self.draws if epoch is None else 1
        return tuple(tuple(some[generator.integers(len(some))] for some in near) for _ in range(times))
