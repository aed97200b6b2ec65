"""Scores worked out by hand, and the same from the libraries called directly."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from scipy import stats
from sklearn import metrics

from plume.core.errors import PlumeError
from plume.metrics.scores import (
    RougeWords,
    confidence_interval,
    label_scores,
    multi_label_scores,
    number_scores,
    text_scores,
    top_scores,
)

ENGLISH = ["The cat sat on the mat.", "A man's dog is sleeping in the garden today.", "Nothing to see here, move on."]
WRITTEN = ["The cat is on the mat.", "A dog sleeps in a man's garden today.", ""]
CHINESE = ["我爱北京天安门，天安门上太阳升。", "苹果公司发布iPhone 15手机", "你好"]
# A warning in the middle of a progress bar helps nobody: the wrappers settle what the libraries warn of.
pytestmark = pytest.mark.filterwarnings("error")


def test_labels_by_hand() -> None:
    gold, predicted = ["a", "a", "a", "b", "b", "c"], ["a", "a", "b", "b", "c", "c"]
    scores = label_scores(gold, predicted, ["a", "b", "c", "never"], positive="b")
    # a: P 2/2, R 2/3; b: P 1/2, R 1/2; c: P 1/2, R 1/1. `never` occurs nowhere and is not counted.
    assert scores["accuracy"] == pytest.approx(4 / 6)
    assert scores["macro_f1"] == pytest.approx((0.8 + 0.5 + 2 / 3) / 3)
    assert scores["f1"] == pytest.approx(0.5)
    # R_K (Gorodkin 2004): c = 4 right of s = 6; predicted 2, 2, 2; true 3, 2, 1.
    assert scores["mcc"] == pytest.approx((4 * 6 - (2 * 3 + 2 * 2 + 2 * 1)) / math.sqrt((36 - 12) * (36 - 14)))
    assert set(scores) == {"accuracy", "macro_f1", "mcc", "f1"}
    assert set(label_scores(gold, predicted, ["a", "b", "c"])) == {"accuracy", "macro_f1", "mcc"}


def test_labels_agree_with_the_library() -> None:
    generator = np.random.default_rng(0)
    gold, predicted = (list(generator.choice(["0", "1"], 200, p=[0.3, 0.7])) for _ in range(2))
    scores = label_scores(gold, predicted, ["0", "1"], positive="1")
    assert scores["f1"] == pytest.approx(metrics.f1_score(gold, predicted, pos_label="1"))
    assert scores["mcc"] == pytest.approx(metrics.matthews_corrcoef(gold, predicted))
    assert scores["macro_f1"] == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))


def test_a_class_that_is_only_predicted_counts_and_one_without_prediction_too() -> None:
    assert label_scores(["a", "a"], ["a", "b"], ["a", "b"])["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)
    assert label_scores(["a", "b"], ["a", "a"], ["a", "b"])["macro_f1"] == pytest.approx((2 / 3 + 0) / 2)
    assert label_scores(["a", "a"], ["a", "a"], ["a", "b"], positive="b") == {"accuracy": 1.0, "macro_f1": 1.0, "mcc": 0.0, "f1": 0.0}


def test_an_answer_that_is_no_label_is_wrong_and_no_class() -> None:
    scores = label_scores(["a", "b"], ["a", "bee"], ["a", "b"], positive="b")
    assert (scores["accuracy"], scores["macro_f1"], scores["f1"]) == (0.5, 0.5, 0.0)
    with pytest.raises(PlumeError, match=r"label 'bee' is none of those that were trained: a, b\."):
        label_scores(["a", "bee"], ["a", "b"], ["a", "b"])
    with pytest.raises(PlumeError, match="label 'yes'"):
        label_scores(["a"], ["a"], ["a", "b"], positive="yes")


def test_multi_label() -> None:
    gold: list[list[str]] = [["a", "b"], ["b"], [], ["c"]]
    predicted: list[list[str]] = [["b", "a"], ["a"], [], []]
    scores = multi_label_scores(gold, predicted, ["a", "b", "c", "never"])
    # right 2; predicted 3; true 4. a: 1 of 2 predicted, 1 true; b: 1 of 1, 2 true; c: none of 1.
    assert scores["micro_f1"] == pytest.approx(2 * 2 / (3 + 4))
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert scores["exact"] == 0.5  # the first, in another order, and the third, where nothing is right


def test_multi_label_edges() -> None:
    assert multi_label_scores([[]], [[]], ["a"]) == {"micro_f1": 0.0, "macro_f1": 0.0, "exact": 1.0}
    # What is no label is wrong for micro F1 and exact, and no class of macro F1.
    assert multi_label_scores([["a"]], [["a", "zzz"]], ["a"]) == {"micro_f1": pytest.approx(2 / 3), "macro_f1": 1.0, "exact": 0.0}
    assert multi_label_scores([[]], [["zzz"]], ["a"]) == {"micro_f1": 0.0, "macro_f1": 0.0, "exact": 0.0}
    with pytest.raises(PlumeError, match="'z' is none"):
        multi_label_scores([["z"]], [["a"]], ["a"])


def test_numbers() -> None:
    scores = number_scores([1, 2, 3, 4], [2, 1, 4, 3])
    assert (scores["pearson"], scores["spearman"], scores["mse"]) == (pytest.approx(0.6), pytest.approx(0.6), 1.0)
    generator = np.random.default_rng(1)
    gold, predicted = generator.normal(size=50), generator.normal(size=50).round(1)
    scores = number_scores(gold.tolist(), predicted.tolist())
    assert scores["pearson"] == pytest.approx(stats.pearsonr(gold, predicted).statistic, abs=1e-12)
    assert scores["spearman"] == pytest.approx(stats.spearmanr(gold, predicted).statistic, abs=1e-12)
    assert scores["mse"] == pytest.approx(metrics.mean_squared_error(gold, predicted))
    assert number_scores([1, 2, 3], [-1, -4, -9])["spearman"] == pytest.approx(-1)


@pytest.mark.parametrize(("gold", "predicted"), [([1, 2, 3], [2, 2, 2]), ([2, 2, 2], [1, 2, 3]), ([1], [2]), ([1, 1], [1, 1])])
def test_constant_numbers_do_not_correlate(gold: list[float], predicted: list[float]) -> None:
    scores = number_scores(gold, predicted)
    assert (scores["pearson"], scores["spearman"]) == (0.0, 0.0)
    assert math.isfinite(scores["mse"])


def test_nearly_constant_numbers_and_no_numbers() -> None:
    assert -1 <= number_scores([1, 2, 3], [2.5, 2.5 + 4e-16, 2.5])["pearson"] <= 1
    with pytest.raises(PlumeError, match="Number 2 of the predictions is nan"):
        number_scores([1, 2], [1, math.nan])


def test_top_k() -> None:
    scores = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    found = top_scores([0, 2, 2, 2], scores, tops=(1, 2, 5))
    assert (found["top1"], found["top2"], found["top5"]) == (0.5, 0.75, 1.0)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 0 + 0.5) / 3)
    generator = np.random.default_rng(2)
    gold, scores = generator.integers(0, 8, 100), generator.normal(size=(100, 8))
    found = top_scores(gold.tolist(), scores)
    for k in (1, 5):
        assert found[f"top{k}"] == pytest.approx(metrics.top_k_accuracy_score(gold, scores, k=k, labels=range(8)))
    assert found["macro_f1"] == pytest.approx(metrics.f1_score(gold, scores.argmax(1), average="macro"))


def test_equal_scores_are_not_all_right() -> None:
    found = top_scores(list(range(10)), np.zeros((10, 10)))
    assert (found["top1"], found["top5"]) == (0.1, 0.5)
    with pytest.raises(PlumeError, match="NaN"):
        top_scores([0], np.array([[math.nan, 1.0]]))
    with pytest.raises(PlumeError, match="from 0 to 3, but scores are given for 0 to 1"):
        top_scores([0, 3], np.zeros((2, 2)))


def test_rouge_by_hand() -> None:
    scores = text_scores(["the cat sat on the mat"], ["The cat on the red mat!"])
    # 5 of 6 words; the pairs "the cat" and "on the" of 5; "the cat on the mat" in order
    assert (scores["rouge1"], scores["rouge2"], scores["rougeL"]) == (pytest.approx(5 / 6), pytest.approx(2 / 5), pytest.approx(5 / 6))
    scores = text_scores(["我爱北京"], ["我在北京，"])
    assert (scores["rouge1"], scores["rouge2"], scores["rougeL"]) == (pytest.approx(3 / 4), pytest.approx(1 / 3), pytest.approx(3 / 4))


def test_latin_text_scores_as_in_the_libraries() -> None:
    gold, written = [*ENGLISH, "Größe über alles: 3.5 café_x"], [*WRITTEN, "Die Größe, 3.5 Cafés ueber"]
    scores, scorer = text_scores(gold, written), RougeScorer(["rouge1", "rouge2", "rougeL"])  # its default: no stemming
    each = [scorer.score(right, text) for right, text in zip(gold, written, strict=True)]
    for name in ("rouge1", "rouge2", "rougeL"):
        assert scores[name] == pytest.approx(np.mean([score[name].fmeasure for score in each]))
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(written, [gold], tokenize="13a").score)
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(written, [gold]).score)
    assert 0 < scores["bleu"] < scores["chrf"] < 100


def test_chinese_bleu_agrees_with_the_library() -> None:
    written = ["我爱北京天安门，太阳升起。", "苹果发布iPhone 15", "你好吗"]
    scores = text_scores(CHINESE, written)
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(written, [CHINESE], tokenize="zh").score)
    assert scores["bleu"] > sacrebleu.corpus_bleu(written, [CHINESE], tokenize="13a").score
    assert scores["chrf"] == pytest.approx(sacrebleu.corpus_chrf(written, [CHINESE]).score)


@pytest.mark.parametrize(
    "texts", [CHINESE, ["你好吗"], ["Hello"], ["Да, конечно, это он."], ENGLISH, [*CHINESE, *ENGLISH], ["これはペンです"]]
)
def test_the_right_texts_score_full(texts: list[str]) -> None:
    """Two words or more: rouge2 of a single one is 0 in the library too."""
    scores = text_scores(texts, [f" {text}\n" for text in texts])
    assert (scores["bleu"], scores["chrf"], scores["exact"], scores["rouge1"], scores["rougeL"]) == pytest.approx((100, 100, 1, 1, 1))
    assert scores["rouge2"] == pytest.approx(0 if texts == ["Hello"] else 1)


def test_a_chinese_name_does_not_make_english_chinese() -> None:
    gold = ["He said it's 4.5% of all, &quot;no less&quot;."] * 19 + ["The word 文 means text."]
    written = [text.replace("all", "them") for text in gold]
    assert text_scores(gold, written)["bleu"] == pytest.approx(sacrebleu.corpus_bleu(written, [gold], tokenize="13a").score)


def test_several_right_texts() -> None:
    gold = [["A dog runs in the park.", "A dog is running."], ["One right text is enough here."]]
    scores = text_scores(gold, ["A dog is running.", "One text is enough here."])
    assert scores["exact"] == 0.5
    # 5 of 5 written and 5 of 6 right words
    assert scores["rouge1"] == pytest.approx((1 + 10 / 11) / 2)
    streams = [["A dog runs in the park.", "One right text is enough here."], ["A dog is running.", None]]
    assert scores["bleu"] == pytest.approx(sacrebleu.corpus_bleu(["A dog is running.", "One text is enough here."], streams).score)
    with pytest.raises(PlumeError, match="Example 2 has no right text"):
        text_scores([["a"], []], ["a", "b"])


@pytest.mark.parametrize("gold", [ENGLISH, CHINESE, ["", "", ""]])
def test_empty_predictions_score_nothing(gold: list[str]) -> None:
    scores = text_scores(gold, ["", " ", ""])
    assert scores | {"exact": 0.0} == dict.fromkeys(("rouge1", "rouge2", "rougeL", "bleu", "chrf", "exact"), 0.0)


def test_words_of_many_scripts() -> None:
    assert RougeWords().tokenize("In 2024, Zoë読む ＡＢ 中文。Москва-река") == [
        "in",
        "2024",
        "zo",
        "読",
        "む",
        "ａｂ",
        "中",
        "文",
        "москва",
        "река",
    ]


def test_confidence_interval() -> None:
    mean, half = confidence_interval([0.70, 0.72, 0.74])
    assert mean == pytest.approx(0.72)
    assert half == pytest.approx(4.302653 * 0.02 / math.sqrt(3), rel=1e-6)  # t of 2 degrees of freedom, from the tables
    low, high = stats.t.interval(0.95, 4, loc=3, scale=stats.sem([1, 2, 3, 4, 5]))
    assert confidence_interval([1, 2, 3, 4, 5]) == (pytest.approx(3), pytest.approx((high - low) / 2))
    assert confidence_interval([0.5, 0.5]) == (0.5, 0.0)
    mean, half = confidence_interval([0.5])
    assert mean == 0.5 and math.isnan(half)
    with pytest.raises(PlumeError, match="at least one seed"):
        confidence_interval([])


@pytest.mark.parametrize(
    "score",
    [
        lambda gold, predicted: label_scores(gold, predicted, ["a"]),
        lambda gold, predicted: multi_label_scores(gold, predicted, ["a"]),
        number_scores,
        lambda gold, predicted: top_scores(gold, np.zeros((len(predicted), 2))),
        text_scores,
    ],
)
def test_no_examples_and_unequal_counts(score: Callable) -> None:
    with pytest.raises(PlumeError, match="No examples to score"):
        score([], [])
    with pytest.raises(PlumeError, match="2 right answers, but 1 predictions"):
        score([1, 2], [1])
