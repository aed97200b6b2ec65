"""What is special about the encoder–decoders: their batches, their Hugging Face directories, how they write, fill and score."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import plume as library
from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.model.checkpoint import save_model
from plume.model.recipe import Recipe
from plume.model.use.generate import write
from plume.model.use.language_model import LanguageModel
from plume.model.use.rows import rows
from plume.model.use.sampling import Sampling
from plume.model.use.searching import Wanted
from plume.model.use.writers import DecoderWriter
from plume.noise.spans import OneSpan
from plume.objectives.document_rotation import document_rotation
from plume.objectives.masked_seq2seq import masked_seq2seq
from plume.objectives.sentence_permutation import sentence_permutation
from plume.objectives.span_corruption import span_corruption
from plume.objectives.text_infilling import text_infilling
from plume.objectives.token_deletion import token_deletion
from plume.objectives.token_masking import token_masking
from plume.recipes import _catalog as catalog
from plume.recipes.bart import BART
from plume.recipes.t5 import UNTIED

FAMILIES = ["transformer", "bart", "pegasus", "t5", "t5-1.1"]
TEXT = "The tired sailor paints the lighthouse. 北京大学的学生喜欢自然语言。"


@pytest.fixture(scope="module")
def recipe_of(miniature: Callable[..., Recipe]) -> Callable[[str], Recipe]:
    def make(family: str) -> Recipe:
        if family != "t5-1.1":
            return miniature(family)
        recipe = miniature("t5")
        network = replace(recipe.network, gated=True, key_width=6, activation=catalog.recipe("t5/v1.1-base").network.activation)
        return replace(recipe, network=network, objectives=(span_corruption(head=UNTIED),))

    return make


@pytest.fixture
def model_of(recipe_of: Any, tokenizer_for: Any, built: Any, tmp_path: Path) -> Callable[[str], tuple[Path, LanguageModel]]:
    def make(family: str) -> tuple[Path, LanguageModel]:
        recipe = recipe_of(family)
        tokenizer = tokenizer_for(recipe)
        save_model(tmp_path / family, built(recipe, vocabulary=tokenizer.size).float(), tokenizer)
        return tmp_path / family, library.load(tmp_path / family)

    return make


# Hugging Face


@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_generates_the_same_text(family: str, model_of: Any, tmp_path: Path) -> None:
    """Greedily, from the exported directory alone: start, end and padding tokens are in its config.json."""
    folder, ours = model_of(family)
    library.export_hf(folder, out=tmp_path / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    theirs, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf", output_loading_info=True)
    fixed = {key for key in report["missing_keys"] if key.endswith("embed_positions.weight")}  # PEGASUS' sines, which it makes itself
    assert set(report["missing_keys"]) == fixed and not report["unexpected_keys"]
    assert family == "pegasus" or not fixed
    can = ours.abilities
    inputs = tokenizer(TEXT, return_tensors="pt")
    assert inputs["input_ids"][0].tolist() == can.frame(ours.tokenizer.encode([TEXT])[0])
    written = theirs.eval().generate(**inputs, max_new_tokens=12, do_sample=False, num_beams=1)[0].tolist()
    assert written[0] == can.start
    kind = can.decoder()
    writer = DecoderWriter(ours.model, can.head(kind), rows(inputs["input_ids"].tolist()), rows([[can.start]]))
    found = [token for _, token in write(writer, lines=[Wanted(room=12)], stop=can.end, sampling=Sampling(greedy=True))]
    assert [token for token in written[1:] if token != can.end] == found
    assert len(found) > 2


@pytest.mark.parametrize("family", FAMILIES)
def test_import_of_an_export_is_bit_equal(family: str, model_of: Any, tmp_path: Path) -> None:
    folder, ours = model_of(family)
    library.export_hf(folder, out=tmp_path / "hf")
    back = library.import_hf(tmp_path / "hf", out=tmp_path / "back")
    assert (folder / "model.safetensors").read_bytes() == (tmp_path / "back" / "model.safetensors").read_bytes()
    np.testing.assert_array_equal(ours.embed([TEXT]), back.embed([TEXT]))
    assert [objective.name for objective in back.recipe.objectives] == [objective.name for objective in ours.recipe.objectives]
    library.export_hf(tmp_path / "back", out=tmp_path / "again")
    for file in (tmp_path / "hf").rglob("*"):
        if file.is_file():
            assert file.read_bytes() == (tmp_path / "again" / file.relative_to(tmp_path / "hf")).read_bytes(), file


@pytest.mark.parametrize("family", FAMILIES)
def test_what_transformers_saves_can_be_imported(family: str, model_of: Any, tmp_path: Path) -> None:
    """Its own files carry buffers and copies that ours do not; a bare model lacks the prefix."""
    folder, ours = model_of(family)
    library.export_hf(folder, out=tmp_path / "hf")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf")
    for name, model in (("whole", theirs), ("bare", transformers.AutoModel.from_pretrained(tmp_path / "hf"))):
        model.save_pretrained(tmp_path / name)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            (tmp_path / name / file).write_bytes((tmp_path / "hf" / file).read_bytes())
        if name == "bare" and family == "t5-1.1":
            continue  # its scores need weights that the bare model lacks
        back = library.import_hf(tmp_path / name, out=tmp_path / f"{name}-back")
        np.testing.assert_array_equal(ours.embed([TEXT]), back.embed([TEXT]))


def test_biases_that_we_cannot_keep_are_not_lost_in_silence(model_of: Any, tmp_path: Path) -> None:
    folder, _ = model_of("bart")
    library.export_hf(folder, out=tmp_path / "hf")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "hf")
    theirs.final_logits_bias += 1.0
    theirs.save_pretrained(tmp_path / "hf")
    with pytest.raises(PlumeError, match="final_logits_bias"):
        library.import_hf(tmp_path / "hf", out=tmp_path / "back")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder_ffn_dim": 7}, "decoder_ffn_dim differ"),
        ({"activation_function": "swish"}, "activation 'swish'"),
        ({"share_encoder_decoder_embeddings": False}, "do not share"),
    ],
)
def test_shapes_that_one_declaration_cannot_say_are_refused(change: dict[str, Any], message: str, model_of: Any, tmp_path: Path) -> None:
    folder, _ = model_of("transformer")
    library.export_hf(folder, out=tmp_path / "hf")
    config = json.loads((tmp_path / "hf" / "config.json").read_text()) | change
    (tmp_path / "hf" / "config.json").write_text(json.dumps(config))
    with pytest.raises(PlumeError, match=message):
        library.import_hf(tmp_path / "hf", out=tmp_path / "back")


# Batches


def texts(tokenizer: Any, tokens: Any, length: Any) -> list[str]:
    length = np.full(len(tokens), tokens.shape[1]) if length is None else length
    return [tokenizer.decode(row[:size], skip_special=False) for row, size in zip(tokens, length, strict=True)]


def test_the_transformer_reads_the_first_side_and_writes_the_second(miniature: Any, reader_for: Any, batch_of: Any) -> None:
    """The corpus' first side is English whatever its languages are called; the decoder starts with the end token."""
    reader = reader_for(miniature("transformer"))
    batch = batch_of(reader)
    for source, fed in zip(
        texts(reader.tokenizer, batch.source.tokens, batch.source.length), texts(reader.tokenizer, batch.tokens, batch.length), strict=True
    ):
        assert source.isascii() and source.endswith("</s>")
        assert not fed.isascii() and fed.startswith("</s>")
    target = batch.labels["translation"]
    end = reader.tokenizer.id("</s>")
    assert (target.value == end).sum() == len(batch.tokens)  # every text is closed


