"""Scores of answers found in a text, as the authors of SQuAD (arXiv:1606.05250, §6.1; 2.0: arXiv:1806.03822) and CMRC 2018 (arXiv:1810.07366) count.

Their scripts are evaluate-v1.1.py, evaluate-v2.0.py and cmrc2018_evaluate.py. Scores are shares, from 0 to 1.
"""

from __future__ import annotations

import difflib
import functools
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

from plume.core.errors import PlumeError
from plume.text.languages import has_han

_PUNCTUATION = str.maketrans("", "", string.punctuation)  # ASCII only: “ and – stay, as in the authors' scripts
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# The script's list also has the ellipsis, but as two characters, which no single one equals: it stays. So do ‘ , . ( ) and other ASCII marks.
_CHINESE_PUNCTUATION = str.maketrans("", "", "-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_CHINESE = re.compile("([\u4e00-\u9fa5])")  # the script's range: rarer characters count as letters of a word

_Measure = Callable[[str, str], float]  # of a right answer and a prediction


def answer_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """CMRC's scores where most right answers are Chinese (CMRC 2018, DRCD), SQuAD's otherwise."""
    return (cmrc_scores if is_chinese(gold) else squad_scores)(gold, predicted)


def is_chinese(gold: Sequence[Sequence[str]]) -> bool:
    """Answers without letters, such as years, say nothing of the language."""
    lettered = [text for texts in gold for text in texts if any(map(str.isalpha, text))]
    return 2 * sum(map(has_han, lettered)) > len(lettered)


def squad_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """Exact match and F1 of words, against the best of the right answers. A question with none is answered rightly by "".

    >>> squad_scores([["the Eiffel Tower", "Eiffel Tower in Paris"]], ["An Eiffel tower."])
    {'exact_match': 1.0, 'f1': 1.0}
    """
    if all(gold):  # no question of 2.0's kind: 1.1's script
        return _scores(gold, predicted, exact=_same_words, f1=_word_f1)
    # 2.0's script first drops right answers of which nothing is left, say a lone "the": 1.1's gives them an F1 of 0, whatever is predicted.
    kept = [[text for text in texts if _words(text)] or [""] for texts in gold]
    return _scores(gold, predicted, exact=_same_words, f1=_word_f1_or_none, against=kept)


def cmrc_scores(gold: Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """The same in Chinese: F1 is of the longest stretch that both have, in characters, or in words where they are not Chinese.

    CMRC has no questions without an answer; they are scored as in SQuAD 2.0.

    >>> cmrc_scores([["《上海滩》"]], ["电视剧上海滩"])  # 3 of 3 and 3 of 6 characters
    {'exact_match': 0.0, 'f1': 0.6666666666666666}
    """
    return _scores(gold, predicted, exact=_same_characters, f1=_stretch_f1)


def _scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[str],
    *,
    exact: _Measure,
    f1: _Measure,
    against: Sequence[Sequence[str]] | None = None,
) -> dict[str, float]:
    """`against`: what is compared, where it is not `gold` itself. Which questions have an answer is always the file's word."""
    if len(gold) != len(predicted):
        raise PlumeError(f'{len(gold):,} questions, but {len(predicted):,} predicted answers: give one for each, and "" for no answer.')
    if not gold:
        raise PlumeError("There are no questions to score.")
    each = [
        {name: _best(measure, texts, answer) for name, measure in (("exact_match", exact), ("f1", f1))}
        for texts, answer in zip(against or gold, predicted, strict=True)
    ]
    scores = _mean(each)
    if not all(gold):
        parts = {"has_answer": [one for one, texts in zip(each, gold, strict=True) if texts]}
        parts["no_answer"] = [one for one, texts in zip(each, gold, strict=True) if not texts]
        scores |= {f"{part}/{name}": value for part, some in parts.items() if some for name, value in _mean(some).items()}
    return scores


def _best(measure: _Measure, texts: Sequence[str], answer: str) -> float:
    return max(measure(text, answer) for text in texts) if texts else float(not answer.strip())


def _mean(each: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: sum(one[name] for one in each) / len(each) for name in each[0]}


def _words(text: str) -> list[str]:
    """Punctuation goes first, without a space in its place: "New-York" becomes newyork, and "A." an article.

    >>> _words("The U.S.  New-York (A.)")
    ['us', 'newyork']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def word_overlap(gold: str, answer: str) -> tuple[float, float]:
    """Precision and recall of an answer's words (HotpotQA's joint measure multiplies them with those of its facts); of characters, if it is Chinese.

    >>> word_overlap("the Eiffel Tower", "Eiffel Tower in Paris")
    (0.5, 1.0)
    """
    right, found = (_segments(gold), _segments(answer)) if has_han(gold) else (_words(gold), _words(answer))
    common = (Counter(right) & Counter(found)).total()
    return (common / len(found) if found else 0.0), (common / len(right) if right else 0.0)


def _same_words(gold: str, answer: str) -> float:
    return float(_words(gold) == _words(answer))


def _word_f1(gold: str, answer: str) -> float:
    right, found = _words(gold), _words(answer)
    return _f1((Counter(right) & Counter(found)).total(), len(right), len(found))


def _word_f1_or_none(gold: str, answer: str) -> float:
    """2.0's script: with no word on one side, 1 if there is none on the other."""
    return _word_f1(gold, answer) if _words(gold) and _words(answer) else _same_words(gold, answer)


def _same_characters(gold: str, answer: str) -> float:
    """White space within counts, as it does in the script."""
    return float(_bare(gold) == _bare(answer))


def _stretch_f1(gold: str, answer: str) -> float:
    """Two answers of which nothing is left, say punctuation, are an exact match with an F1 of 0: so does the script."""
    right, found = _segments(gold), _segments(answer)
    common = difflib.SequenceMatcher(None, right, found, autojunk=False).find_longest_match().size
    return _f1(common, len(right), len(found))


def _f1(common: int, right: int, found: int) -> float:
    return 2 * common / (right + found) if common else 0.0


def _bare(text: str) -> str:
    """In the script's order: white space that punctuation hid from the strip stays."""
    return text.lower().strip().translate(_CHINESE_PUNCTUATION)


def _segments(text: str) -> list[str]:
    """Chinese characters one by one, and what is between them by the Penn Treebank's rules. A mark that was removed joins its neighbours.

    >>> _segments("《Wi-Fi联盟》, Tim's")
    ['wifi', '联', '盟', ',', 'tim', "'s"]
    """
    pieces = _CHINESE.split(_bare(text))
    return [word for place, piece in enumerate(pieces) for word in ([piece] if place % 2 else _treebank(piece))]


def _treebank(text: str) -> list[str]:
    """As nltk.word_tokenize, without its cut into sentences, which needs a model to be fetched: a full stop inside a stretch stays on its word."""
    return _tokenizer()(text) if text.strip() else []


@functools.cache
def _tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer().tokenize
