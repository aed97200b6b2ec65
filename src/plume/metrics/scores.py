"""How good the answers are, by the field's own libraries: shares, F1 and ROUGE from 0 to 1, BLEU and chrF to 100."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.text.languages import HAN, LATIN, has_han

ROUGE = ("rouge1", "rouge2", "rougeL")
CHINESE = 0.1  # the share of right texts with Chinese in them from which BLEU cuts as for Chinese

ERRORS = frozenset({"mse", "perplexity"})  # metrics of which less is better
HUNDREDS = frozenset({"bleu", "chrf"})  # that go up to 100; all others to 1


def label_scores(gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str], *, positive: str | None = None) -> dict[str, float]:
    """One label a text. `positive` also gives the F1 of that class, as GLUE reports it for MRPC and QQP (arXiv:1804.07461, §2).

    A prediction may be no label at all (a model that answers by text): it is wrong.

    >>> label_scores(["a", "a", "b", "b"], ["a", "a", "b", "a"], ["a", "b", "c"])["accuracy"]
    0.75
    """
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    _check(gold, predicted)
    _check_labels(set(gold) | ({positive} if positive is not None else set()), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one class alone: its MCC is 0, which needs no word
        mcc = matthews_corrcoef(gold, predicted)
    scores = {
        "accuracy": float(accuracy_score(gold, predicted)),
        "macro_f1": float(f1_score(gold, predicted, labels=_occurring([*gold, *predicted], labels), average="macro", zero_division=0)),
        "mcc": float(mcc),
    }
    if positive is not None:
        # As a class among all: pos_label would refuse predictions that are no label.
        scores["f1"] = float(f1_score(gold, predicted, labels=[positive], average="macro", zero_division=0))
    return scores


def multi_label_scores(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], labels: Sequence[str]) -> dict[str, float]:
    """Any number of labels a text. `exact` is the share of texts whose labels are all right and none is missing.

    >>> multi_label_scores([["a", "b"], []], [["a"], []], ["a", "b"])["exact"]
    0.5
    """
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.preprocessing import MultiLabelBinarizer

    _check(gold, predicted)
    _check_labels({label for row in gold for label in row}, labels)
    everything = [label for row in [*gold, *predicted] for label in row]
    known = _occurring(everything, labels)
    # What is predicted and no label is a class of its own, for micro F1 to count as wrong.
    classes = known + sorted(set(everything) - set(known))
    if not classes:
        return {"micro_f1": 0.0, "macro_f1": 0.0, "exact": 1.0}
    binarizer = MultiLabelBinarizer(classes=classes).fit([])
    right, answered = binarizer.transform(gold), binarizer.transform(predicted)
    each = f1_score(right, answered, average=None, zero_division=0)
    return {
        "micro_f1": float(f1_score(right, answered, average="micro", zero_division=0)),
        "macro_f1": float(np.mean(each[: len(known)])) if known else 0.0,
        "exact": float(accuracy_score(right, answered)),
    }


def number_scores(gold: Sequence[float], predicted: Sequence[float]) -> dict[str, float]:
    """Correlations from -1 to 1, and the mean squared error. Where all numbers are the same, nothing correlates: 0.

    >>> number_scores([1, 2, 3], [10, 20, 40])["spearman"]
    1.0
    """
    from scipy.stats import pearsonr, spearmanr

    _check(gold, predicted)
    right, answered = np.asarray(gold, np.float64), np.asarray(predicted, np.float64)
    for numbers, name in ((right, "right answers"), (answered, "predictions")):
        if not np.isfinite(numbers).all():
            place = int(np.flatnonzero(~np.isfinite(numbers))[0])
            raise PlumeError(
                f"Number {place + 1} of the {name} is {numbers[place]}: only finite numbers can be scored. Did training diverge?"
            )
    scores = {"mse": float(np.mean((right - answered) ** 2))}
    for name, correlation in (("pearson", pearsonr), ("spearman", spearmanr)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant, or nearly
            value = float(correlation(right, answered)[0]) if len(right) > 1 else math.nan
        scores[name] = 0.0 if math.isnan(value) else value
    return scores


def top_scores(gold: Sequence[int], scores: NDArray[Any], tops: Sequence[int] = (1, 5)) -> dict[str, float]:
    """Is the right class [N] among the k with the highest scores [N, C]? And the macro F1 of the highest.

    >>> top_scores([0, 1], np.array([[0.9, 0.1, 0.0], [0.5, 0.2, 0.3]]), tops=(1, 3))["top1"]
    0.5
    """
    from sklearn.metrics import f1_score

    _check(gold, scores)
    right = np.asarray(gold, np.int64)
    if right.min() < 0 or right.max() >= scores.shape[1]:
        raise PlumeError(f"Right classes run from {right.min()} to {right.max()}, but scores are given for 0 to {scores.shape[1] - 1}.")
    if np.isnan(scores).any():
        raise PlumeError("Some scores are not numbers (NaN), so classes cannot be ranked. Did training diverge?")
    own = np.take_along_axis(scores, right[:, None], axis=1)
    # Of equal scores the first class counts as higher, as argmax has it: a model that scores all alike must not be always right.
    # (scikit-learn's top_k_accuracy_score takes the last, and refuses two classes.)
    before = (scores > own) | ((scores == own) & (np.arange(scores.shape[1]) < right[:, None]))
    place = before.sum(axis=1)
    found = {f"top{top}": float(np.mean(place < top)) for top in tops}
    # No `labels`: scikit-learn takes those that occur, as _occurring does.
    return found | {"macro_f1": float(f1_score(right, scores.argmax(axis=1), average="macro", zero_division=0))}


def text_scores(gold: Sequence[str] | Sequence[Sequence[str]], predicted: Sequence[str]) -> dict[str, float]:
    """ROUGE (F, mean over the texts, without stemming, as rouge-score's default and T5 have it), BLEU and chrF (of the whole set), exact.

    With several right texts: the best for ROUGE, all for BLEU and chrF, any for exact. Spaces around a text do not count for exact.

    >>> text_scores(["我爱北京"], ["我爱北京"])["rouge2"]
    1.0
    """
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    _check(gold, predicted)
    golds = [(texts,) if isinstance(texts, str) else tuple(texts) for texts in gold]
    if empty := [number for number, texts in enumerate(golds, 1) if not texts]:
        raise PlumeError(f"Example {empty[0]} has no right text to score against. Leave it out, or give one.")
    scorer = RougeScorer(ROUGE, tokenizer=RougeWords())
    rouge = [scorer.score_multi(texts, text) for texts, text in zip(golds, predicted, strict=True)]
    references = [[texts[n] if n < len(texts) else None for texts in golds] for n in range(max(map(len, golds)))]
    chinese = sum(any(map(has_han, texts)) for texts in golds) >= CHINESE * len(golds)
    # The effective order is the full one unless no prediction has four tokens, where BLEU would be 0 even for the right texts.
    bleu = BLEU(tokenize="zh" if chinese else "13a", effective_order=True, force=True)
    return {
        **{name: float(np.mean([score[name].fmeasure for score in rouge])) for name in ROUGE},
        "bleu": float(bleu.corpus_score(predicted, references).score),  # type: ignore[arg-type]  # it takes None, and says so in words
        "chrf": float(CHRF().corpus_score(predicted, references).score),  # type: ignore[arg-type]
        "exact": float(np.mean([text.strip() in [one.strip() for one in texts] for texts, text in zip(golds, predicted, strict=True)])),
    }


class RougeWords:
    """What ROUGE counts: rouge-score's words, and the scripts that it throws away: Chinese by character, others by word.

    Two equal Chinese sentences have a ROUGE of 0 in rouge-score alone, which knows a-z and 0-9. Text in Latin letters is cut just as there
    (at an ä too), so that its scores are those that others report. Punctuation is left out in every language.

    >>> RougeWords().tokenize("BERT读了2篇论文, да!")
    ['bert', '读', '了', '2', '篇', '论', '文', 'да']
    """

    _KANA_AND_THAI = r"\u3040-\u30ff\u0e00-\u0eff"  # are written without spaces too
    _WORD = re.compile(rf"[a-z0-9]+|[{HAN}{_KANA_AND_THAI}]|[^\W_a-z0-9{LATIN}{HAN}{_KANA_AND_THAI}]+")

    def tokenize(self, text: str) -> list[str]:
        """As rouge-score asks for it."""
        return self._WORD.findall(text.lower())


def confidence_interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean over seeds and half the width of its 95% interval by Student's t; one value alone says nothing of the width (NaN).

    >>> mean, half = confidence_interval([0.8, 0.9, 1.0])
    >>> round(mean, 3), round(half, 3)
    (0.9, 0.248)
    """
    from scipy.stats import t

    if not len(values):
        raise PlumeError("No values, so no mean: run at least one seed.")
    if len(values) == 1:
        return float(values[0]), math.nan
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return float(np.mean(values)), float(t.ppf(0.975, len(values) - 1)) * error


def _occurring(found: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Macro F1 is over the classes that occur in the right answers or in the predictions.

    One that occurs in neither has no F1 (0/0); counted as 0 it would punish a small dev set for the rare labels that it lacks.
    """
    present = set(found)
    return [label for label in dict.fromkeys(labels) if label in present]


def _check(gold: Sized, predicted: Sized) -> None:
    if not len(gold):
        raise PlumeError("No examples to score: the data holds none with an answer. Give a file with labelled examples.")
    if len(gold) != len(predicted):
        raise PlumeError(f"{len(gold):,} right answers, but {len(predicted):,} predictions: each example needs one of both.")


def _check_labels(found: set[str], labels: Sequence[str]) -> None:
    if unknown := sorted(found - set(labels)):
        known = ", ".join(list(labels)[:20])
        raise PlumeError(f"The label '{unknown[0]}' is none of those that were trained: {known}. Correct it in the data, or train with it.")
