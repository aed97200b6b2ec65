"""TokenChoice: one token a row at each step, the likeliest or one that is drawn, each row by rules of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from plume.model.use.sampling import Sampling
from plume.model.use.searching import ChosenToken, Finish, Moves, Search, Wanted, Written


@dataclass(kw_only=True)
class _Begun:
    """One line as it is written."""

    number: int
    line: Wanted
    sampling: Sampling
    generator: torch.Generator
    tokens: list[int] = field(default_factory=list)
    total: float = 0.0  # of the log-probabilities of its tokens, the stop included
    asked: int = 0

    @property
    def written(self) -> Written:
        return Written(self.total / max(self.asked, 1), tuple(self.tokens))

    def end(self, finish: Finish) -> bool:
        """No, it does not go on."""
        if self.line.listener is not None:
            self.line.listener.ended(finish)
        return False


class TokenChoice(Search):
    """One token a row at each step: the likeliest, or one that is drawn. `normalised`: are scores log-probabilities?"""

    def __init__(
        self, lines: Sequence[Wanted], *, stop: int, sampling: Sampling, device: torch.device, normalised: bool = True
    ) -> None:  # fmt: skip
        self.stop, self.normalised = stop, normalised
        self.lines = [self._begun(number, line, sampling, device) for number, line in enumerate(lines)]
        self.going = list(self.lines)
        self.new: list[tuple[int, int]] = []  # (line, token) of the last step

    def _begun(self, number: int, line: Wanted, sampling: Sampling, device: torch.device) -> _Begun:
        own = line.sampling or sampling
        generator = torch.Generator(device=device).manual_seed(own.seed if line.seed is None else line.seed)
        return _Begun(number=number, line=line, sampling=own, generator=generator)

    def join(self, other: TokenChoice) -> None:
        """Its rows that go on, behind our own."""
        self.going += other.going

    def step(self, scores: Tensor, given: list[int] | None) -> Moves:
        own = given or [-1] * len(self.going)
        alike = self._alike()
        penalised = _apart(scores, alike, self._penalised)
        chosen = self._chosen(penalised, alike, own)
        likely = penalised.gather(1, torch.tensor(chosen, device=scores.device)[:, None])[:, 0].tolist()
        told = self._told(scores, chosen)
        self.new, stays = [], []
        for row, one in enumerate(self.going):
            if own[row] >= 0 or self._take(one, told.get(row) or ChosenToken(token=chosen[row]), likely[row]):
                stays.append(row)
        self.going = [self.going[row] for row in stays]
        return stays, [chosen[row] for row in stays]

    def _alike(self) -> dict[Sampling, list[int]]:
        """The rows by the rules that they follow."""
        found: dict[Sampling, list[int]] = {}
        for row, one in enumerate(self.going):
            found.setdefault(one.sampling, []).append(row)
        return found

    def _penalised(self, sampling: Sampling, scores: Tensor, rows: list[int]) -> Tensor:
        some = [self.going[row] for row in rows]
        if sampling.repetition_penalty != 1:
            scores = sampling.penalised(scores, [[*one.line.before, *one.tokens] for one in some])
        return sampling.shifted(scores, [one.tokens for one in some]) if sampling.shifts else scores

    def _chosen(self, scores: Tensor, alike: dict[Sampling, list[int]], given: list[int]) -> list[int]:
        """[N] the rows' own tokens, and for the others the choice. A row draws as often as it would alone."""
        found = list(given)
        for sampling, rows in alike.items():
            some = scores if len(rows) == len(scores) else scores[rows]
            if sampling.greedy:
                best = some.argmax(-1).tolist()
            else:
                share = sampling.narrow(some).softmax(-1)
                best = [
                    int(torch.multinomial(share[place], 1, generator=self.going[row].generator)) if given[row] < 0 else given[row]
                    for place, row in enumerate(rows)
                ]
            for row, token in zip(rows, best, strict=True):
                found[row] = token if given[row] < 0 else given[row]
        return found

    def _told(self, scores: Tensor, chosen: list[int]) -> dict[int, ChosenToken]:
        """By row, where probabilities were asked for: those of the model itself."""
        rows = [row for row, one in enumerate(self.going) if one.line.likeliest is not None]
        if not rows:
            return {}
        own = scores[rows] if self.normalised else scores[rows].log_softmax(-1)
        return dict(
            zip(rows, chosen_of(own, [chosen[row] for row in rows], [self.going[row].line.likeliest or 0 for row in rows]), strict=True)
        )

    def _take(self, one: _Begun, chosen: ChosenToken, likely: float) -> bool:
        """Does it go on after this token?"""
        if len(one.tokens) >= one.line.room:
            return one.end(Finish.LENGTH)
        one.total, one.asked = one.total + likely, one.asked + 1
        if chosen.token == self.stop or chosen.token in one.line.ends:
            return one.end(Finish.STOP)
        one.tokens.append(chosen.token)
        self.new.append((one.number, chosen.token))
        if one.line.listener is not None and not one.line.listener.heard(chosen):
            return False
        return len(one.tokens) < one.line.room or one.end(Finish.LENGTH)


def chosen_of(scores: Tensor, tokens: Sequence[int], likeliest: Sequence[int]) -> list[ChosenToken]:
    """From [N, V] log-probabilities: each token with its own, and so many of the likeliest beside it."""
    most = min(max(likeliest, default=0), scores.shape[-1])
    best = scores.topk(most) if most else None
    own = scores.gather(1, torch.tensor(list(tokens), device=scores.device)[:, None])[:, 0].tolist()
    values, ids = ([[]] * len(own), [[]] * len(own)) if best is None else (best.values.tolist(), best.indices.tolist())
    return [
        ChosenToken(token=token, log_probability=value, likeliest=tuple(zip(numbers[:count], chances[:count], strict=True)))
        for token, value, numbers, chances, count in zip(tokens, own, ids, values, likeliest, strict=True)
    ]


def _apart(scores: Tensor, alike: dict[Sampling, list[int]], change) -> Tensor:  # type: ignore[no-untyped-def]
    """[N, V] each row changed by its own rules."""
    if len(alike) == 1:
        ((sampling, rows),) = alike.items()
        changed: Tensor = change(sampling, scores, rows)
        return changed
    made = scores.clone()
    for sampling, rows in alike.items():
        made[rows] = change(sampling, scores[rows], rows)
    return made