def test_pegasus_asks_for_whole_sentences(miniature: Any, reader_for: Any, batch_of: Any) -> None:
    reader = reader_for(miniature("pegasus"))
    batch = batch_of(reader)
    assert (batch.tokens[:, 0] == reader.tokenizer.id("<pad>")).all()
    sources = texts(reader.tokenizer, batch.source.tokens, batch.source.length)
    assert all("<mask_1>" in source for source in sources)
    for fed in texts(reader.tokenizer, batch.tokens, batch.length):
        assert fed.rstrip()[-1] in ".。"


def test_mass_shows_the_decoder_true_positions(miniature: Any, reader_for: Any, batch_of: Any) -> None:
    reader = reader_for(miniature("mass"), rows=64)
    batch = batch_of(reader)
    target = batch.labels["masked_seq2seq"]
    row, column = np.divmod(target.index, batch.tokens.shape[1])
    place = batch.position[row, column] + 1  # of the token that is predicted
    shown = batch.source.tokens[row, place]
    masked = shown == reader.tokenizer.mask
    assert 0.7 < masked.mean() < 0.9  # 80% of the span show the mask
    assert 0.05 < (shown[~masked] == target.value[~masked]).mean() < 0.95
    length = np.full(len(batch.tokens), batch.source.tokens.shape[1]) if batch.source.length is None else batch.source.length
    assert len(target.value) == np.rint(length / 2).sum()  # half of each row


