"""Probes find what is there and nothing else: which layer, which word, which answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.comparing.measuring.probes import probe
from plume.core.errors import PlumeError
from plume.data.corpus import Corpus
from plume.data.train_tokenizer import train_tokenizer
from plume.model.checkpoint import load_model, save_model
from plume.nn.positions.learned import Learned
from plume.readers.example import Example
from plume.recipes import _catalog as catalog
from plume.static import model as word_models
from plume.static.reading import WORDS as WORD_FORMAT
from plume.static.text import Vocabulary
from plume.text.word_level import WordLevel
from plume.tuning.options import named
from plume.tuning.writing.by_text import approach

KINDS = {"cat": "ANIMAL", "bird": "ANIMAL", "sister": "PERSON", "captain": "PERSON", "bread": "FOOD", "apples": "FOOD"}
FILLERS = ("the", "in", "morning", "finds", "quartzite", "zigzags")  # the last two are several tokens, if any, in every vocabulary


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, miniature: Any, corpus: Corpus) -> Callable[[str], Path]:
    """A family's miniature with first weights, in a directory. Its vocabulary has room for every word of the corpus."""
    made: dict[str, Path] = {}

    def make(family: str) -> Path:
        if family not in made:
            recipe = miniature(family)
            if isinstance(recipe.positions, Learned):  # a new network shall look everywhere, not just at its neighbours
                recipe = replace(recipe, positions=replace(recipe.positions, local=False))
            spec = replace(recipe.tokenizer, vocabulary=600 + recipe.format.sentinels)
            tokenizer = train_tokenizer(corpus, spec, recipe.format)
            model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
            model.initialise(3)
            model.spell(tokenizer.tokens())
            made[family] = tmp_path_factory.mktemp("base") / family
            save_model(made[family], model, tokenizer)
        return made[family]

    return make


def tagged(words: Sequence[str], tags: Sequence[str], *, skip: int = 0) -> Example:
    """Of which the first `skip` words are not asked about."""
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    places = tuple((int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True))
    return Example(texts=(" ".join(words),), answer=list(tags[skip:]), words=places[skip:])


def sentences(count: int, *, seed: int, most: int = 9, share: float = 0.5) -> list[list[str]]:
    """Words in random order: a word's neighbours say nothing about it."""
    source = random.Random(seed)
    return [
        [source.choice(tuple(KINDS)) if source.random() < share else source.choice(FILLERS) for _ in range(source.randint(1, most))]
        for _ in range(count)
    ]


def parts_of_speech(count: int, *, seed: int, **options: Any) -> list[Example]:
    return [tagged(words, [KINDS.get(word, "X") for word in words]) for words in sentences(count, seed=seed, **options)]


def topics(count: int, *, seed: int) -> list[Example]:
    """Texts that one word gives away."""
    source = random.Random(seed)
    made = []
    for _ in range(count):
        words = [source.choice(FILLERS) for _ in range(source.randint(1, 5))]
        label = source.choice(("animal", "food"))
        words.insert(source.randrange(len(words) + 1), source.choice(("cat", "bird") if label == "animal" else ("bread", "apples")))
        made.append(Example(texts=(" ".join(words),), answer=label))
    return made


def of(kind: str, examples: Sequence[Example]) -> Any:
    return named(kind).learned(examples)


# What the first layer must know of a word by its first token; in the last three vocabularies that is the same bare mark for several words.
FAMILIES = {
    "bert": 0.97,
    "electra": 0.97,
    "elmo": 0.97,
    "cove": 0.97,
    "roberta": 0.95,
    "gpt2": 0.95,
    "xlnet": 0.75,
    "t5": 0.75,
    "albert": 0.75,
}


