"""Examples shown beside the one that is asked about: the same as a longer template, whatever is cached, chosen or averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import Part, part_from_json, replace
from plume.model.use.language_model import LanguageModel
from plume.readers.example import Example
from plume.tasks.classification import TASK as CLASSIFICATION
from plume.tasks.multiple_choice import TASK as CHOICE
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.prompts.demonstrations import Demonstration, DemonstrationChoice, Demonstrations, NearestExamples, SameForAll
from plume.tuning.prompts.prompt import Prompt
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.tuned import TunedModel, assemble
from plume.tuning.zero_shot.cloze import Cloze

LABELS = ("bread", "the letter", "home")
TEMPLATE = "{text} It is ___ again."
POOL = (
    Demonstration(texts=("The cat finds a box.",), word="bread", label="bread"),
    Demonstration(texts=("My sister paints.",), word="the letter", label="the letter"),
    Demonstration(texts=("A tired sailor remembers the lighthouse.",), word="home", label="home"),
)
TEXTS = ("One small bird follows two apples.", "老师看见旧房子。", "My sister forgets.")
FIRST, LAST = ("gpt2", "transformer-xl", "ulmfit"), ("bert", "xlnet", "mpnet", "t5", "bart", "glm", "unilm")


@pytest.fixture(scope="module")
def prompted(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    def make(family: str, task: Prompted, *, length: int = 240) -> TunedModel:
        recipe = miniature(family, length=length)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size)
        body.spell(tokenizer.tokens())
        declared = Declared(tasks=(task.suited(body, tokenizer, ()),), adaptation=FullTuning(), length=length)
        return TunedModel(assemble(body, declared).double(), tokenizer, declared)

    return make


def task_of(choice: DemonstrationChoice, *, template: str = TEMPLATE, **own: Any) -> Prompted:
    task = replace(CLASSIFICATION, texts=1, labels=LABELS)
    return Prompted.of(task, prompt=Prompt(template=template), demonstrations=Demonstrations(pool=POOL, choice=choice), **own)


def table(model: TunedModel, task: Prompted, texts: Any = TEXTS) -> np.ndarray:
    examples = [Example(texts=(text,)) for text in texts]
    assert task.demonstrations is not None
    chosen = task.demonstrations.chosen(examples, embed=model.body.embed)
    return task._table(model, task.asked(examples, model.coder(), chosen)[0])


def spelled(one: Demonstration) -> str:
    return TEMPLATE.replace("{text}", one.texts[0]).replace("___", one.word)


@pytest.mark.parametrize("family", [*FIRST, *LAST])
def test_what_is_shown_reads_as_a_longer_template_would(prompted: Any, family: str) -> None:
    model = prompted(family, task_of(SameForAll(draws=((2, 0),))))
    shown = f"{spelled(POOL[2])} {spelled(POOL[0])}"
    longer = f"{shown} {TEMPLATE}" if family in FIRST else f"{TEMPLATE} {shown}"
    expected = Cloze(model.body.abilities, longer, LABELS).scores(TEXTS)
    assert table(model, model.tasks[0]) == pytest.approx(expected, abs=2e-6)  # a table is single precision
    bare = Cloze(model.body.abilities, TEMPLATE, LABELS).scores(TEXTS)
    assert np.abs(expected - bare).max() > 1e-5


@pytest.mark.parametrize("family", FIRST)
def test_a_prefix_that_is_read_once_changes_nothing(prompted: Any, family: str) -> None:
    task = prompted(family, task_of(SameForAll(draws=((2, 0), (1,))))).tasks[0]
    model = prompted(family, task)
    questions = task.asked([Example(texts=(text,)) for text in (*TEXTS, "")], model.coder(), [((2, 0), (1,))] * 4)[0]
    assert questions.shared is not None and len(set(questions.shared.tolist())) == 2
    assert task._table(model, questions) == pytest.approx(model.table(questions), abs=2e-6)


def test_what_is_shown_is_read_once(prompted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = prompted("gpt2", task_of(SameForAll(draws=((2, 0, 1),))))
    read: list[int] = []
    plain = type(model.model.body).encode

    def counted(self: Any, batch: Any, **how: Any) -> Any:
        read.append(batch.tokens.numel())
        return plain(self, batch, **how)

    monkeypatch.setattr(type(model.model.body), "encode", counted)
    table(model, model.tasks[0], ["The cat paints."])
    one = sum(read)
    read.clear()
    table(model, model.tasks[0], ["The cat paints."] * 40)
    shown = read[0]
    assert sum(read) - shown == 40 * (one - shown)
    assert shown > one - shown


def test_several_draws_are_averaged(prompted: Any) -> None:
    model = prompted("bert", task_of(SameForAll(draws=((2, 0), (1, 2)))))
    one = [table(model, replace(model.tasks[0], demonstrations=_shown(draw))) for draw in ((2, 0), (1, 2))]
    assert table(model, model.tasks[0]) == pytest.approx((one[0] + one[1]) / 2, abs=2e-6)


def _shown(draw: tuple[int, ...]) -> Demonstrations:
    return Demonstrations(pool=POOL, choice=SameForAll(draws=(draw,)))


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_texts_that_say_nothing_are_asked_with_the_same_examples(prompted: Any, family: str) -> None:
    nothing = ("N/A", "", "[MASK]")
    for choice in (SameForAll(draws=((2, 0),)), NearestExamples(count=2)):
        model = prompted(family, task_of(choice, nothing=nothing))
        task = model.tasks[0]
        found = model.predict(list(TEXTS))
        chosen = task.demonstrations.chosen([Example(texts=(text,)) for text in TEXTS], embed=model.body.embed)
        for text, (draw,), one in zip(TEXTS, chosen, found, strict=True):
            fixed = replace(task, demonstrations=_shown(draw), nothing=())
            scores = np.exp(table(model, fixed, [text, *nothing]).astype(float))
            share = scores / scores.sum(1, keepdims=True)
            expected = share[0] / share[1:].mean(0)
            assert list(one["scores"].values()) == pytest.approx(expected / expected.sum(), abs=2e-5)


def test_the_likest_stand_next_to_the_question_and_never_the_text_itself() -> None:
    vectors = {
        "The cat finds a box.": (1, 0),
        "My sister paints.": (0, 1),
        "A tired sailor remembers the lighthouse.": (0.8, 0.6),
        "near": (3, 1),
    }
    asked = [Example(texts=("near",)), Example(texts=("My sister paints.",))]
    found = NearestExamples(count=2).chosen(POOL, asked, embed=lambda texts: np.array([vectors[one] for one in texts], np.float32))
    assert found == [((2, 0),), ((0, 2),)]
    twice = (*POOL, replace(POOL[1], word="home"))
    found = NearestExamples(count=3).chosen(twice, asked[1:], embed=lambda texts: np.array([vectors[one] for one in texts], np.float32))
    assert found == [((0, 2),)], "a text that is in the pool twice is shown neither of them, though fewer are left"


def test_room_is_shared_by_all_examples(prompted: Any) -> None:
    long = "the cat " * 60
    pool = tuple(replace(one, texts=(long,)) for one in POOL)
    task = replace(task_of(SameForAll(draws=((0, 1),))), demonstrations=Demonstrations(pool=pool, choice=SameForAll(draws=((0, 1),))))
    for family in ("gpt2", "bert"):
        model = prompted(family, task, length=60)
        questions, notes = model.tasks[0].questions([Example(texts=(long,)), Example(texts=("short",))], model.coder())
        assert questions.rows.length.max() <= 60
        assert sum(notes.values()) == 1
    many = replace(task.demonstrations, choice=SameForAll(draws=((0, 1, 2) * 8,)))
    with pytest.raises(PlumeError, match="24 examples and the one that is asked about do not fit into 60 tokens: show fewer"):
        model.tasks[0].__class__.questions(replace(model.tasks[0], demonstrations=many), [Example(texts=("a",))], model.coder())


@pytest.mark.parametrize("family", ["gpt2", "bert"])
@pytest.mark.parametrize(("template", "context"), [("{text} ___", "The cat finds"), ("It says: {text}", "The cat finds #idiom# today.")])
def test_choices_may_be_shown_too(prompted: Any, family: str, template: str, context: str) -> None:
    pool = (Demonstration(texts=(context.replace("cat", "captain"),), word="a box"),)
    task = Prompted.of(CHOICE, prompt=Prompt(template=template), demonstrations=Demonstrations(pool=pool, choice=SameForAll(draws=((0,),))))
    model: TunedModel = prompted(family, task)
    found = model.predict({"context": context, "choices": ["the letter", "bread", "home"]})
    bare = Prompted.of(CHOICE, prompt=Prompt(template=template))
    alone = prompted(family, bare).predict({"context": context, "choices": ["the letter", "bread", "home"]})
    assert len(found[0]["scores"]) == 3
    assert found[0]["scores"] != pytest.approx(alone[0]["scores"], abs=5e-6)


def test_what_is_shown_is_saved_with_the_model(prompted: Any, tmp_path: Any) -> None:
    model = prompted("gpt2", task_of(NearestExamples(count=2), nothing=("N/A",)))
    assert part_from_json(model.tasks[0].to_json()) == model.tasks[0]
    assert isinstance(model.tasks[0], Part) and isinstance(model.body, LanguageModel)


@pytest.mark.parametrize("family", ["bert", "glm"])
def test_a_choice_with_a_sign_that_the_vocabulary_lacks_is_judged_by_the_others(prompted: Any, family: str) -> None:
    model = prompted(family, Prompted.of(CHOICE, prompt=Prompt(template="{text} ___ .")))
    tokenizer = model.tokenizer
    if tokenizer.unknown not in tokenizer.encode(["\U0001f9ca"])[0]:
        pytest.skip("it has a token for everything")
    example = Example(texts=("The cat finds", "bread", "home \U0001f9ca", "\U0001f9ca"), answer=1)
    questions = model.tasks[0].questions([example], model.coder())[0]
    tokens = {label: questions.readings[questions.readings[:, 2] == label] for label in range(3)}
    assert tokenizer.unknown not in tokens[1][:, 1].tolist() and set(tokens[1][:, 3].tolist()) == {len(tokens[1])}
    assert set(tokens[2][:, 1].tolist()) == {tokenizer.unknown}
    scores = model.table(questions)[0]
    assert (scores > -1e3).all() and scores[1] > scores[2] - 5
