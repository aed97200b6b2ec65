"""Every class of transformers with a head for a task, against ours in float64: logits, names, and whole directories."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers.models.t5.modeling_t5 import T5LayerNorm

from plume.core.batch import Batch, Order, Target
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.heads.answer_span import AnswerSpan
from plume.heads.head import Head
from plume.heads.sentence_classification import Choice, MultiLabelClassification, SentenceClassification, SentenceRegression
from plume.heads.token_labelling import TokenLabelling
from plume.hf.export import config_of, export
from plume.hf.importing import body_recipe, fitted, import_folder, is_task_folder
from plume.hf.task_heads import apart, head_config, head_of_config, head_of_part, joined, labels_of, part_of
from plume.model.bridge import Bridge
from plume.model.checkpoint import load_weights, read_weights, state_of
from plume.model.networks.encoder_decoder import EncoderDecoderModel
from plume.model.task_head import TaskHead
from plume.recipes import _catalog as catalog
from plume.tasks import classification, multi_label, multiple_choice, ner, pos, qa, regression, similarity
from plume.tuning.adapting.adaptation import Adaptation
from plume.tuning.adapting.decoder_rows import through_decoder
from plume.tuning.adapting.network import TaskModel
from plume.tuning.adapting.ways.adapters import LowRankAdapters
from plume.tuning.adapting.ways.full import FullTuning
from plume.tuning.adapting.ways.probe import LinearProbe
from plume.tuning.declared import Declared
from plume.tuning.exchange import export_tuned, import_tuned, task_of
from plume.tuning.task import Task
from plume.tuning.tuned import TunedModel, assemble, reading_order

TOLERANCE = 1e-9
VOCABULARY, TIME, CHOICES = 60, 12, 3
LENGTHS = [9, 12, 5]
PAD, END = 1, 4  # ids that stand nowhere else in the rows; RoBERTa counts its positions from the first
IDS = {"pad_token_id": PAD, "eos_token_id": END, "bos_token_id": 0, "decoder_start_token_id": 2, "forced_eos_token_id": None}
LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
FAMILIES = ["bert", "roberta", "albert", "electra", "xlnet", "t5", "bart", "gpt", "gpt2", "mpnet", "ernie"]
CASES = [(family, head) for family in FAMILIES for head in catalog.bridge(catalog.recipe(family)).tasks]
cases = pytest.mark.parametrize(("family", "head"), CASES, ids=[head.architecture for _, head in CASES])


def tiny(family: str) -> Any:
    recipe = catalog.recipe(f"{family}/tiny")
    return replace(
        recipe,
        embedding=replace(recipe.embedding, width=16 if family in ("albert", "electra") else 32, dropout=0.0),
        network=replace(
            recipe.network, width=32, depth=2, heads=4, feed_forward=128 if "gpt" in family else 48, dropout=0.0, attention_dropout=0.0
        ),
        positions=recipe.positions if recipe.positions.longest is None else replace(recipe.positions, longest=16),
        training=replace(recipe.training, length=16),
    )


def bridge_of(family: str) -> Bridge:
    bridge = catalog.bridge(catalog.recipe(family))
    assert bridge is not None
    return bridge


def a_part(head: TaskHead, kind: type[Head] | None = None) -> Head:
    if head.parts == (TokenLabelling,):
        return TokenLabelling(labels=LABELS)
    if head.parts == (AnswerSpan,):
        return AnswerSpan()
    kind = kind or head.parts[0]
    classes = 1 if issubclass(kind, Choice | SentenceRegression) else 4
    return kind(classes=classes, hidden=head.hidden, bias=head.bias)  # type: ignore[call-arg]


def labels_for(part: Head) -> tuple[str, ...]:
    return LABELS if isinstance(part, TokenLabelling) else tuple(f"class {n}" for n in range(getattr(part, "classes", 0)))


def their_model(family: str, head: TaskHead, part: Head) -> Any:
    """Of a config that plume writes, with random weights everywhere, norms and biases too."""
    config = config_of(tiny(family), bridge_of(family), vocabulary=VOCABULARY) | IDS | head_config(head, part, labels_for(part))
    made = transformers.AutoConfig.for_model(**config)
    made._attn_implementation = "eager"
    model = getattr(transformers, head.architecture)(made).double().eval()
    generator = torch.Generator().manual_seed(zlib.crc32(head.architecture.encode()))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
    for module in model.modules():
        if isinstance(module, T5LayerNorm):  # computes its mean in float32 whatever the weights are
            module.forward = partial(_root_mean_square, module)
    return model


def _root_mean_square(norm: Any, value: Tensor) -> Tensor:
    return norm.weight * value * torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)


def our_model(family: str, head: TaskHead, theirs: Any) -> TaskModel:
    """The same, by way of config.json and the names."""
    bridge, config = bridge_of(family), theirs.config.to_dict() | {"architectures": [type(theirs).__name__]}
    assert head_of_config(bridge, config) is head
    below, own = apart(bridge, head, theirs.state_dict())
    state = bridge.keys.apply(below)
    recipe, _ = fitted(body_recipe(bridge.config.read(config), head), state)
    body = recipe.assembly.build(recipe, vocabulary=VOCABULARY)
    part = part_of(head, config, len(own["output.weight"]))
    model = TaskModel(body, {"x": part}, Adaptation()).double()
    load_weights(
        model, {f"body.{name}": value for name, value in state.items()} | {f"heads.x.{name}": value for name, value in own.items()}, Path()
    )
    return model.eval()


def rows(family: str, padded: bool) -> tuple[Batch, dict[str, Tensor]]:
    """Three rows; each ends with the end token, and theirs say so by the attention mask."""
    generator = torch.Generator().manual_seed(7)
    length = torch.tensor(LENGTHS if padded else [TIME] * 3)
    tokens = torch.randint(5, VOCABULARY, (3, TIME), generator=generator)
    inside = torch.arange(TIME) < length[:, None]
    tokens[torch.arange(3), length - 1] = END
    tokens[~inside] = PAD
    theirs = {"input_ids": tokens, "attention_mask": inside.long()}
    batch = Batch(tokens=tokens, length=length if padded else None, order=Order.CAUSAL if "gpt" in family else Order.FULL)
    if family in ("bert", "albert", "electra", "ernie", "xlnet"):
        segment = (torch.arange(TIME) >= 4).long().expand(3, TIME)
        batch, theirs["token_type_ids"] = replace(batch, segment=segment), segment
    return batch, theirs


def shifted_to_the_end(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The padding in front, as a class that reads the last column wants it."""
    length = theirs["attention_mask"].sum(1)
    place = (torch.arange(TIME) - (TIME - length[:, None])) % TIME
    return {name: value.gather(1, place) for name, value in theirs.items()}


