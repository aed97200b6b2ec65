"""Labels that nobody trained for: each way against the plain computation, one text and one label at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.head import precise
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.model.use.rows import rows
from plume.model.use.writers import DecoderWriter, SpanWriter
from plume.readers.example import Example
from plume.static.model import WordModel
from plume.tasks.classification import TASK as CLASSIFICATION
from plume.tasks.zero_shot import TASK
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.declared import Declared
from plume.tuning.prompts.label_words import read_words
from plume.tuning.tuned import TunedModel, assemble
from plume.tuning.zero_shot import cloze
from plume.tuning.zero_shot.cloze import Cloze
from plume.tuning.zero_shot.entailment import find_entailment

TEXTS = [
    "The cat finds a wooden box near the river.",
    "",
    "My sister paints.",
    "A tired sailor remembers the lighthouse after the storm. 老师看见旧房子。",
    "The old captain follows two apples",
]
LABELS = ("bread", "the letter", "an umbrella", "home")
MASKED = ("bert", "roberta", "albert", "electra", "mpnet", "xlnet", "unilm", "nezha", "palm")
CAUSAL = ("gpt2", "ctrl", "transformer-xl", "ulmfit", "elmo")


@pytest.fixture(scope="module")
def language_model(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    made: dict[str, LanguageModel] = {}

    def make(family: str) -> LanguageModel:
        if family not in made:
            recipe = miniature(family, length=48)
            tokenizer = tokenizer_for(recipe)
            made[family] = LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)
            made[family].model.spell(tokenizer.tokens())
        return made[family]

    return make


def label_tokens(can: Abilities, said: str, label: str) -> tuple[list[int], list[int], list[int]]:
    """Before the label, the label with the space before it, after it: from one cut of the whole sentence, by characters."""
    start = said.index("{}")
    space = said[:start].endswith(" ")
    pieces = can.tokenizer.encode_pieces([said.replace("{}", label)])[0]
    inside = [bool(end > start - space and begin < start + len(label)) for begin, end in zip(pieces.start, pieces.end, strict=True)]
    first, last = inside.index(True), len(inside) - inside[::-1].index(True)
    ids = pieces.ids.tolist()
    return ids[:first], ids[first:last], ids[last:]


@torch.inference_mode()
def by_masks(at_masks: Any, can: Abilities, said: str, label: str) -> float:
    before, own, after = label_tokens(can, said, label)
    frame = can.frame([*before, *[-1] * len(own), *after])
    places = [place for place, token in enumerate(frame) if token == -1]
    shown = [can.mask if token == -1 else token for token in frame]
    logits = at_masks(can, shown, places).log_softmax(-1)
    return float(torch.stack([logits[place, token] for place, token in enumerate(own)]).mean())


@pytest.mark.parametrize("template", ["{text} It is ___ again.", "About {}: {text}"])
@pytest.mark.parametrize("family", MASKED)
def test_masks_are_read_as_one_at_a_time(language_model: Any, family: str, template: str, at_masks: Any) -> None:
    can = language_model(family).abilities
    table = Cloze(can, template, LABELS).scores(TEXTS)
    for text, row in zip(TEXTS, table, strict=True):
        said = template.replace("___", "{}").replace("{text}", text)
        for label, score in zip(LABELS, row, strict=True):
            assert score == pytest.approx(by_masks(at_masks, can, said, label), abs=1e-9), (text, label)


def test_labels_of_as_many_tokens_share_their_rows(language_model: Any) -> None:
    can = language_model("bert").abilities
    cloze = Cloze(can, "{text} It is ___ again.", LABELS)
    sizes = {len(can.tokenizer.encode([label])[0]) for label in LABELS}
    (asked,) = cloze.layout.lay_out([Example(texts=("The cat finds a box.",))])
    assert 1 < len(asked.rows) == len(sizes) < len(LABELS)
    assert {one.label for row in asked.rows for one in row.readings} == {0, 1, 2, 3}


@pytest.mark.parametrize("family", CAUSAL)
def test_a_causal_model_scores_the_label_after_what_is_before_it(language_model: Any, family: str) -> None:
    model = language_model(family)
    table = Cloze(model.abilities, "{text} It is ___ again.", LABELS).scores(TEXTS)
    for text, row in zip(TEXTS, table, strict=True):
        prompt = f"{text} It is"
        for label, score in zip(LABELS, row, strict=True):
            whole, before = model.score([f"{prompt} {label}", prompt])
            tokens = whole.tokens - before.tokens
            assert score == pytest.approx((whole.log_probability - before.log_probability) / tokens, abs=1e-9), (text, label)


def written(writer: Any, own: list[int]) -> float:
    scores = [writer.first()]
    scores += [writer.go_on(torch.tensor([token])) for token in own[:-1]]
    return float(sum(score[0, token] for score, token in zip(scores, own, strict=True))) / len(own)


@pytest.mark.parametrize("template", ["{text} It is ___ again.", "About {}: {text}"])
@torch.inference_mode()
def test_t5_writes_the_label_after_its_sentinel(language_model: Any, template: str) -> None:
    can = language_model("t5").abilities
    kind = can.decoder()
    sentinel = can.tokenizer.id("<extra_id_0>")
    table = Cloze(can, template, LABELS).scores(TEXTS[:3])
    for text, row in zip(TEXTS, table, strict=False):
        for label, score in zip(LABELS, row, strict=True):
            before, own, after = label_tokens(can, template.replace("___", "{}").replace("{text}", text), label)
            writer = DecoderWriter(can.model, can.head(kind), rows([can.frame([*before, sentinel, *after])]), rows([[can.start, sentinel]]))
            assert score == pytest.approx(written(writer, own), abs=1e-9)


@pytest.mark.parametrize("template", ["{text} It is ___ again.", "About {}: {text}"])
@torch.inference_mode()
def test_bart_writes_the_text_with_the_label_in_it(language_model: Any, template: str) -> None:
    can = language_model("bart").abilities
    table = Cloze(can, template, LABELS).scores(TEXTS[:3])
    for text, row in zip(TEXTS, table, strict=False):
        for label, score in zip(LABELS, row, strict=True):
            before, own, after = label_tokens(can, template.replace("___", "{}").replace("{text}", text), label)
            answer = can.frame([*before, *own, *after])
            source = Batch(tokens=torch.tensor([can.frame([*before, can.mask, *after])]))
            encoded = can.model.token_states(Batch(tokens=torch.tensor([[can.start, *answer[:-1]]]), order=Order.CAUSAL, source=source))
            found = can.head(can.decoder()).log_probabilities(encoded)[0]
            first = len(can.frame([-1])[: can.frame([-1]).index(-1)]) + len(before)
            picked = [float(found[first + place, token]) for place, token in enumerate(own)]
            assert score == pytest.approx(sum(picked) / len(own), abs=1e-9)


@pytest.mark.parametrize("template", ["{text} It is ___ again.", "About {}: {text}"])
@torch.inference_mode()
def test_glm_writes_the_label_behind_the_text(language_model: Any, template: str) -> None:
    can = language_model("glm").abilities
    table = Cloze(can, template, LABELS).scores(TEXTS[:3])
    for text, row in zip(TEXTS, table, strict=False):
        for label, score in zip(LABELS, row, strict=True):
            before, own, after = label_tokens(can, template.replace("___", "{}").replace("{text}", text), label)
            frame = can.frame([*before, can.mask, *after])
            writer = SpanWriter(can.model, can.head(can.spans()), rows([frame]), [frame.index(can.mask)], can.start)
            assert score == pytest.approx(written(writer, own), abs=1e-9)


def test_a_long_text_is_cut_and_the_template_never(language_model: Any) -> None:
    model = language_model("bert")  # 96 tokens
    cloze = Cloze(model.abilities, "{text} It is ___ again.", LABELS)
    ids = model.tokenizer.encode_pieces(["the cat " * 100])[0]
    fits = ("the cat " * 100)[: int(ids.end[cloze.room - 1])]
    long, whole = cloze.scores(["the cat " * 100, fits])
    assert long == pytest.approx(whole, abs=1e-12)
    assert cloze.scores(["the cat"])[0] != pytest.approx(whole, abs=1e-3)
    with pytest.raises(PlumeError, match="no room for the text in 96 tokens"):
        Cloze(model.abilities, "{text} " + "again " * 90 + "___", LABELS)


def test_a_prediction_does_not_depend_on_the_other_texts(language_model: Any) -> None:
    model = language_model("bert")
    texts = [f"{text} {number}" for number in range(30) for text in TEXTS]
    together = TASK.predict(model, texts, labels=LABELS)
    for place in (0, 7, 77, 149):
        assert TASK.predict(model, [texts[place]], labels=LABELS) == [together[place]]


def test_calibration_holds_each_label_against_the_template_alone(language_model: Any) -> None:
    model = language_model("bert")
    template = "{text} It is ___ again."
    scores = Cloze(model.abilities, template, LABELS).scores([*TEXTS, ""])
    gain = scores[:-1] - scores[-1]
    share = np.exp(gain) / np.exp(gain).sum(1, keepdims=True)
    calibrated = TASK.predict(model, TEXTS, labels=LABELS, template=template)
    assert [list(one["scores"].values()) for one in calibrated] == pytest.approx(share, abs=1e-6)
    assert list(calibrated[1]["scores"].values()) == pytest.approx([0.25] * 4, abs=1e-6)  # the empty text says nothing
    plain = TASK.predict(model, TEXTS, labels=LABELS, template=template, calibrate=False)
    share = np.exp(scores[:-1]) / np.exp(scores[:-1]).sum(1, keepdims=True)
    assert [list(one["scores"].values()) for one in plain] == pytest.approx(share, abs=1e-6)
    each = TASK.predict(model, TEXTS, labels=LABELS, template=template, multi_label=True)
    assert [list(one["scores"].values()) for one in each] == pytest.approx(1 / (1 + np.exp(-gain)), abs=1e-6)
    best = each[0]
    assert best["score"] == max(best["scores"].values()) == best["scores"][best["label"]]


@pytest.fixture(scope="module")
def taught(miniature: Any, tokenizer_for: Any) -> LanguageModel:
    """A small BERT that has read which sentences are about a box, and which about a word."""
    recipe = miniature("bert", length=32)
    tokenizer = tokenizer_for(recipe)
    model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
    model.initialise(0)
    able = LanguageModel(model, tokenizer)
    whom = ("the cat", "one small bird", "my sister")
    rows = [(f"{who} {does} it.", label) for does, label in (("finds", "box"), ("paints", "word")) for who in whom]
    rows += [("", "box"), ("", "word")]  # without a text it may be either
    answers = [tokenizer.encode([label])[0] for _, label in rows]
    said = [f"{text} This is about {'[MASK]' * len(own)}." for (text, _), own in zip(rows, answers, strict=True)]
    frames = [able.abilities.frame(ids) for ids in tokenizer.encode(said, allow_special=True)]
    length = torch.tensor([len(frame) for frame in frames])
    tokens = torch.tensor([frame + [tokenizer.pad] * (int(length.max()) - len(frame)) for frame in frames])
    masks = tokens == tokenizer.mask
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    model.train()
    for _ in range(60):
        states = model.token_states(Batch(tokens=tokens, length=length)).last[masks]
        scores = precise(model.head("masked_lm").logits(states))
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(answers).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    return able


@pytest.mark.parametrize("calibrate", [True, False])
def test_a_model_that_knows_says_the_right_label(taught: LanguageModel, calibrate: bool, tmp_path: Path) -> None:
    texts = ["My sister paints it.", "The cat finds it.", "One small bird paints it.", "One small bird finds it."]
    found = TASK.predict(taught, texts, labels=["box", "word"], calibrate=calibrate)
    assert [one["label"] for one in found] == ["word", "box", "word", "box"]
    assert min(one["score"] for one in found) > 0.8
    file = tmp_path / "dev.tsv"
    file.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in zip(texts, "1011", strict=True)), encoding="utf-8")
    scores = TASK.evaluate(taught, [file], labels="0=box,1=word", calibrate=calibrate)
    assert scores["accuracy"] == 0.75  # the last label is wrong on purpose
    assert scores["macro_f1"] == pytest.approx((2 / 3 + 4 / 5) / 2)
    named = tmp_path / "named.tsv"
    named.write_text(
        "text\tlabel\n" + "".join(f"{text}\t{one['label']}\n" for text, one in zip(texts, found, strict=True)), encoding="utf-8"
    )
    assert TASK.evaluate(taught, [named], text="text", label="label")["accuracy"] == 1.0


def test_an_unknown_label_in_a_file_is_named_with_its_line(taught: LanguageModel, tmp_path: Path) -> None:
    file = tmp_path / "dev.tsv"
    file.write_text("text\tlabel\nThe cat finds it.\t0\nMy sister paints it.\t2\n", encoding="utf-8")
    with pytest.raises(PlumeError, match=r"dev.tsv, line 3: the label '2' is none of 0, 1"):
        TASK.evaluate(taught, [file], labels="0=bread,1=home")
    with pytest.raises(PlumeError, match="the label '0' says nothing to a model"):
        TASK.evaluate(taught, [file])


def test_the_template_is_chinese_where_the_text_is(language_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = language_model("bert")
    texts = ["The cat finds 小猫 a wooden box.", "那位船长带来 box 旧房子。", "My sister paints."]
    said: list[tuple[str, int]] = []
    plain = cloze.Cloze.__init__

    def spy(self: Cloze, can: Abilities, template: str, labels: Any) -> None:
        said.append((template, len(labels)))
        plain(self, can, template, labels)

    monkeypatch.setattr(cloze.Cloze, "__init__", spy)
    together = TASK.predict(model, texts, labels=LABELS)
    assert said == [("{text} This is about ___.", 4), ("{text}这是关于___的。", 4)]
    assert together[1] == TASK.predict(model, texts[1], labels=LABELS, template="这是关于{}的。")[0]
    assert together[2] == TASK.predict(model, texts[2], labels=LABELS, template="This is about {}.")[0]


# Entailment


@pytest.fixture
def tuned(miniature: Any, built: Any, tokenizer_for: Any) -> Any:
    """A model with a head for pairs, its weights anything."""

    def make(labels: tuple[str, ...], *, texts: int = 2) -> TunedModel:
        recipe = miniature("bert", length=32)
        tokenizer = tokenizer_for(recipe)
        body = built(recipe, vocabulary=tokenizer.size)
        task = replace(CLASSIFICATION, texts=texts, labels=labels)
        declared = Declared(tasks=(task,), adaptation=FullTuning(), length=64)
        model = assemble(body, declared).double()
        model.initialise(1, spread=1.0)
        return TunedModel(model, tokenizer, declared)

    return make


@pytest.mark.parametrize(
    ("labels", "against"),
    [
        (("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), ("CONTRADICTION",)),
        (("entailment", "not_entailment"), ("not_entailment",)),
        (("矛盾", "蕴含", "中立"), ("矛盾",)),
    ],
)
def test_entailment_is_what_the_head_says_of_each_pair(tuned: Any, labels: tuple[str, ...], against: tuple[str, ...]) -> None:
    model = tuned(labels)
    found = TASK.predict(model, TEXTS, labels=LABELS, template="It is about {}.", multi_label=True)
    single = TASK.predict(model, TEXTS, labels=LABELS, template="It is about {}.")
    entails = next(label for label in labels if label.lower() in ("entailment", "蕴含"))
    task = model.task()
    for text, each, one in zip(TEXTS, found, single, strict=True):
        logits = []
        for label in LABELS:
            pair = (text, f"It is about {label}.")
            said = model.predict([pair])[0]["scores"]
            assert each["scores"][label] == pytest.approx(said[entails] / (said[entails] + sum(said[name] for name in against)), abs=1e-4)
            table = model.table(task.questions([task.example(pair)], model.coder())[0])
            logits.append(float(table[0, labels.index(entails)]))
        share = np.exp(np.array(logits) - max(logits))
        assert list(one["scores"].values()) == pytest.approx(share / share.sum(), abs=1e-5)
        assert one["label"] == LABELS[int(np.argmax(logits))]


def test_a_model_tuned_for_something_else_is_asked_by_its_body(tuned: Any) -> None:
    model = tuned(("bad", "good"))
    assert find_entailment(model) is None
    assert TASK.predict(model, TEXTS, labels=LABELS) == TASK.predict(model.body, TEXTS, labels=LABELS)
    with pytest.raises(PlumeError, match="does not judge entailment"):
        TASK.predict(model, TEXTS, labels=LABELS, way="entailment")
    judge = tuned(("entailment", "neutral"))
    assert TASK.predict(judge, TEXTS, labels=LABELS, way="cloze") == TASK.predict(judge.body, TEXTS, labels=LABELS)
    assert find_entailment(tuned(("entailment", "neutral"), texts=1)) is None


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["bread"]}, "One label alone"),
        ({"labels": "bread,,home"}, "A label is empty"),
        ({"labels": ["bread", "bread"]}, "comes twice"),
        ({"labels": "0=bread,1=bread"}, "comes twice"),
        ({"labels": LABELS, "template": "{text}"}, "one blank for the label"),
        ({"labels": LABELS, "template": "{} {text} {text}"}, "same text twice"),
        ({"labels": LABELS, "way": "guessing"}, "no way 'guessing'"),
        ({"labels": ["bread", "\u0e01\u0e02"]}, "vocabulary lacks"),
    ],
)
def test_what_cannot_be_asked_is_refused(language_model: Any, options: Any, message: str) -> None:
    with pytest.raises(PlumeError, match=message):
        TASK.predict(language_model("bert"), TEXTS, **options)


def test_models_that_cannot_are_refused(language_model: Any) -> None:
    with pytest.raises(PlumeError, match=r"This pegasus model cannot label .*bert"):
        TASK.predict(language_model("pegasus"), TEXTS, labels=LABELS)
    with pytest.raises(PlumeError, match="reads left to right"):
        TASK.predict(language_model("gpt2"), TEXTS, labels=LABELS, template="___: {text}")
    with pytest.raises(PlumeError, match="WordModel"):
        TASK.predict(WordModel.__new__(WordModel), TEXTS, labels=LABELS)
    with pytest.raises(PlumeError, match="a text is expected"):
        TASK.predict(language_model("bert"), [("a", "b")], labels=LABELS)
    assert TASK.predict(language_model("bert"), [], labels=LABELS) == []


def test_labels_may_be_said_in_other_words() -> None:
    assert [(one.label, one.words) for one in read_words(["a", "b"])] == [("a", ("a",)), ("b", ("b",))]
    assert read_words({"0": "world news", "1": "sports"}) == read_words("0 = world news, 1=sports")
    assert read_words(["0=world|globe", "sports"]) == read_words({"0": ["world", "globe"], "sports": "sports"})
