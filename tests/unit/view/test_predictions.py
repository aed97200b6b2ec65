"""Predictions by layer: the last layer is what the model says elsewhere, and earlier ones are read as transformers' states would be."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from plume.core.errors import PlumeError
from plume.model.use.abilities import Abilities
from plume.model.use.language_model import LanguageModel
from plume.model.use.writers import DecoderWriter, SpanWriter
from plume.recipes import _catalog as catalog
from plume.view.recording.asking import AskAtMask, AskDecoder, AskedPlace, AskInBlank, AskNext, asking_for
from plume.view.recording.predictions import predictions

TEXT = "The old captain paints the lighthouse near the river."
SILENT = ("deepmoji",)  # predict no tokens
WRITERS = ("cove", "skip-thought", "pegasus", "transformer")  # what they write is another text


def language(model: LanguageModel) -> str | None:
    return "en" if model.model.languages is not None else None


@pytest.mark.parametrize("family", [one for one in catalog.networks() if one not in (*SILENT, *WRITERS)])
def test_last_layer_is_the_model(family: str, language_model: Callable[[str], LanguageModel]) -> None:
    model = language_model(family)
    can, asking = model.abilities, asking_for(model.abilities)
    found = predictions(model, TEXT, language=language(model))
    assert found.probability.shape == (len(found.places), len(found.layers), 5)
    assert found.layers[-1] >= 1 and np.all(np.diff(found.probability, axis=2) <= 1e-7)
    own = sum(math.log(one) for one in found.right[:, -1].tolist() if one >= 0)
    if isinstance(asking, AskNext) or (isinstance(asking, AskAtMask) and can.masked()):
        assert own == pytest.approx(model.score(TEXT, language=language(model))[0].log_probability, rel=1e-4)
    else:
        asked = AskedPlace(frame=can.frame(can.tokenizer.encode([TEXT])[0]), place=3, language=None)
        *_, (_, _, last) = asking.ask([asked])
        assert torch.allclose(last[0], _by_writer(can, asking, asked), atol=1e-9)


@torch.inference_mode()
def _by_writer(can: Abilities, asking: object, asked: AskedPlace) -> torch.Tensor:
    """The same from what writes or fills."""
    frame, place = list(asked.frame), asked.place
    if isinstance(asking, AskAtMask):  # XLNet: the query stream where the blank comes last
        hidden = [can.mask if number == place else token for number, token in enumerate(frame)]
        from plume.model.use.blanks import at_blanks

        head, states = at_blanks(can, np.array([hidden]), np.array([len(frame)]), np.array([[place]]))
        return head.logits(states[0, 0]).log_softmax(-1)
    if isinstance(asking, AskInBlank):
        frame[place] = can.mask
        kind = can.spans()
        assert kind is not None
        return SpanWriter(can.model, can.head(kind), can.rows([frame]), [place], can.start).first()[0].log_softmax(-1)
    assert isinstance(asking, AskDecoder)
    head, name = can.head(asking.kind), type(asking.kind.noise.target).__name__
    before, position = [can.start, *frame[:place]], None
    sentinels = can.tokenizer.format.sentinel_tokens() if name == "SpansAfterSentinels" else []
    mask = can.tokenizer.id(sentinels[0]) if sentinels else can.mask
    assert mask is not None
    if name == "SpansAfterSentinels":
        before = [can.start, mask]
    elif name == "TheSpan":
        before, position = frame[place - 1 : place], [place - 1]
    frame[place] = mask
    return DecoderWriter(can.model, head, can.rows([frame]), can.rows([before]), position=position).first()[0].log_softmax(-1)


@pytest.mark.parametrize("family", WRITERS)
def test_decoder_after_its_source(family: str, language_model: Callable[[str], LanguageModel]) -> None:
    model = language_model(family)
    found = predictions(model, "my sister", written="the letter near the river")
    assert found.source and not found.hides
    own = sum(math.log(one) for one in found.right[:, -1].tolist() if one >= 0)
    assert own == pytest.approx(model.score("the letter near the river", source="my sister")[0].log_probability, rel=1e-4)
    assert len(predictions(model, "my sister").places) >= 1  # what it writes by itself


@pytest.mark.parametrize("family", SILENT)
def test_no_head(family: str, language_model: Callable[[str], LanguageModel]) -> None:
    with pytest.raises(PlumeError, match="no head that predicts tokens"):
        predictions(language_model(family), TEXT)


@pytest.mark.parametrize(("family", "residual"), [("gpt2", True), ("gpt", False), ("t5", True), ("bert", False), ("ctrl", True)])
def test_final_norm_is_for_blocks_that_have_theirs_in_front(
    family: str, residual: bool, language_model: Callable[[str], LanguageModel]
) -> None:
    """By hand: run the first block alone, then the norm of the whole stack, then the head."""
    model = language_model(family).model
    stack = model.decoder if family == "t5" else model.stack
    assert (stack.final_norm is not None) is residual
    states = torch.randn(1, 4, stack.part.width, dtype=torch.float64)
    first, last = stack.as_last([states, states])
    assert torch.equal(last, states) and torch.equal(first, states) is (not residual)
    if residual:
        by_hand = torch.nn.functional.layer_norm(
            states, states.shape[-1:], stack.final_norm.weight, getattr(stack.final_norm, "bias", None)
        )
        assert family == "t5" or torch.allclose(first, by_hand, atol=1e-4)


def test_as_transformers_states(language_model: Callable[[str], LanguageModel], tmp_path) -> None:
    """GPT-2 exported: lm_head(ln_f(hidden_states[i])) is what layer i says."""
    transformers = pytest.importorskip("transformers")
    from plume.hf.export import export

    model = language_model("gpt2")
    export(model.model, model.tokenizer, tmp_path / "hf")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf", dtype=torch.float64).eval()
    can = model.abilities
    ids = can.tokenizer.encode([TEXT])[0]
    with torch.no_grad():
        states = theirs(torch.tensor([[can.tokenizer.separator, *ids]]), output_hidden_states=True).hidden_states
        wanted = [theirs.lm_head(theirs.transformer.ln_f(one))[0, 3].log_softmax(-1) for one in states[:-1]]
        wanted.append(theirs.lm_head(states[-1])[0, 3].log_softmax(-1))
    found = {layer: scores[0] for _, layer, scores in asking_for(can).ask([AskedPlace(frame=ids, place=3)])}
    assert list(found) == list(range(len(wanted)))
    for layer, scores in enumerate(wanted):
        assert torch.allclose(found[layer], scores, atol=1e-6), layer


def test_blanks_stay_hidden(language_model: Callable[[str], LanguageModel]) -> None:
    model = language_model("bert")
    found = predictions(model, "The cat finds ___ near the river.")
    place = found.tokens.index("[MASK]")
    which = found.places.index(place)
    assert (found.right[which] == -1).all() and (found.rank[which] == 0).all()
    fills = model.fill("The cat finds [MASK] near the river.")[0]
    assert fills[0].probability == pytest.approx(float(found.probability[which, -1].max()), rel=1e-4)


def test_elmo_reads_layers_that_are_added_up(language_model: Callable[[str], LanguageModel]) -> None:
    assert predictions(language_model("elmo"), TEXT).layers == [1, 2]
    ulmfit = predictions(language_model("ulmfit"), TEXT)
    assert ulmfit.layers == [language_model("ulmfit").recipe.network.depth]
