"""Rows of tasks that answer with a number, a stretch of a text or a text of their own, measured as `plume.metrics.scores` and `squad` do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from plume.metrics.resampled.measures import Floats, Measures, RowScores, mean_of, pearson, ranked, summed
from plume.metrics.scores import CHINESE, ROUGE, RougeWords
from plume.metrics.squad import cmrc_scores, is_chinese, squad_scores
from plume.text.languages import has_han

_CHRF_ORDER = 6  # characters (Popović 2015)
_CHRF_RECALL = 4  # beta squared: recall counts twice as much
_BLEU_ORDER = 4  # words (Papineni et al. 2002)


def number_rows(gold: Sequence[float], predicted: Sequence[float]) -> Measures:
    """Correlations, as `number_scores` measures them."""
    right, given = np.array(gold, np.float64), np.array(predicted, np.float64)
    x, y = right - right.mean(), given - given.mean()
    return {
        "pearson": lambda: summed(pearson, np.ones(len(x)), x, y, x * x, y * y, x * y),
        "spearman": lambda: ranked(right.tolist(), given.tolist()),
    }


def answer_rows(gold: Sequence[list[str]], predicted: Sequence[str]) -> Measures:
    """Answers to questions, as `answer_scores` measures them."""
    return {metric: partial(_answers, gold, predicted, metric) for metric in ("exact_match", "f1")}


def _answers(gold: Sequence[list[str]], given: Sequence[str], metric: str) -> RowScores:
    """Which authors' script counts is the whole set's to say, not the row's."""
    rows = zip(gold, given, strict=True)
    chinese = is_chinese(gold)
    if chinese or all(gold):
        measure = cmrc_scores if chinese else squad_scores
        return mean_of([measure([texts], [answer])[metric] for texts, answer in rows])
    # Beside a question without an answer, one that has answers is counted by SQuAD 2.0's rules.
    return mean_of(
        [
            squad_scores([texts, []], [answer, ""])[f"has_answer/{metric}"] if texts else squad_scores([[]], [answer])[metric]
            for texts, answer in rows
        ]
    )


def text_rows(gold: Sequence[str] | Sequence[Sequence[str]], predicted: Sequence[str]) -> Measures:
    """Written texts, as `text_scores` measures them."""
    golds, texts = [(right,) if isinstance(right, str) else tuple(right) for right in gold], list(map(str, predicted))
    rouge: Measures = {name: partial(_rouge, golds, texts, name) for name in ROUGE}
    return rouge | {
        "bleu": lambda: _bleu(golds, texts),
        "chrf": lambda: _chrf(golds, texts),
        "exact": lambda: mean_of([text.strip() in [one.strip() for one in right] for right, text in zip(golds, texts, strict=True)]),
    }


def _rouge(golds: Sequence[tuple[str, ...]], texts: Sequence[str], name: str) -> RowScores:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([name], tokenizer=RougeWords())
    return mean_of([float(scorer.score_multi(right, text)[name].fmeasure) for right, text in zip(golds, texts, strict=True)])


def _bleu(golds: Sequence[tuple[str, ...]], texts: Sequence[str]) -> RowScores:
    """sacrebleu gives a sentence's n-grams, found and in all, and both lengths; the score of their sums is the corpus's."""
    from sacrebleu.metrics.bleu import BLEU

    chinese = sum(any(map(has_han, right)) for right in golds) >= CHINESE * len(golds)
    bleu = BLEU(tokenize="zh" if chinese else "13a", effective_order=True, force=True)
    each = [bleu.sentence_score(text, right) for right, text in zip(golds, texts, strict=True)]
    return summed(_bleu_of_sums, [[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in each])


def _bleu_of_sums(sums: Floats) -> Floats:
    from sacrebleu.metrics.bleu import BLEU

    order = _BLEU_ORDER
    rows = np.rint(sums).astype(np.int64).tolist()
    return np.array(
        [
            BLEU.compute_bleu(
                row[:order], row[order : 2 * order], row[-2], row[-1], smooth_method="exp", effective_order=True, max_ngram_order=order
            ).score
            for row in rows
        ]
    )


def _chrf(golds: Sequence[tuple[str, ...]], texts: Sequence[str]) -> RowScores:
    """Against the best of several right texts, as sacrebleu has it."""
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    def counts(right: str, text: str) -> list[int]:
        pairs = zip(extract_all_char_ngrams(text, _CHRF_ORDER), extract_all_char_ngrams(right, _CHRF_ORDER), strict=True)
        # Where the right text is too short for an n-gram, those of the prediction do not count either.
        return [number for found, true in pairs for number in (found.total() if true else 0, true.total(), (found & true).total())]

    def best(right: tuple[str, ...], text: str) -> list[int]:
        candidates = [counts(one, text) for one in right]
        return candidates[int(_chrf_of_sums(np.array(candidates, np.float64)).argmax())]

    return summed(_chrf_of_sums, [best(right, text) for right, text in zip(golds, texts, strict=True)])


def _chrf_of_sums(sums: Floats) -> Floats:
    """sacrebleu's default: precision and recall are averaged over the orders that both texts have, then joined."""
    found, true, common = (sums[:, place::3] for place in range(3))
    both = (found > 0) & (true > 0)
    orders = np.maximum(both.sum(axis=1), 1)
    precision, recall = (np.divide(common, side, out=np.zeros_like(common), where=both).sum(axis=1) / orders for side in (found, true))
    below = _CHRF_RECALL * precision + recall
    above = 100 * (1 + _CHRF_RECALL) * precision * recall
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
