"""Soft tokens and prefixes: what learns, what is saved, what is refused; the same bits after a stop."""

from __future__ import annotations

import json
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

import plume
import plume.train.loop as loops
from plume.core.batch import Batch, Order
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.checkpoint import read_weights
from plume.nn.prefix import Prefix
from plume.nn.soft_tokens import SoftEncoder, SoftTokens
from plume.nn.stack import Stack
from plume.prompting.options import prompt_from_options
from plume.prompting.prompt import go_on
from plume.prompting.soft import placed_around
from plume.train.optimizer import make_optimizer
from plume.tuning.adapting.soft import SoftPrompting
from plume.tuning.adapting.ways.prefix import PrefixTuning
from plume.tuning.exchange import export_tuned
from plume.tuning.options import start_from_options
from plume.tuning.prompts.prompted import Prompted
from plume.tuning.tuned import TunedModel

TEMPLATE = "{text} near ___."
LABELS = "0=the river,1=home"
TEXTS = ["the cat finds a wooden box", "my sister paints", "rainy"]
SOFT = ("p-tuning", "soft", "prefix")
KINDS = ["bert", "xlnet", "t5"]
MORE = ["gpt2", "transformer-xl", "unilm", "glm", "bart", "electra", "mpnet", "albert", "ulmfit"]


@pytest.fixture(scope="module")
def model(body_of: Any) -> Callable[[str], Path]:
    return lambda family: body_of(family, 48)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, path = random.Random(2), tmp_path_factory.mktemp("data") / "few.tsv"
    rows = [
        f"{source.choice(['the cat', 'a letter'])} {word}\t{label}\n" for label, word in enumerate(["bread", "apples"]) for _ in range(8)
    ]
    path.write_text("".join(rows), encoding="utf-8")
    return path


def prompted(model: Path, few: Path, out: Path, method: str, **options: Any) -> TunedModel:
    given: dict[str, Any] = {"template": TEMPLATE, "labels": LABELS, "epochs": 1.0, "quiet": True, "length": 40, "tokens": 3}
    prompt_from_options(model, train=few, out=out, method=method, **(given | options))
    return TunedModel.load(out)


@pytest.mark.parametrize("method", SOFT)
@pytest.mark.parametrize("family", KINDS + [pytest.param(family, marks=pytest.mark.slow) for family in MORE])
def test_every_kind_of_model_learns_saves_and_loads(family: str, method: str, model: Any, few: Path, tmp_path: Path) -> None:
    if (family, method) == ("ulmfit", "prefix"):
        with pytest.raises(PlumeError, match="keys of attention, and ulmfit has none"):
            prompted(model(family), few, tmp_path / "out", method)
        return
    tuned = prompted(model(family), few, tmp_path / "out", method)
    before = dict(plume.load(model(family)).model.named_parameters())
    moved = {name for name, value in tuned.model.body.named_parameters() if not torch.equal(value, before[name])}
    assert bool(moved) == (method == "p-tuning"), "only P-tuning moves the model's own weights"
    answers = tuned.predict(TEXTS)
    tuned.save(tmp_path / "again")
    assert TunedModel.load(tmp_path / "again").predict(TEXTS) == answers
    alone = [one for text in TEXTS for one in tuned.predict([text])]
    assert [one["score"] for one in alone] == pytest.approx([one["score"] for one in answers], abs=2e-6)


