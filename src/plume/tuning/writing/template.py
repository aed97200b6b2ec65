"""How a conversation is written with the tokens that a model has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from plume.core.errors import PlumeError
from plume.core.part import Part, replace
from plume.readers.conversations import Role, Turn
from plume.text.tokenizer import Tokenizer

# Where the vocabulary does not tell the words before apart.
_OTHER_WORDS = (("系统", "用户", "助手"), ("S", "U", "A"), ("s", "u", "a"), ("0", "1", "2"), ("。", "？", "，"), (".", "?", ","))


@dataclass(frozen=True, kw_only=True)
class ChatTemplate(Part):
    """A turn is the word for who speaks, the separator, what is said, the separator: `user⟨sep⟩Hello!⟨sep⟩assistant⟨sep⟩Hi.⟨sep⟩`.

    The separator is the family's own special token, so no token is new. What is said is cut into tokens as plain text, which never gives a
    special token: no content can end its turn or begin another's, whatever it looks like.
    """

    system: str = "system"
    user: str = "user"
    assistant: str = "assistant"

    def word(self, role: Role) -> str:
        """For who speaks."""
        return {Role.SYSTEM: self.system, Role.USER: self.user, Role.ASSISTANT: self.assistant}[role]

    def suited(self, tokenizer: Tokenizer) -> ChatTemplate:
        """With words that this tokenizer knows and tells apart."""
        if self._clear(tokenizer):
            return self
        words = [*_OTHER_WORDS, _own_words(tokenizer)] if self == ChatTemplate() else []
        others = (replace(self, **dict(zip(Role, three, strict=False))) for three in words)
        found = next((one for one in others if one._clear(tokenizer)), None)
        if found is None:
            raise PlumeError(
                f"The words '{self.system}', '{self.user}' and '{self.assistant}' cannot be told apart in this model's vocabulary. "
                "Name three that it has: --task-set template.system=… --task-set template.user=… --task-set template.assistant=…"
            )
        return found

    def _clear(self, tokenizer: Tokenizer) -> bool:
        coded = [tuple(ids) for ids in tokenizer.encode([self.word(role) for role in Role])]
        return all(coded) and len(set(coded)) == len(coded) and not any(tokenizer.unknown in ids for ids in coded)

    def writer(self, turns: Sequence[Turn], tokenizer: Tokenizer) -> Callable[[Turn], list[int]]:
        """What gives the tokens of each of these turns, separators included; they are cut together."""
        texts = list(dict.fromkeys([*map(self.word, Role), *(turn.content for turn in turns)]))
        special = set(tokenizer.structural_ids.tolist())
        coded: Mapping[str, list[int]] = {
            text: [number for number in ids if number not in special] for text, ids in zip(texts, tokenizer.encode(texts), strict=True)
        }
        end = tokenizer.separator
        return lambda turn: [*coded[self.word(turn.role)], end, *coded[turn.content], end]

    def read(self, ids: Sequence[int], tokenizer: Tokenizer) -> list[Turn]:
        """The turns that tokens stand for; a last word without what it says awaits it."""
        words = {tuple(tokenizer.encode([self.word(role)])[0]): role for role in Role}
        stretches: list[list[int]] = [[]]
        for number in ids:
            if number == tokenizer.separator:
                stretches.append([])
            else:
                stretches[-1].append(number)
        whole = stretches[: (len(stretches) - 1) // 2 * 2]
        if any(tuple(word) not in words for word in whole[::2]):
            raise PlumeError("These tokens are no conversation in this template.")
        return [Turn(words[tuple(word)], tokenizer.decode(said)) for word, said in zip(whole[::2], whole[1::2], strict=True)]

    def text(self, turns: Sequence[Turn], tokenizer: Tokenizer) -> str:
        """As a person would write it, with the assistant's next turn begun."""
        mark = tokenizer.format.separator
        return "".join(f"{self.word(turn.role)}{mark}{turn.content}{mark}" for turn in turns) + self.assistant + mark


def _own_words(tokenizer: Tokenizer) -> list[str]:
    """Three that a vocabulary of whole words has: any will do, as separators stand around them."""
    special, found = set(tokenizer.special_ids.tolist()), list[str]()
    for number in range(tokenizer.size):
        if len(found) == len(Role):
            break
        word = "" if number in special else tokenizer.decode([number])
        if word.strip() and tokenizer.encode([word])[0] == [number]:
            found.append(word)
    return found


def fitting(turns: Sequence[Turn], sizes: Sequence[int], room: int) -> list[int]:
    """Which turns stay where there is room for so many tokens: a system turn that comes first, and as many of the last ones as fit whole.

    What stays begins with no answer whose question is gone; the last turn always stays.

    >>> said = [Turn(Role.SYSTEM, "be kind"), Turn(Role.USER, "a"), Turn(Role.ASSISTANT, "b"), Turn(Role.USER, "c")]
    >>> fitting(said, [4, 3, 3, 3], 10), fitting(said, [4, 3, 3, 3], 13), fitting(said, [4, 3, 3, 3], 5)
    ([0, 3], [0, 1, 2, 3], [3])
    """
    places = list(range(len(turns)))
    if sum(sizes) <= room:
        return places
    first = places[:1] if turns[0].role is Role.SYSTEM and len(turns) > 1 and sizes[0] + sizes[-1] <= room else []
    left, kept = room - sum(sizes[place] for place in first), places[-1:]
    left -= sizes[-1]
    for place in reversed(places[len(first) : -1]):
        if sizes[place] > left or (turns[place].role is Role.SYSTEM and place == 0):
            break
        left -= sizes[place]
        kept.insert(0, place)
    while len(kept) > 1 and turns[kept[0]].role is Role.ASSISTANT:
        kept.pop(0)
    return first + kept
