"""Where soft tokens stand in a template that does not say it, and which tokens' vectors they start from."""

from __future__ import annotations

from collections import Counter

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.nn.soft_tokens import SoftTokens
from plume.prompting.job import PromptJob
from plume.tuning.adapting.soft import SoftPrompting
from plume.tuning.bodies import read_model
from plume.tuning.kinds.labelling import LabelTask
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.prompts.template import SLOT, TEXTS, soft_tokens


def soft_task(job: PromptJob, tokens: int | None, *, usual: int, around: bool) -> Prompted:
    """The task with so many soft tokens in its template, or those that it has; where nothing is said, the `usual` number."""
    found = soft_tokens(job.template)
    if tokens is not None and tokens < 1:
        raise PlumeError(f"--tokens {tokens}: 1 or more tokens are learned.")
    if found and tokens is not None and found != tokens:
        raise PlumeError(f"The template has {found} tokens that are learned and --tokens says {tokens}: leave one of them out.")
    place = placed_around if around else placed_in_front
    return job.prompted(job.template if found else place(job.template, usual if tokens is None else tokens), soft=True)


def placed_in_front(template: str, tokens: int) -> str:
    """All in front (arXiv:2104.08691 §2).

    >>> placed_in_front("{text} It was ___.", 4)
    '{soft:4}{text} It was ___.'
    """
    return f"{{soft:{tokens}}}{template}"


def placed_around(template: str, tokens: int) -> str:
    """Half in front, the others before the words that hold the blank; where these come first, all in front.

    >>> placed_around("{text} It was ___.", 5), placed_around("___: {text}", 2)
    ('{soft:3}{text}{soft:2} It was ___.', '{soft:2}___: {text}')
    """
    slot = SLOT.search(template)
    ends = [template.index(text) + len(text) for text in TEXTS if text in template and slot and template.index(text) < slot.start()]
    if not ends or tokens < 2:
        return placed_in_front(template, tokens)
    here, back = max(ends), tokens // 2
    return placed_in_front(f"{template[:here]}{{soft:{back}}}{template[here:]}", tokens - back)


def frequent_tokens(job: PromptJob, count: int) -> tuple[int, ...]:
    """Of the label words, then the most frequent of the examples (arXiv:2104.08691 §3.2)."""
    _, tokenizer = read_model(job.model)
    task = job.prepared.task
    words = (
        [word for label in job.prompted(soft=True).prompt.words_of(task.labels) for word in label] if isinstance(task, LabelTask) else []
    )
    said = [token for ids in tokenizer.encode(words) for token in ids]
    seen = Counter(token for ids in tokenizer.encode([text for one in job.prepared.train for text in one.texts]) for token in ids)
    often = sorted(seen, key=lambda token: (-seen[token], token))
    return tuple(dict.fromkeys([*said, *often]))[:count]


def soft_way(way: SoftPrompting, task: Prompted, start: tuple[int, ...] = ()) -> SoftPrompting:
    """With as many tokens as the template has."""
    soft: SoftTokens = replace(way.soft, count=task.prompt.soft, start=start)
    return replace(way, soft=soft)