@pytest.mark.parametrize("family", FAMILIES)
def test_words_are_read_where_they_stand(family: str, base: Any) -> None:
    """Each word's own vector says its tag, and its neighbours' do not: a token off, and the first layer knows nothing."""
    train, test = parts_of_speech(400, seed=0), parts_of_speech(150, seed=1)
    found = probe(base(family), of("pos", train), train, test, name=family)
    assert found is not None and (found.model, found.task) == (family, "pos")
    assert found.score[0] > FAMILIES[family], found
    assert found.examples == sum(len(example.answer) for example in test)
    assert found.majority == pytest.approx(np.mean([tag == "X" for example in test for tag in example.answer])) and found.majority < 0.6


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "elmo"])
def test_windows_of_long_texts(family: str, base: Any) -> None:
    train, test = parts_of_speech(30, seed=0, most=150), parts_of_speech(15, seed=1, most=150)
    found = probe(base(family), of("pos", train), train, test, name=family)
    assert found is not None and found.score[0] > FAMILIES[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_one_score_for_each_layer(family: str, base: Any, miniature: Any) -> None:
    train = topics(800, seed=0)
    found = probe(base(family), of("classification", train), train, topics(200, seed=1), name=family)
    assert found is not None and len(found.score) == miniature(family).network.depth + 1
    assert found.score[0] > 0.8 and found.examples == 200, found


def test_layers_stand_in_their_order(base: Any, tmp_path: Path) -> None:
    """The last block forgets everything, the two layers below it do not."""
    model, tokenizer = load_model(base("bert"))
    with torch.no_grad():
        for parameter in model.stack.block(1).feed_forward_norm.parameters():
            parameter.zero_()
    save_model(tmp_path, model, tokenizer)
    train, test = topics(600, seed=0), topics(300, seed=1)
    found = probe(tmp_path, of("classification", train), train, test, name="forgetful")
    assert found is not None
    assert min(found.score[:2]) > 0.97 and found.score[2] == found.majority < 0.6


def test_context_is_known_above_the_embedding(base: Any) -> None:
    """Every word is asked which word the sentence begins with: by itself it cannot know."""

    def asked(count: int, seed: int) -> list[Example]:
        made = [[first, *words] for words in sentences(count, seed=seed, most=4, share=0.0) for first in ("cat", "bread")]
        return [tagged(words, [words[0]] * len(words), skip=1) for words in made]

    train, test = asked(300, 0), asked(150, 1)
    found = probe(base("bert"), of("pos", train), train, test, name="bert")
    assert found is not None and found.score[0] < 0.6 and min(found.score[1:]) > 0.8, found


@pytest.mark.parametrize("family", ["bert", "elmo"])
def test_random_answers_cannot_be_known(family: str, base: Any) -> None:
    source = random.Random(7)
    train, test = ([replace(one, answer=source.choice("ab")) for one in topics(600, seed=seed)] for seed in (0, 1))
    found = probe(base(family), of("classification", train), train, test, name=family)
    assert found is not None and max(abs(score - found.majority) for score in found.score) < 4 * (0.25 / 600) ** 0.5


def entities(count: int, *, seed: int) -> list[Example]:
    """One word in ten belongs to an entity."""
    made = sentences(count, seed=seed, share=0.1)
    return [tagged(words, [f"B-{KINDS[word]}" if word in KINDS else "O" for word in words]) for words in made]


def test_of_entities_as_many_other_words_count(base: Any) -> None:
    train, test = entities(500, seed=0), entities(300, seed=1)
    found = probe(base("bert"), of("ner", train), train, test, name="bert")
    inside = sum(tag != "O" for example in test for tag in example.answer)
    assert found is not None and found.examples == 2 * inside and found.majority == 0.5
    assert found.score[0] > 0.97


def test_so_many_examples_and_words_count(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spread over the file; what lies between is labelled wrongly."""
    good, test = topics(100, seed=0), topics(100, seed=1)
    bad = [replace(one, answer="food" if one.answer == "animal" else "animal") for one in topics(400, seed=2)]
    mixed = [[side[place // 5] if place % 5 == 0 else bad[place - place // 5 - 1] for place in range(500)] for side in (good, test)]
    task = of("classification", good)
    first = probe(base("bert"), task, good, test, name="bert")
    assert probe(base("bert"), task, mixed[0], mixed[1], name="bert", most=100) == first
    whole = probe(base("bert"), task, mixed[0], mixed[1], name="bert")
    assert whole is not None and whole.examples == 500 and whole.score[0] < 0.9
    monkeypatch.setattr("plume.comparing.measuring.probes._WORDS", 100)
    words, entity_words = parts_of_speech(60, seed=0), entities(500, seed=0)
    assert probe(base("bert"), of("pos", words), words, words, name="bert").examples == 100  # type: ignore[union-attr]
    assert probe(base("bert"), of("ner", entity_words), entity_words, entity_words, name="bert").examples == 100  # type: ignore[union-attr]


def test_a_label_that_training_does_not_show_is_never_right(base: Any) -> None:
    train, test = topics(100, seed=0), topics(100, seed=1)
    test[:40] = [replace(one, answer="aaa") for one in test[:40]]  # it would be number 0 by its name
    task = replace(of("classification", train), unseen=True)
    found = probe(base("bert"), task, train, test, name="bert")
    assert found is not None and 0.5 < found.score[0] <= 0.6


def test_the_same_each_time_and_the_model_untouched(base: Any) -> None:
    train, test = entities(100, seed=0), entities(50, seed=1)
    before = (base("bert") / "model.safetensors").read_bytes()
    found = [probe(base("bert"), of("ner", train), train, test, name="bert") for _ in range(2)]
    assert found[0] == found[1] and (base("bert") / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_relations_between_two_texts(family: str, base: Any) -> None:
    """Whether two texts share a word cannot be read off the mean of both."""

    def pairs(count: int, seed: int) -> list[Example]:
        source = random.Random(seed)
        words = [source.sample(("cat", "bird", "bread", "apples"), 2) for _ in range(count)]
        return [
            Example(texts=(one, one if same else other), answer="same" if same else "other")
            for (one, other), same in zip(words, source.choices((True, False), k=count), strict=True)
        ]

    train, test = pairs(300, 0), pairs(200, 1)
    found = probe(base(family), of("classification", train), train, test, name=family)
    assert found is not None and found.score[0] > 0.95 > 0.65 > found.majority


def test_pairs_and_answers_that_are_written(base: Any) -> None:
    """An encoder–decoder's own task is answered in words; its encoder's layers are probed all the same."""
    train, test = ([replace(one, texts=(*one.texts, "the letter")) for one in topics(150, seed=seed)] for seed in (0, 1))
    task = of("classification", train)
    body, tokenizer = load_model(base("t5"))
    written = approach(task, body, tokenizer, train)
    assert written != task
    found = probe(base("t5"), written, train, test, name="t5")
    assert found == probe(base("t5"), task, train, test, name="t5") and found is not None and found.score[0] > 0.97


def test_word_vectors_have_one_layer(corpus: Corpus, tmp_path: Path) -> None:
    recipe = catalog.declaration("word2vec/tiny")
    tokenizer = train_tokenizer(corpus, WordLevel(vocabulary=200), WORD_FORMAT)
    words = tuple(KINDS) + FILLERS
    vectors = np.random.default_rng(0).normal(size=(len(words), 16)).astype(np.float32)
    vocabulary = Vocabulary(words=words, counts=np.ones(len(words), np.int64))
    word_models.save_model(tmp_path, recipe=recipe, tokenizer=tokenizer, vocabulary=vocabulary, arrays={"word": vectors})
    train, test = parts_of_speech(200, seed=0), parts_of_speech(100, seed=1)
    found = probe(tmp_path, of("pos", train), train, test, name="word2vec")
    assert found is not None and found.score == (1.0,)


def test_where_there_is_nothing_to_probe(base: Any) -> None:
    train, test = topics(40, seed=0), topics(40, seed=1)
    task = of("classification", train)
    assert probe(base("bert"), task, [], test, name="x") is None and probe(base("bert"), task, train, [], name="x") is None
    same = [replace(one, answer="food") for one in train]
    assert probe(base("bert"), task, same, test, name="x") is None and probe(base("bert"), task, same, same, name="x") is None
    assert probe(base("bert"), task, train, [replace(one, answer=None) for one in test], name="x") is None
    named_words = entities(100, seed=0)
    nameless = [replace(one, answer=["O"] * len(one.answer)) for one in named_words]
    for sides in ((nameless, named_words), (named_words, nameless), (nameless, nameless)):
        assert probe(base("bert"), of("ner", named_words), *sides, name="x") is None
    numbers = [replace(one, answer=1.5) for one in train]
    assert probe(base("bert"), of("regression", numbers), numbers, numbers, name="x") is None
    several = [replace(one, answer=("a", "b")) for one in train]
    assert probe(base("bert"), of("multi-label", several), several, several, name="x") is None


def test_a_model_that_diverged_is_refused(base: Any, tmp_path: Path) -> None:
    model, tokenizer = load_model(base("bert"))
    with torch.no_grad():
        model.stack.block(0).attention.query.weight.fill_(float("nan"))
    save_model(tmp_path, model, tokenizer)
    train = topics(40, seed=0)
    with pytest.raises(PlumeError, match="not finite"):
        probe(tmp_path, of("classification", train), train, train, name="x")
