"""What layers know: agreement on a balanced set, clusters of phrases, probes, each beside a network that was never trained."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.corpus import Corpus
from plume.data.train_tokenizer import train_tokenizer
from plume.embedded.agreement import ATTRACTORS, agreement_sentences
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.use.language_model import LanguageModel
from plume.text.tokenizers import ByteLevelBPE, Unigram
from plume.text.word_level import WordLevel
from plume.view.inside import layers_page
from plume.view.recording.agreeing import agreement
from plume.view.recording.layers import layer_knowledge, random_network
from plume.view.recording.phrases import phrase_clusters

SENTENCES = agreement_sentences()
TEXTS = [f"{one.before} {verb} {one.after}" for one in SENTENCES for verb in (one.right, one.wrong)]


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory, built: Callable[..., Model]) -> Callable[..., LanguageModel]:
    """A recipe's network at random, with a vocabulary of these texts."""

    def make(recipe: Recipe, texts: list[str], vocabulary: int) -> LanguageModel:
        path = tmp_path_factory.mktemp("texts") / "texts.txt"
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        spec = replace(recipe.tokenizer, vocabulary=vocabulary + recipe.format.sentinels)
        tokenizer = train_tokenizer(Corpus(path), spec, recipe.format)
        return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)

    return make


@pytest.fixture(scope="module")
def english(miniature: Callable[..., Recipe], reading: Callable[..., LanguageModel]) -> Callable[[str], LanguageModel]:
    """A family's miniature with a vocabulary that holds the verbs whole (Unigram's, of so little text, would not)."""

    def make(family: str) -> LanguageModel:
        recipe = miniature(family)
        return reading(replace(recipe, tokenizer=ByteLevelBPE()) if isinstance(recipe.tokenizer, Unigram) else recipe, TEXTS, 500)

    return make


def test_the_set_is_balanced() -> None:
    assert len(SENTENCES) == 200 and len({(one.before, one.after) for one in SENTENCES}) == 200
    assert Counter((one.attractors, one.plural) for one in SENTENCES) == {(n, plural): 25 for n in ATTRACTORS for plural in (False, True)}
    # Whoever always says the same form, or goes by the nearest noun, gains nothing by it.
    for number in ATTRACTORS:
        some = [one for one in SENTENCES if one.attractors == number]
        assert sum(one.right in ("is", "was", "has") for one in some) == 25
    plurals = {"keys", "schools"}
    assert all(one.before.split()[1].endswith("s") is one.plural for one in SENTENCES) and plurals
    led_astray = [one for one in SENTENCES if one.attractors]
    assert all(one.before.split()[-1].endswith("s") is not one.plural for one in led_astray)


def test_agreement_is_what_scores_say(english: Callable[[str], LanguageModel]) -> None:
    """A causal model: the right form is likelier after what stands before it."""
    model = english("gpt2")
    found = agreement(model)
    assert found.left_out == 0 and found.sentences == [50] * 4 and found.layers == [0, 1, 2]
    right, wrong = (
        [one.log_probability for one in model.score([f"{s.before} {getattr(s, form)}" for s in SENTENCES])] for form in ("right", "wrong")
    )
    better = np.array(right) > np.array(wrong)
    kind = np.array([one.attractors for one in SENTENCES])
    assert found.right[:, -1].tolist() == [pytest.approx(better[kind == number].mean()) for number in ATTRACTORS]


@pytest.mark.parametrize("family", ["bert", "xlnet", "electra", "t5", "bart", "mass", "glm", "elmo", "unilm", "transformer-xl"])
def test_every_way_of_asking(family: str, english: Callable[[str], LanguageModel]) -> None:
    found = agreement(english(family))
    assert found.right.shape == (4, len(found.layers)) and ((found.right >= 0) & (found.right <= 1)).all()
    assert sum(found.sentences) + found.left_out == 200


def test_always_the_same_form_is_half_right(english: Callable[[str], LanguageModel]) -> None:
    model = english("bert")
    bias = model.model.head("masked_lm").bias
    with torch.no_grad():
        for form in ("is", "was", "has"):
            bias[model.tokenizer.id(form)] += 1000
    assert (agreement(model).right == 0.5).all()