def their_logits(model: Any, head: TaskHead, theirs: dict[str, Tensor]) -> Tensor:
    """[3, classes], or [3, T, classes]"""
    theirs = shifted_to_the_end(theirs) if head.pads_left else theirs
    if Choice in head.parts:
        return model(**{name: value[None] for name, value in theirs.items()}).logits.t()
    output = model(**theirs)
    return torch.stack([output.start_logits, output.end_logits], dim=-1) if AnswerSpan in head.parts else output.logits


def our_logits(model: TaskModel, head: TaskHead, batch: Batch, *, last: bool) -> Tensor:
    if isinstance(model.body, EncoderDecoderModel):
        batch = through_decoder(batch, 2)
    states = model.states(batch).last
    if head.reads_text:
        length = torch.full((3,), TIME) if batch.length is None else batch.length
        states = states[torch.arange(3), length - 1 if last else torch.zeros(3, dtype=torch.long)]
    return model.head("x").logits(states)


def close(ours: Tensor, theirs: Tensor) -> None:
    assert ours.shape == theirs.shape and theirs.dtype == torch.float64
    assert float((ours - theirs).abs().max()) < TOLERANCE


@cases
@torch.no_grad()
def test_logits_are_equal(family: str, head: TaskHead, monkeypatch: pytest.MonkeyPatch) -> None:
    if family == "xlnet":  # transformers makes its sinusoids in float32 whatever the model's type
        monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    theirs = their_model(family, head, a_part(head))
    ours = our_model(family, head, theirs)
    for padded in (False, True):
        batch, given = rows(family, padded)
        expected = their_logits(theirs, head, given)
        found = our_logits(ours, head, batch, last=family in ("xlnet", "t5", "bart", "gpt", "gpt2"))
        inside = torch.ones(3, dtype=torch.bool) if head.reads_text else given["attention_mask"].bool()
        close(found[inside], expected[inside])
        assert float(expected[inside].std()) > 1e-4, "a test of constants would be none"


