"""Subject–verb agreement: sentences in which nouns of the other number stand between subject and verb (Linzen et al. 2016, arXiv:1611.01368).

A grammar writes them, half with a singular subject and half with a plural one, as many with no attractor as with one, two and three: whoever
always names the same form, or goes by the nearest noun, is right half of the time or less.
"""

from __future__ import annotations

from dataclasses import dataclass

ATTRACTORS = (0, 1, 2, 3)
_SUBJECTS = (  # singular, plural, and how what belongs to it is joined on
    ("key", "keys", "to"), ("letter", "letters", "from"), ("picture", "pictures", "of"), ("report", "reports", "about"),
    ("road", "roads", "to"), ("book", "books", "about"), ("door", "doors", "of"), ("friend", "friends", "of"),
    ("teacher", "teachers", "of"), ("song", "songs", "about"), ("house", "houses", "near"), ("doctor", "doctors", "from"),
    ("name", "names", "of"), ("dog", "dogs", "near"), ("story", "stories", "about"), ("car", "cars", "behind"),
    ("member", "members", "of"), ("question", "questions", "about"), ("leader", "leaders", "of"), ("window", "windows", "of"),
    ("tree", "trees", "beside"), ("painting", "paintings", "of"), ("meeting", "meetings", "with"), ("student", "students", "from"),
    ("driver", "drivers", "of"),
)  # fmt: skip
_OTHERS = (  # singular, plural
    ("school", "schools"), ("lawyer", "lawyers"), ("bridge", "bridges"), ("river", "rivers"), ("company", "companies"),
    ("king", "kings"), ("building", "buildings"), ("group", "groups"), ("village", "villages"), ("soldier", "soldiers"),
    ("church", "churches"), ("hospital", "hospitals"), ("player", "players"), ("garden", "gardens"), ("president", "presidents"),
    ("ship", "ships"), ("town", "towns"),
)  # fmt: skip
_LINKS = ("near", "behind", "beside", "with", "for")
_ENDS = (  # singular, plural, and what fits both
    ("is", "are", "very important."), ("was", "were", "here yesterday."), ("has", "have", "been found."), ("is", "are", "still there."),
    ("was", "were", "not very good."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """One sentence: what stands before the verb, the right and the wrong form, what follows."""

    before: str
    right: str
    wrong: str
    after: str
    attractors: int
    plural: bool


def agreement_sentences() -> list[Agreement]:
    """All 200 of them, always the same.

    >>> found = agreement_sentences()
    >>> found[0].before, found[0].right, found[0].wrong, found[0].after
    ('The key', 'is', 'are', 'very important.')
    >>> found[1].before, found[75].before
    ('The keys', 'The songs about the player')
    """
    found = []
    for number, subject in enumerate(_SUBJECTS):
        for attractors in ATTRACTORS:
            for plural in (False, True):
                found.append(_sentence(number, subject, attractors, plural))
    return found


def _sentence(number: int, subject: tuple[str, str, str], attractors: int, plural: bool) -> Agreement:
    words = ["The", subject[plural]]
    for place in range(attractors):
        other = _OTHERS[(number + 5 * place + 3 * attractors) % len(_OTHERS)]
        words += [subject[2] if place == 0 else _LINKS[(number + place) % len(_LINKS)], "the", other[not plural]]
    singular, several, after = _ENDS[(number + attractors) % len(_ENDS)]
    right, wrong = (several, singular) if plural else (singular, several)
    return Agreement(before=" ".join(words), right=right, wrong=wrong, after=after, attractors=attractors, plural=plural)
