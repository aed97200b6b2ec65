"""Hugging Face directories: transformers loads what we write with the same numbers, and we read back the same bits."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import plume as library
from plume.core.batch import Batch
from plume.core.part import replace
from plume.model.checkpoint import save_model
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog
from plume.text.known_languages import Languages

FAMILIES = [
    "bert",
    "bert-wwm",
    "roberta",
    "roberta-wwm",
    "albert",
    "electra",
    "gpt",
    "gpt2",
    "ernie",
    "xlm",
    "ctrl",
    "mpnet",
    "xlnet",
    "transformer",
    "bart",
    "pegasus",
    "t5",
]
READ_BACK_AS_BERT = ["spanbert", "structbert", "unilm"]  # written as BERT, which has no place for one of their heads or their other orders
HEADS = {
    "masked_lm": "AutoModelForMaskedLM",
    "causal_lm": "AutoModelForCausalLM",
    "replaced_token_detection": "AutoModelForPreTraining",
    "masked_permuted_lm": "AutoModelForMaskedLM",
    "permuted_lm": "AutoModelForCausalLM",
}
TEXTS = ["The tired sailor paints the lighthouse.", "北京大学的学生喜欢自然语言。", "A bird, 小猫 and two apples!"]


@pytest.fixture
def model_of(
    miniature: Callable[..., Any], tokenizer_for: Callable[..., Any], tmp_path: Path
) -> Callable[[str], tuple[Path, LanguageModel]]:
    def make(family: str) -> tuple[Path, LanguageModel]:
        recipe = miniature(family)
        recipe = replace(recipe, network=replace(recipe.network, feed_forward=4 * recipe.network.width))  # as GPT's must be
        tokenizer = tokenizer_for(recipe)
        model = recipe.assembly.build(recipe, vocabulary=tokenizer.size)
        model.initialise(3)
        if recipe.languages:
            model.languages = Languages.named(["en", "zh"])
        save_model(tmp_path / family, model, tokenizer)
        return tmp_path / family, library.load(tmp_path / family)

    return make


def inputs_of(tokenizer: Any, text: str, family: str) -> Any:
    inputs = tokenizer(text, return_tensors="pt")
    if family == "xlm":  # no tokenizer says languages; one of the texts is Chinese
        inputs["langs"] = torch.full_like(inputs["input_ids"], int(text == TEXTS[1]))
    return inputs


@pytest.mark.parametrize("family", FAMILIES + READ_BACK_AS_BERT)
def test_transformers_loads_it_with_the_same_numbers(family: str, model_of: Callable[..., Any], tmp_path: Path) -> None:
    folder, ours = model_of(family)
    library.export_hf(folder, out=tmp_path / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    body = transformers.AutoModel.from_pretrained(tmp_path / "hf").eval()
    body = body.encoder if body.config.is_encoder_decoder else body  # the side that embeds
    for text in TEXTS:
        inputs = inputs_of(tokenizer, text, family)
        hidden = ours.hidden(text)[0]
        assert hidden.tokens == tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
        with torch.no_grad():
            theirs = body(**inputs, output_hidden_states=True).hidden_states
        for mine, other in zip(hidden.layers, theirs, strict=True):
            np.testing.assert_allclose(mine, other[0].numpy(), atol=2e-5)


@pytest.mark.parametrize("family", FAMILIES + READ_BACK_AS_BERT)
def test_heads_give_the_same_logits(family: str, model_of: Callable[..., Any], tmp_path: Path) -> None:
    folder, ours = model_of(family)
    library.export_hf(folder, out=tmp_path / "hf")
    bridge = catalog.bridge(ours.recipe)
    names = {objective.name for objective in ours.recipe.objectives}
    for name in names & HEADS.keys():
        second = bridge is not None and bridge.second is not None and name == "masked_lm"
        source = tmp_path / "hf" / "generator" if second else tmp_path / "hf"
        theirs, report = getattr(transformers, HEADS[name]).from_pretrained(source, output_loading_info=True)
        assert not report["missing_keys"]
        inputs = inputs_of(transformers.AutoTokenizer.from_pretrained(source), TEXTS[0], family)
        segment = inputs.get("langs", inputs.get("token_type_ids"))
        batch = Batch(tokens=inputs["input_ids"], order=ours.abilities.reading_order, segment=segment)
        with torch.no_grad():
            states = ours.model.token_states(batch) if name != "replaced_token_detection" else ours.model.encode(batch)
            np.testing.assert_allclose(ours.model.head(name).logits(states.last), theirs.eval()(**inputs).logits, atol=2e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_import_of_an_export_is_bit_equal(family: str, model_of: Callable[..., Any], tmp_path: Path) -> None:
    folder, ours = model_of(family)
    library.export_hf(folder, out=tmp_path / "hf")
    back = library.import_hf(tmp_path / "hf", out=tmp_path / "back")
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "back" / "model.safetensors").read_bytes()
    assert (folder / "tokenizer.json").read_bytes() == (tmp_path / "back" / "tokenizer.json").read_bytes()
    np.testing.assert_array_equal(ours.embed(TEXTS), back.embed(TEXTS))
    library.export_hf(tmp_path / "back", out=tmp_path / "again")
    for file in (tmp_path / "hf").rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / "again" / file.relative_to(tmp_path / "hf")).read_bytes(), file


def test_bin_files_and_bare_models(model_of: Callable[..., Any], tmp_path: Path) -> None:
    """A .bin of the bare class, with TensorFlow's old names for the norms and vocab.txt instead of tokenizer.json."""
    folder, ours = model_of("bert")
    library.export_hf(folder, out=tmp_path / "hf")
    bare = transformers.BertModel.from_pretrained(tmp_path / "hf")
    old = {
        k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
        for k, v in bare.state_dict().items()
    }
    (tmp_path / "hf" / "model.safetensors").unlink()
    torch.save(old, tmp_path / "hf" / "pytorch_model.bin")
    vocabulary = ours.tokenizer.backend.get_vocab()
    (tmp_path / "hf" / "tokenizer.json").unlink()
    (tmp_path / "hf" / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=lambda token: vocabulary[token])) + "\n", encoding="utf-8")
    back = library.import_hf(tmp_path / "hf", out=tmp_path / "back")
    assert back.recipe.objectives == () and back.recipe.pooler
    np.testing.assert_array_equal(ours.embed(TEXTS), back.embed(TEXTS))
    with pytest.raises(library.PlumeError, match="cannot fill"):
        back.fill("a [MASK]")


def test_an_electra_discriminator_or_generator_alone(model_of: Callable[..., Any], tmp_path: Path) -> None:
    folder, ours = model_of("electra")
    library.export_hf(folder, out=tmp_path / "hf")
    generator = library.import_hf(tmp_path / "hf" / "generator", out=tmp_path / "generator")
    assert generator.fill("the [MASK] sailor", top=1)[0][0] == ours.fill("the [MASK] sailor", top=1)[0][0]
    shutil.rmtree(tmp_path / "hf" / "generator")
    alone = library.import_hf(tmp_path / "hf", out=tmp_path / "alone")
    np.testing.assert_array_equal(alone.embed(TEXTS), ours.embed(TEXTS))
    assert [objective.name for objective in alone.recipe.objectives] == ["replaced_token_detection"]