@cases
def test_names_round_trip_exactly(family: str, head: TaskHead) -> None:
    theirs = their_model(family, head, a_part(head))
    ours, bridge = our_model(family, head, theirs), bridge_of(family)
    state = state_of(ours)
    body = {name.removeprefix("body."): value for name, value in state.items() if name.startswith("body.")}
    own = {name.removeprefix("heads.x."): value for name, value in state.items() if name.startswith("heads.x.")}
    written = joined(bridge, head, body, own)
    wanted = {name: value for name, value in theirs.state_dict().items() if not name.endswith("embed_tokens.weight")}  # tied copies
    assert set(written) == set(wanted)
    assert all(torch.equal(written[name], value) for name, value in wanted.items())


def test_the_decoder_reads_the_row_shifted() -> None:
    batch = Batch(
        tokens=torch.tensor([[7, 8, 4], [9, 4, 1]]), length=torch.tensor([3, 2]), read=torch.tensor([[2], [1]]),
        labels={"x": Target(index=torch.tensor([2, 4]), value=torch.tensor([0, 1]))},
    )  # fmt: skip
    made = through_decoder(batch, 2)
    assert made.tokens.tolist() == [[2, 7, 8], [2, 9, 4]] and made.order is Order.CAUSAL
    assert made.read is batch.read and made.labels == batch.labels
    assert made.source is not None and made.source.tokens.tolist() == batch.tokens.tolist()
    assert made.source.read is None and not made.source.labels and made.source.order is Order.FULL
    assert through_decoder(batch.map(lambda one: one.numpy()), 2).tokens.tolist() == made.tokens.tolist()
    assert batch.tokens.tolist() == [[7, 8, 4], [9, 4, 1]], "the rows given are left as they were"


def test_config_says_what_the_head_is_for() -> None:
    head = bridge_of("bert").tasks[0]
    for kind in (SentenceClassification, MultiLabelClassification, SentenceRegression):
        part = a_part(head, kind)
        config = head_config(head, part, labels_for(part))
        assert part_of(head, config, part.classes) == part
        assert labels_of(config, part.classes) == labels_for(part)
    assert isinstance(part_of(head, {}, 1), SentenceRegression), "as transformers takes one output to be"
    assert type(part_of(head, {}, 3)) is SentenceClassification
    assert labels_of({"id2label": {"0": "same", "1": "same"}}, 2) == ("LABEL_0", "LABEL_1")
    with pytest.raises(PlumeError, match="problem_type 'regression' with 3 outputs"):
        part_of(head, {"problem_type": "regression"}, 3)
    summary = {"architectures": ["XLNetForSequenceClassification"], "summary_type": "mean"}
    with pytest.raises(PlumeError, match="summary_type = 'mean' is not supported"):
        head_of_config(bridge_of("xlnet"), summary)


def test_tags_say_whether_they_are_entities() -> None:
    assert task_of(TokenLabelling(labels=LABELS), LABELS) == replace(ner.TASK, labels=LABELS)
    tags = ("NOUN", "VERB", "O")
    assert task_of(TokenLabelling(labels=tags), tags) == replace(pos.TASK, labels=tags)


def test_what_transformers_has_no_class_for() -> None:
    with pytest.raises(PlumeError, match=r"no class for token classification on bart.*BartForQuestionAnswering"):
        head_of_part(bridge_of("bart"), TokenLabelling(labels=LABELS))
    with pytest.raises(PlumeError, match="CRF"):
        head_of_part(bridge_of("bert"), TokenLabelling(labels=LABELS, chain=True))
    with pytest.raises(PlumeError, match="another head"):
        head_of_part(bridge_of("roberta"), SentenceClassification())
    head, part = bridge_of("bert").tasks[0], SentenceClassification(classes=3)
    recipe = replace(tiny("bert"), pooler=False, objectives=tiny("bert").objectives[:1])
    body = recipe.assembly.build(recipe, vocabulary=VOCABULARY)
    with pytest.raises(PlumeError, match="reads a pooler"):
        joined(bridge_of("bert"), head, state_of(body), {})
    assert head_of_part(bridge_of("bert"), part) is head


# Whole directories

TEXTS = ["the cat finds a wooden box", "小猫喜欢苹果", "my sister paints the lighthouse near the river, after the storm"]
PAIRS = [(text, "some bread") for text in TEXTS]


@pytest.fixture
def tuned(miniature: Callable[..., Any], tokenizer_for: Callable[[Any], Any]) -> Callable[..., TunedModel]:
    def make(family: str, task: Task, adaptation: Adaptation | None = None) -> TunedModel:
        recipe = miniature(family, length=128)  # the texts fit
        tokenizer = tokenizer_for(recipe)
        body = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        body.initialise(3)
        order = reading_order(body, tokenizer)
        declared = Declared(tasks=(task,), adaptation=adaptation or FullTuning(), length=recipe.training.length, order=order)
        model = assemble(body, declared)
        model.initialise(4, spread=0.5)
        return TunedModel(model, tokenizer, declared)

    return make