def test_chinese_does_not_agree(miniature: Callable[..., Recipe], reading: Callable[..., LanguageModel]) -> None:
    characters = "我们喜欢看书他在北京大学学习自然语言处理今天天气很好没有说话图书馆苹果研究"
    texts = ["".join(random.Random(number).sample(characters, 20)) + "。" for number in range(50)]
    model = reading(miniature("bert"), texts, 100)
    with pytest.raises(PlumeError, match="does not apply: this is a model of Chinese"):
        agreement(model)
    assert "does not apply" in layer_knowledge(model).no_agreement


def test_random_network_has_forgotten(english: Callable[[str], LanguageModel]) -> None:
    model = english("bert")
    before = [weight.clone() for weight in model.model.parameters()]
    other = random_network(model)
    assert all(torch.equal(one, two) for one, two in zip(before, model.model.parameters(), strict=True))
    assert any(not torch.equal(one, two) for one, two in zip(before, other.model.parameters(), strict=True))


WORDS = {"cat": "ANIMAL", "bird": "ANIMAL", "horse": "ANIMAL", "bread": "FOOD", "cheese": "FOOD", "apple": "FOOD"}


@pytest.fixture
def tagged(tmp_path: Path) -> str:
    """Names of animals and food among words that are neither."""
    source = random.Random(3)
    lines = []
    for _ in range(80):
        words = [source.choice(["the", "near", "finds", *WORDS]) for _ in range(6)]
        lines += [f"{word}\t{'B-' + WORDS[word] if word in WORDS else 'O'}" for word in words] + [""]
    for name in ("train", "dev"):
        (tmp_path / f"{name}.conll").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"kinds:ner={tmp_path / 'train.conll'},{tmp_path / 'dev.conll'}"


@pytest.fixture
def knowing(miniature: Callable[..., Recipe], reading: Callable[..., LanguageModel]) -> LanguageModel:
    """A model whose word vectors say what kind of thing a word is, above all else."""
    recipe = replace(miniature("bert"), tokenizer=WordLevel(vocabulary=60))
    made = reading(recipe, [" ".join(["the", "near", "finds", *WORDS]) + "."] * 9, 60)
    with torch.no_grad():
        for word in ("the", "near", "finds", *WORDS):
            side = {"FOOD": 1, "ANIMAL": -1, None: 0}[WORDS.get(word)]
            made.model.embedding.token.weight[made.tokenizer.id(word), :8] += 6 * side
        made.model.embedding.norm.weight.fill_(1)
    return LanguageModel(made.model.float(), made.tokenizer)


def test_phrases_and_probes(knowing: LanguageModel, tagged: str) -> None:
    found = layer_knowledge(knowing, [tagged], most=80)
    ((trained, untrained),) = found.phrases
    assert trained.task == "kinds" and trained.labels == 2 and trained.spans > 100
    assert trained.information[0] == pytest.approx(1) and untrained.information[0] < 0.7
    ((probe, _),) = found.probes
    assert probe.task == "kinds" and probe.score[0] > 0.95 and 0.3 < probe.majority < 0.6
    page = layers_page(knowing, [tagged], most=80, name="small")
    assert page.data["layers"]["phrases"][0]["labels"] == 2 and "<iframe" in page._repr_html_()


def test_phrases_against_scikit_learn(knowing: LanguageModel, tagged: str) -> None:
    """The same numbers from states that `hidden` gives, at the first and last token by hand."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score

    from plume.comparing.rows.scored import scored_examples
    from plume.comparing.study import parse_task

    ready, scored, _ = scored_examples(parse_task(tagged))
    found = phrase_clusters(knowing, ready.task, scored, name="kinds", most=10_000)
    assert found is not None
    vectors, labels = [], []
    for example, hidden in zip(scored, knowing.hidden([one.texts[0] for one in scored]), strict=True):
        for place, tag in enumerate(example.answer):
            if tag != "O":
                state = hidden.layers[1][place + 1]
                vectors.append(np.concatenate([state, state, state * state, state - state]))
                labels.append(tag[2:])
    member = KMeans(2, n_init=3, random_state=0).fit_predict(np.array(vectors, np.float32))
    assert found.information[1] == pytest.approx(normalized_mutual_info_score(labels, member), abs=1e-6)


def test_word_vectors_and_wrong_tasks(knowing: LanguageModel) -> None:
    with pytest.raises(PlumeError, match="one layer"):
        layers_page(object())  # type: ignore[arg-type]
    with pytest.raises(PlumeError, match="is no task with its files"):
        layer_knowledge(knowing, ["pos"])
