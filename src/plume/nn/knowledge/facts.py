"""Facts by what is asked of them: a subject and a relation are a key, the objects its value (Facts as Experts, arXiv:2007.00849 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class KeyedFacts:
    """K keys and M facts, which lie by their keys."""

    subject: Tensor  # [K]
    relation: Tensor  # [K] the second half are relations asked from their objects
    first: Tensor  # [K] where a key's objects begin
    object: Tensor  # [M]
    key: Tensor  # [M]

    @classmethod
    def of(cls, triples: Tensor, *, relations: int, inverse: bool) -> KeyedFacts:
        """[n, 3] subject, relation, object.

        >>> made = KeyedFacts.of(torch.tensor([[4, 0, 7], [4, 0, 5], [2, 1, 4]]), relations=2, inverse=True)
        >>> made.subject.tolist(), made.relation.tolist(), made.object.tolist(), made.key.tolist()
        ([2, 4, 4, 5, 7], [1, 0, 3, 2, 2], [4, 5, 7, 2, 4, 4], [0, 1, 1, 2, 3, 4])
        """
        subject, relation, object = triples.view(-1, 3).unbind(1)
        if inverse:
            subject, object = torch.cat([subject, object]), torch.cat([object, subject])
            relation = torch.cat([relation, relation + relations])
        every = torch.unique(torch.stack([subject, relation, object], 1), dim=0)
        pairs, key = torch.unique(every[:, :2], dim=0, return_inverse=True)
        count = torch.bincount(key, minlength=len(pairs))
        return cls(subject=pairs[:, 0], relation=pairs[:, 1], first=count.cumsum(0) - count, object=every[:, 2], key=key)

    def __len__(self) -> int:
        return len(self.subject)

    def objects(self, key: int) -> Tensor:
        """Of one key."""
        return self.object[self.key == key]

    def values(self, entity: Tensor) -> Tensor:
        """[K, E] the mean of each key's objects, of vectors [entities, E]."""
        if not len(self):
            return entity.new_zeros(0, entity.shape[1])
        return F.embedding_bag(self.object, entity, self.first, mode="mean")

    def leading(self, named: Tensor, row: Tensor, answer: Tensor, *, entities: int) -> Tensor:
        """[N, K + 1] keys whose subject is among `named` [B, T] in the `row` [N] and whose objects hold the `answer` [N]; the last: there is none."""
        there = torch.zeros(len(named), entities, dtype=torch.bool, device=named.device)
        at = (named >= 0).nonzero()
        there[at[:, 0], named[at[:, 0], at[:, 1]]] = True
        order = self.object.argsort(stable=True)
        begin, end = (torch.searchsorted(self.object[order], answer, right=right) for right in (False, True))
        question = torch.arange(len(answer), device=answer.device).repeat_interleave(end - begin)
        ahead = (end - begin).cumsum(0) - (end - begin)
        key = self.key[order[torch.arange(len(question), device=answer.device) - ahead[question] + begin[question]]]
        known = there[row[question], self.subject[key]]
        right = torch.zeros(len(answer), len(self) + 1, dtype=torch.bool, device=answer.device)
        right[question[known], key[known]] = True
        right[:, -1] = ~right.any(1)
        return right