def their_scores(folder: Path, texts: list[Any]) -> list[dict[str, float]]:
    """By the Auto classes alone, all texts in one padded batch."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    given = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        share = model(**given).logits.softmax(-1)
    return [{model.config.id2label[n]: value for n, value in enumerate(row)} for row in share.tolist()]


def same(ours: list[dict[str, Any]], theirs: list[dict[str, float]]) -> None:
    assert len({json.dumps(one["scores"]) for one in ours}) == len(ours), "the texts should not be scored alike"
    for one, other in zip(ours, theirs, strict=True):
        assert one["scores"] == pytest.approx(other, abs=2e-6)


@pytest.mark.parametrize("texts", [TEXTS, PAIRS], ids=["single", "pairs"])
@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra", "gpt2", "xlnet", "mpnet", "bart", "t5", "ernie"])
def test_a_classifier_goes_out_and_comes_back(family: str, texts: list[Any], tuned: Callable[..., TunedModel], tmp_path: Path) -> None:
    count = 1 if isinstance(texts[0], str) else 2
    ours = tuned(family, replace(classification.TASK, labels=("bad", "good", "so so"), texts=count))
    assert export_tuned(ours, tmp_path / "theirs").endswith("ForSequenceClassification")
    expected = ours.predict(texts)
    same(expected, their_scores(tmp_path / "theirs", texts))
    back = import_tuned(tmp_path / "theirs", tmp_path / "ours")
    assert back.task().labels == ours.task().labels and back.declared.order is ours.declared.order
    for again in (back, TunedModel.load(tmp_path / "ours")):
        assert again.predict(texts) == expected
    card = (tmp_path / "ours" / "card.md").read_text(encoding="utf-8")
    assert "ForSequenceClassification" in card and "leaves texts as they are" not in card


QUESTIONS = [{"question": "where is the box?", "context": text} for text in TEXTS]
CHOICES_OF = [{"context": text, "choices": ["some bread", "the letter near the river", "苹果"]} for text in TEXTS]
NUMBER = {similarity.TASK: regression.TASK}  # config.json does not tell them apart


@pytest.mark.parametrize(
    ("task", "items", "architecture", "problem"),
    [
        (replace(multi_label.TASK, labels=("sad", "glad", "mad"), texts=1), TEXTS, "SequenceClassification", "multi_label_classification"),
        (similarity.TASK, PAIRS, "SequenceClassification", "regression"),
        (multiple_choice.TASK, CHOICES_OF, "MultipleChoice", None),
        (qa.TASK, QUESTIONS, "QuestionAnswering", None),
    ],
    ids=["multi-label", "similarity", "multiple-choice", "qa"],
)
def test_other_tasks_go_out_and_come_back(
    task: Task, items: list[Any], architecture: str, problem: str | None, tuned: Callable[..., TunedModel], tmp_path: Path
) -> None:
    ours = tuned("bert", task)
    assert export_tuned(ours, tmp_path / "theirs") == f"BertFor{architecture}"
    config = json.loads((tmp_path / "theirs" / "config.json").read_text(encoding="utf-8"))
    assert config.get("problem_type") == problem
    loaded = getattr(transformers, f"AutoModelFor{architecture}").from_pretrained(tmp_path / "theirs").state_dict()
    own = {name: value for name, value in loaded.items() if not name.startswith("bert.")}
    assert sorted(tuple(value.shape) for value in own.values()) == [(len(own_of(ours)),), (len(own_of(ours)), 32)]
    assert torch.equal(next(value for value in own.values() if value.ndim == 2), own_of(ours))
    back = import_tuned(tmp_path / "theirs", tmp_path / "ours")
    assert back.task().kind == NUMBER.get(task, task).kind
    assert back.predict(items) == ours.predict(items)


def own_of(tuned: TunedModel) -> Tensor:
    (name,) = tuned.model.heads
    weight: Tensor = tuned.model.head(name).output.weight.detach()  # type: ignore[union-attr]
    return weight


def test_a_number_from_gpt2(miniature: Callable[..., Any], tokenizer_for: Callable[[Any], Any], tmp_path: Path) -> None:
    """Its class has no bias, where a number of ours begins with one; and its tokenizer does not end a text, where our rows do."""
    recipe, bridge = miniature("gpt2", length=128), bridge_of("gpt2")
    tokenizer, head = tokenizer_for(recipe), bridge.tasks[0]
    config = config_of(recipe, bridge, vocabulary=tokenizer.size, tokenizer=tokenizer) | head_config(head, SentenceRegression(), ())
    theirs = transformers.GPT2ForSequenceClassification(transformers.AutoConfig.for_model(**config)).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    tokenizer.save(tmp_path / "theirs")
    ours = import_tuned(tmp_path / "theirs", tmp_path / "ours")
    given = torch.tensor([[3, 9, 17, 30, 21]])
    with torch.no_grad():
        states = ours.model.states(Batch(tokens=given, order=ours.declared.order)).last
        assert float((ours.model.head("regression").logits(states[:, -1]) - theirs(given).logits).abs().max()) < 1e-5
    assert "leaves texts as they are" in (tmp_path / "ours" / "card.md").read_text(encoding="utf-8")


def test_a_tagger_goes_out_and_comes_back(tuned: Callable[..., TunedModel], tmp_path: Path) -> None:
    ours = tuned("bert", replace(ner.TASK, labels=LABELS))
    assert export_tuned(ours, tmp_path / "theirs") == "BertForTokenClassification"
    model = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "theirs").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    for text, answer in zip(TEXTS, ours.predict(TEXTS), strict=True):
        encoded = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            best = model(**encoded).logits[0].argmax(-1).tolist()
        words = encoded.word_ids()
        first = [place for place, word in enumerate(words) if word is not None and word != words[place - 1]]
        assert answer["tags"] == [model.config.id2label[best[place]] for place in first]
    assert import_tuned(tmp_path / "theirs", tmp_path / "ours").predict(TEXTS) == ours.predict(TEXTS)


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_a_checkpoint_that_transformers_saved(
    family: str, miniature: Callable[..., Any], tokenizer_for: Callable[[Any], Any], tmp_path: Path
) -> None:
    recipe, bridge = miniature(family, length=128), bridge_of(family)
    tokenizer, head = tokenizer_for(recipe), next(head for head in bridge.tasks if TokenLabelling in head.parts)
    part = TokenLabelling(labels=LABELS)
    config = config_of(recipe, bridge, vocabulary=tokenizer.size, tokenizer=tokenizer) | head_config(head, part, LABELS)
    theirs = getattr(transformers, head.architecture)(transformers.AutoConfig.for_model(**config)).eval()
    theirs.save_pretrained(tmp_path / "theirs")
    tokenizer.save(tmp_path / "theirs")
    assert is_task_folder(tmp_path / "theirs")
    ours = import_tuned(tmp_path / "theirs", tmp_path / "ours")
    assert ours.task() == replace(ner.TASK, labels=LABELS)
    given = torch.tensor([[3, 9, 17, 30, 21, 2]])
    with torch.no_grad():
        expected = theirs(given).logits
        found = ours.model.head("ner").logits(ours.model.states(Batch(tokens=given)).last)
    assert float((found - expected).abs().max()) < 1e-5
    assert len(ours.predict(TEXTS)) == len(TEXTS)
    assert export_tuned(ours, tmp_path / "again") == head.architecture
    written, first = (read_weights(tmp_path / folder / "model.safetensors") for folder in ("again", "theirs"))
    assert set(written) == set(first) and all(torch.equal(written[name], value) for name, value in first.items())
    below = import_folder(tmp_path / "theirs", tmp_path / "below")
    assert any(head.architecture in note for note in below.notes)
    with torch.no_grad():
        assert torch.equal(below.model.eval().encode(Batch(tokens=given)).last, ours.model.states(Batch(tokens=given)).last)
    if head.encoder_alone:
        with pytest.raises(PlumeError, match="encoder alone"):
            export(below.model, below.tokenizer, tmp_path / "half")


def test_low_rank_changes_are_folded_in(tuned: Callable[..., TunedModel], tmp_path: Path) -> None:
    task = replace(classification.TASK, labels=("bad", "good"), texts=1)
    ours = tuned("bert", task, LowRankAdapters())
    with torch.no_grad():
        for name, parameter in ours.model.named_parameters():
            if name.endswith(".up"):
                parameter.normal_(std=0.5)
    before = ours.predict(TEXTS)
    export_tuned(ours, tmp_path / "theirs")
    same(before, their_scores(tmp_path / "theirs", TEXTS))
    assert ours.predict(TEXTS) == before, "exporting leaves the model as it was"
    frozen = tuned("bert", task, LinearProbe())
    with pytest.raises(PlumeError, match="--mode probe"):
        export_tuned(frozen, tmp_path / "none")
    assert not (tmp_path / "none").exists()