@pytest.mark.parametrize(("method", "settings"), [("p-tuning", ["encoder=mlp"]), ("soft", ["start=random"]), ("prefix", ["hidden=8"])])
def test_what_was_stopped_ends_in_the_same_bits(
    method: str, settings: list[str], model: Any, few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompted(model("bert"), few, tmp_path / "whole", method, epochs=3.0, settings=settings)
    step = loops.Loop._step

    def told(self: Any, given: Any, position: Any, *rest: Any, **more: Any) -> Any:
        if position.spent.steps == 2:
            signal.raise_signal(signal.SIGTERM)
        return step(self, given, position, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(loops.Loop, "_step", told)
        prompted(model("bert"), few, tmp_path / "cut", method, epochs=3.0, settings=settings)
    assert go_on(tmp_path / "cut", quiet=True).stopped_by is None
    whole, cut = (read_weights(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert whole.keys() == cut.keys() and all(torch.equal(whole[name], cut[name]) for name in whole)


@pytest.mark.parametrize("length", [None, torch.tensor([7, 4])])
def test_a_prefix_is_seen_wherever_states_are_read(length: Any, language_model: Any) -> None:
    """Of the last block only what is asked is computed: it must see the prefix as the whole row does, in every order."""
    for family, order in (("bert", Order.FULL), ("gpt2", Order.CAUSAL), ("transformer-xl", Order.CAUSAL), ("t5", Order.FULL)):
        body = language_model(family).model
        batch = Batch(tokens=torch.arange(14).view(2, 7) + 5, length=length, order=order)
        plain = body.encode(batch).last
        top = PrefixTuning(prefix=Prefix(length=3)).on_top(body)
        top.modules["prefix"].double()
        try:
            whole = body.encode(batch).last
            read = torch.tensor([[3, 1], [2, 0]])
            asked = body.encode(replace(batch, read=read)).last
            looked = body.encode(batch, record_attention=True).attention
        finally:
            for stack in body.modules():
                if isinstance(stack, Stack):
                    stack.prefix = None
        assert not torch.allclose(plain, whole)
        assert all(one.shape[-2:] == (7, 7) and float(one[0, 0, 6].detach().sum()) < 1 for one in looked), "the rest goes to the prefix"
        assert torch.allclose(asked, whole.gather(1, read[:, :, None].expand(-1, -1, whole.shape[2])), atol=1e-12)
        assert torch.equal(body.encode(batch).last, plain), "what was put in front is gone again"


def test_soft_tokens_are_exported_as_words_of_their_own(model: Any, few: Path, tmp_path: Path) -> None:
    tuned = prompted(model("bert"), few, tmp_path / "out", "soft", labels="0=the,1=a")
    export_tuned(tuned, tmp_path / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(tmp_path / "hf").eval()
    assert theirs.config.vocab_size == len(tokenizer) == tuned.tokenizer.size + 3
    said = tokenizer(f"<soft_0><soft_1><soft_2>{TEXTS[1]} near [MASK].", return_tensors="pt")
    with torch.no_grad():
        logits = theirs(**said).logits[0, (said["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0, 0]]
    task = tuned.tasks[0]
    assert isinstance(task, Prompted)
    tokens = [one.said.word for one in task.layout(tuned.tokenizer, length=40).fillers]
    assert all(len(one) == len(tokens[0]) == 1 for one in tokens), "one mask says it"
    expected = logits[torch.tensor(tokens)[:, 0]].softmax(-1).tolist()
    assert list(tuned.predict([TEXTS[1]])[0]["scores"].values()) == pytest.approx(expected, abs=2e-5)


def test_a_prefix_has_no_place_in_transformers_and_an_ordinary_head_may_read_it(model: Any, few: Path, tmp_path: Path) -> None:
    tuned = prompted(model("bert"), few, tmp_path / "words", "prefix")
    with pytest.raises(PlumeError, match="no place for one"):
        export_tuned(tuned, tmp_path / "hf")
    headed = prompted(model("bert"), few, tmp_path / "head", "prefix", settings=["head=true"], template=())
    assert "heads.classification.output.weight" in dict(headed.model.named_parameters())
    start_from_options(
        model("bert"), task="classification", train=str(few), out=tmp_path / "tuned", mode="prefix", adapt=["prefix.length=3"], epochs=1.0, quiet=True
    )  # fmt: skip
    assert TunedModel.load(tmp_path / "tuned").declared.adaptation.mode == "prefix"


def test_soft_tokens_learn_at_a_rate_of_their_own(model: Any, few: Path, tmp_path: Path) -> None:
    tuned = prompted(model("bert"), few, tmp_path / "out", "p-tuning", settings=["factor=7.0"])
    groups = make_optimizer(tuned.model, tuned.model.body.recipe.training).param_groups
    soft = {id(one) for one in tuned.model.top.modules["soft"].parameters()}
    assert {group["scale"] for group in groups if any(id(one) in soft for one in group["params"])} == {7.0}
    assert {group["scale"] for group in groups if not any(id(one) in soft for one in group["params"])} == {1.0}
    frozen = prompted(model("bert"), few, tmp_path / "frozen", "p-tuning", settings=["frozen=true"])
    assert all(not one.requires_grad for one in frozen.model.body.parameters())


def test_vectors_start_from_words_and_a_network_ties_them() -> None:
    token = torch.nn.Embedding(9, 6)
    plain = SoftTokens(count=5, start=(4, 2)).build(token, 6)
    assert torch.equal(plain(), token.weight[[4, 2, 4, 2, 4]]) and plain.flops() == 0
    for encoder in (SoftEncoder.MLP, SoftEncoder.LSTM):
        made = SoftTokens(count=5, encoder=encoder).build(token, 6)
        before = made()
        with torch.no_grad():
            made.table[4] += 1
        others = (made() - before).abs().amax(1)[:4]
        assert made.flops() > 0 and bool((others > 0).all()) == (encoder is SoftEncoder.LSTM), "one vector moves those beside it"


def test_where_tokens_stand() -> None:
    assert placed_around("{text_b}? ___, {text}", 4) == "{soft:2}{text_b}{soft:2}? ___, {text}"
    assert placed_around("{text}", 4) == "{soft:4}{text}", "the blank is in the text"
    assert placed_around("{text} ___", 1) == "{soft:1}{text} ___"


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("pattern", {"template": "{soft:3}{text} near ___.", "tokens": None}, "learns none: take p-tuning or soft"),
        ("soft", {"template": "{soft:2}{text} near ___."}, "has 2 tokens that are learned and --tokens says 3"),
        ("soft", {"tokens": -1}, "--tokens -1"),
        ("prefix", {"tokens": 0}, "length of at least 1"),
        ("soft", {"tokens": 60}, "leave no room for the text in 40 tokens"),
        ("soft", {"tokens": None, "settings": ["frozen=true"]}, "it is a setting of p-tuning"),
    ],
)
def test_what_cannot_be_is_refused(method: str, options: dict[str, Any], said: str, model: Any, few: Path, tmp_path: Path) -> None:
    with pytest.raises(PlumeError, match=said):
        prompted(model("bert"), few, tmp_path / "out", method, **options)
    assert not (tmp_path / "out").exists()


def test_words_have_no_vectors_that_learn(model: Any) -> None:
    body = plume.load(model("bert")).model
    assert (
        SoftPrompting(learns_body=True).own_rate is None
        and SoftPrompting().on_top(body).told(Batch(tokens=torch.zeros(1, 1))).extra is not None
    )


@pytest.mark.parametrize("method", ["soft", "prefix"])
def test_choices_in_the_text_and_pairs(method: str, model: Any, tmp_path: Path) -> None:
    choices = [{"context": "the cat #idiom# a box", "choices": ["finds", "paints"], "answer": number % 2} for number in range(6)]
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(one) + "\n" for one in choices), encoding="utf-8")
    options: dict[str, Any] = {"labels": None, "template": "{text}", "task": "multiple-choice"}
    answers = prompted(model("bert"), tmp_path / "choices.jsonl", tmp_path / "chosen", method, **options).predict(choices[:1])
    assert answers[0]["choice"] in choices[0]["choices"]
    pairs = "text_a\ttext_b\tlabel\n" + "".join(f"the cat\ta bird\t{number % 2}\n" for number in range(6))
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    options = {"template": "{text} ___ {text_b}", "task": "paraphrase", "labels": "0=the,1=a"}
    assert prompted(model("bert"), tmp_path / "pairs.tsv", tmp_path / "paired", method, **options).predict([("the cat", "a bird")])