def test_palm_reads_four_fifths_and_writes_the_rest(miniature: Any, reader_for: Any, batch_of: Any) -> None:
    recipe = miniature("palm")
    assert [kind.during for kind in recipe.kinds] == [(0.0, 0.5), (0.5, 1.0)]
    batch = batch_of(reader_for(recipe, kind=recipe.kinds[1]))
    read = (batch.source.length if batch.source.length is not None else np.full(8, batch.source.tokens.shape[1])) - 2
    written = np.bincount(batch.labels["continuation"].index // batch.tokens.shape[1]) - 1
    assert (np.abs(read - 4 * written) <= 3).all()
    first = batch_of(reader_for(recipe, kind=recipe.kinds[0]))
    assert first.source is None and set(first.labels) == {"masked_lm"}


@pytest.mark.parametrize(
    "objective",
    [text_infilling(), token_deletion(), token_masking(), sentence_permutation(), document_rotation()],
    ids=lambda objective: objective.name,
)
def test_every_noise_of_bart_can_be_had_alone(objective: Any, miniature: Any, reader_for: Any, batch_of: Any) -> None:
    """The decoder always writes the text as it was; what the encoder reads differs from noise to noise."""
    recipe = replace(miniature("bart", length=64), objectives=(objective,))
    reader = reader_for(recipe, rows=40)
    batch = batch_of(reader)
    target = batch.labels[objective.name]
    mask, end, time = reader.tokenizer.mask, reader.tokenizer.separator, batch.tokens.shape[1]
    masks = shorter = moved = 0
    for row in range(len(batch.tokens)):
        text = target.value[target.index // time == row]
        size = batch.source.tokens.shape[1] if batch.source.length is None else batch.source.length[row]
        shown = batch.source.tokens[row, :size]
        assert text[0] == shown[0] == reader.tokenizer.begin and text[-1] == shown[-1] == end
        assert batch.tokens[row, 0] == end and batch.tokens[row, 1] == text[0]
        masks += int((shown == mask).sum())
        shorter += len(text) - size
        moved += int(sorted(shown) == sorted(text) and (shown != text).any())
    rate = masks / len(target.value)
    expected = {
        "text_infilling": 0.02 < rate < 0.15 and shorter > 0.1 * len(target.value),
        "token_deletion": masks == 0 and 0.1 < shorter / len(target.value) < 0.2,
        "token_masking": 0.1 < rate < 0.2 and shorter == 0,
        "sentence_permutation": masks == 0 and shorter == 0 and moved >= 20,
        "document_rotation": masks == 0 and shorter == 0 and moved >= 36,
    }
    assert expected[objective.name], (rate, shorter, moved)


def test_a_decoder_s_objective_needs_a_decoder() -> None:
    with pytest.raises(PlumeError, match="assembly=EncoderDecoder"):
        replace(catalog.recipe("roberta"), objectives=(sentence_permutation(),))


# Writing, filling, scoring


@pytest.mark.parametrize("family", ["transformer", "bart", "pegasus", "t5", "mass", "palm"])
def test_it_writes_greedily_by_beams_and_by_chance(family: str, model_of: Any) -> None:
    _, model = model_of(family)
    for options in ({"greedy": True}, {"beams": 3}, {"seed": 1}):
        first = model.generate(TEXT, max_tokens=6, **options)
        assert isinstance(first, str) and first == model.generate(TEXT, max_tokens=6, **options)
    if catalog.recipe(family).positions.longest is not None:  # more than there are positions for
        model.generate(TEXT, max_tokens=10_000, greedy=True)


@pytest.mark.parametrize("family", ["bart", "pegasus", "t5", "mass", "palm"])
def test_it_fills_blanks(family: str, model_of: Any) -> None:
    _, model = model_of(family)
    found = model.fill("The tired ___ paints the lighthouse.", top=3)
    assert len(found) == 1 and len(found[0]) == 3
    assert len({blank.text for blank in found[0]}) == 3
    assert all(0 <= blank.probability <= 1 for blank in found[0])


def test_a_translator_has_no_blanks_to_fill(model_of: Any) -> None:
    _, model = model_of("transformer")
    with pytest.raises(PlumeError, match=r"cannot fill blanks.*It can embed, generate, score"):
        model.fill("The ___ sailor")


@pytest.mark.parametrize("family", ["transformer", "bart", "pegasus", "t5", "palm", "mass"])
def test_scores_are_the_chain_rule_over_what_it_writes(family: str, model_of: Any) -> None:
    """The sum of what the writer gives each token in turn, the end counted in; BART writes its <s> too."""
    _, model = model_of(family)
    can = model.abilities
    kind = can.decoder()
    ids = model.tokenizer.encode(["a wooden box"])[0]
    answer = can.frame(ids) if family == "bart" else [*ids, can.end]
    source = can.frame(model.tokenizer.encode([TEXT])[0])
    with torch.inference_mode():
        writer = DecoderWriter(model.model, can.head(kind), rows([source]), rows([[can.start]]))
        scores, total = writer.first(), 0.0
        for token in answer:
            total += float(scores[0, token])
            scores = writer.go_on(torch.tensor([token]))
    found = model.score("a wooden box", source=TEXT)[0]
    assert found.tokens == len(answer)
    assert found.log_probability == pytest.approx(total, abs=1e-3)


def unstopped(model: LanguageModel, built: Any) -> LanguageModel:
    """A MASS whose noise never hides the token that closes a text."""
    recipe = replace(model.recipe, objectives=(masked_seq2seq(select=OneSpan()),))
    return LanguageModel(built(recipe, vocabulary=model.tokenizer.size).float(), model.tokenizer)


def test_a_mass_that_never_had_to_stop_is_not_charged_for_the_end(model_of: Any, built: Any) -> None:
    _, model = model_of("mass")
    ends, never = (one.score("a wooden box", source=TEXT)[0] for one in (model, unstopped(model, built)))
    assert never.tokens == len(model.tokenizer.encode(["a wooden box"])[0]) == ends.tokens - 1


@pytest.mark.parametrize("closing", [True, False])
def test_mass_goes_on_from_as_much_as_training_shows(closing: bool, model_of: Any, built: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its share of the whole is hidden, the end counted in; one that never had to stop sees the end, behind as many masks as there is room."""
    _, model = model_of("mass")
    model = model if closing else unstopped(model, built)
    caught: list[DecoderWriter] = []
    monkeypatch.setattr("plume.model.use.writing.write", lambda writer, **_: caught.append(writer) or [])
    model.generate(TEXT, max_tokens=7)
    model.generate(TEXT, max_tokens=2)
    end, mask = model.abilities.end, model.abilities.mask
    ids = [end, *model.tokenizer.encode([TEXT])[0]]
    assert len(ids) > 3
    for writer, room in zip(caught, (7, 2), strict=True):
        hidden = [mask] * min(len(ids), room + 1) if closing else [mask] * room + [end]
        assert writer.source.tokens[0].tolist() == ids + hidden
        assert (writer.prompt[0].tolist(), writer.position) == ([ids[-1]], len(ids) - 1)


def test_mass_fills_every_mask(model_of: Any) -> None:
    """A blank of three masks is three tokens, although the model could stop before."""
    _, model = model_of("mass")
    model.model.head("masked_seq2seq").bias.data[model.abilities.end] += 50.0
    (guesses,) = model.fill("The tired <mask><mask><mask> paints", top=4)
    assert len(guesses) == 4 and all(guess.token for guess in guesses)


def test_sizes_are_those_of_the_papers() -> None:
    assert catalog.recipe("t5/11b").network.heads * catalog.recipe("t5/11b").network.head_width == 128 * 128
    assert catalog.recipe("palm/large").assembly.decoder(catalog.recipe("palm/large").network).depth == 6
    assert BART.noise.select.share == 0.3
    large = catalog.recipe("pegasus/large").noise
    assert (large.select.lowest, large.select.ratio, large.select.noise, large.corrupt.intact) == (0.15, 0.45, 0.2, 0.1)
