"""What a recipe needs of a corpus beyond its text: phrases, languages, labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.corpus import Corpus
from plume.data.lexicon import UnitKind
from plume.data.store import build_stores
from plume.model.checkpoint import save_model
from plume.model.use.language_model import LanguageModel
from plume.recipes import _catalog as catalog
from plume.text.known_languages import Languages
from plume.train.budget import Budget
from plume.train.fitting import PHRASES, find_languages, find_units, refuse_misfit, save_units
from plume.train.pretrain import resume, start
from plume.train.settings import make_settings


@pytest.fixture
def found(corpus: Corpus, cache: Path, tokenizer_for: Any, miniature: Any, tmp_path: Path) -> Any:
    """find_units for a family, in stores of its own."""

    def find(family: str, *, folder: Path = tmp_path, lexicon: Path | None = None) -> Any:
        recipe = miniature(family)
        stores = build_stores(corpus, tokenizer_for(recipe), words=recipe.words, cache=cache)
        given = None if lexicon is None else str(lexicon)
        return stores, *find_units(recipe, stores, tokenizer_for(recipe), corpus=corpus, folder=folder, lexicon=given)

    return find


def test_a_lexicon_marks_both_parts(found: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("wooden box\n自然语言\nold captain\tentity\n", encoding="utf-8")
    stores, entries, words = found("ernie", lexicon=tmp_path / "mine.txt")
    assert len(entries) == 3
    assert words.startswith("2 phrases and 1 entities in the lexicon")
    for store in (stores.train, stores.held_out):
        assert set(store.units) == {"phrase", "entity"}
        joined = store.word_start & ~store.units["phrase"]
        assert joined.any() and not (store.units["phrase"] & ~store.word_start).any()


def test_the_user_is_told_where_a_stage_repeats_the_one_before(found: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("wooden box\n自然语言\n", encoding="utf-8")
    stores, _, words = found("ernie", lexicon=tmp_path / "mine.txt")
    assert np.array_equal(stores.train.units["phrase"], stores.train.units["entity"])
    assert words.startswith("2 phrases and 0 entities") and "the entity stage hides the same phrases again" in words


def test_phrases_are_mined_kept_and_read_again(found: Any, tmp_path: Path) -> None:
    mined, entries, words = found("ernie")
    assert "found in the corpus" in words and len(entries) > 5
    assert "the same phrases again" not in words
    assert {entry.text for entry in entries if entry.kind is UnitKind.ENTITY} >= {"北京大学"}
    assert not np.array_equal(mined.train.units["phrase"], mined.train.units["entity"])
    save_units(tmp_path, entries)
    again, same, _ = found("ernie")
    assert [(entry.text, entry.kind) for entry in same] == [(entry.text, entry.kind) for entry in entries]
    for kind in ("phrase", "entity"):
        assert np.array_equal(mined.train.units[kind], again.train.units[kind])
    (tmp_path / PHRASES).write_text("wooden box\tphrase\n", encoding="utf-8")  # the run's own list counts, whatever it says
    assert len(found("ernie")[1]) == 1


def test_others_need_no_lexicon(found: Any, tmp_path: Path) -> None:
    stores, entries, words = found("bert")
    assert (entries, words, stores.train.units) == ([], None, {})
    save_units(tmp_path, entries)
    assert not (tmp_path / PHRASES).exists()
    with pytest.raises(PlumeError, match="hides no phrases"):
        found("bert", lexicon=tmp_path / "mine.txt")


def test_a_run_writes_its_phrases_and_resumes_with_them(corpus: Corpus, miniature: Any, tmp_path: Path) -> None:
    recipe = replace(miniature("ernie"), tokenizer=replace(miniature("ernie").tokenizer, vocabulary=160))
    settings = make_settings(recipe, corpus=[str(file) for file in corpus.files], budget="6steps", save_every="3steps")
    start(settings, tmp_path / "run", quiet=True)
    kept = (tmp_path / "run" / PHRASES).read_text(encoding="utf-8")
    assert all(line.split("\t")[1] in ("phrase", "entity") for line in kept.splitlines())
    finished = resume(tmp_path / "run", settings, budget=Budget.parse("8steps"), quiet=True)
    assert finished.outcome.position.spent.steps == 8
    assert (tmp_path / "run" / PHRASES).read_text(encoding="utf-8") == kept


def test_more_languages_than_vectors(stores_for: Any, miniature: Any) -> None:
    recipe = miniature("xlm")
    stores = stores_for(recipe)
    refuse_misfit(recipe, stores)
    with pytest.raises(PlumeError, match=r"2 languages \(en, zh\).*vectors for 1: add --set embedding\.segments=2"):
        refuse_misfit(replace(recipe, embedding=replace(recipe.embedding, segments=1)), stores)


def pairs_file(path: Path, first: str, second: str) -> Path:
    sides = {"en": "the cat finds a box {}.", "de": "die katze findet eine kiste {}.", "zh": "小猫看见图书馆 {}。"}
    lines = [f"{sides[first].format(number)}\t{sides[second].format(number)}" for number in range(120)]
    path.write_text("\n".join([f"{first}\t{second}", *lines]) + "\n", encoding="utf-8")
    return path


def pretrain(recipe: Any, file: Path, out: Path, **options: Any) -> Languages:
    start(make_settings(recipe, corpus=[str(file)], budget="1steps", **options), out, quiet=True)
    return Languages.load(out / "languages.json")


def test_a_run_saves_what_tells_its_languages_apart(miniature: Any, tmp_path: Path) -> None:
    recipe = replace(miniature("xlm"), tokenizer=replace(miniature("xlm").tokenizer, vocabulary=160))
    known = pretrain(recipe, pairs_file(tmp_path / "pairs.tsv", "en", "de"), tmp_path / "run")
    assert known.names == ("de", "en") and known.scripts == (frozenset({"latin"}),) * 2
    model = LanguageModel.load(tmp_path / "run")
    ids = {word: model.tokenizer.encode([word])[0] for word in ("the", "die", "cat", "12")}
    assert known.counts is not None and not known.counts[:, model.tokenizer.special_ids].any()
    train = 118  # of 120 pairs
    assert [known.counts[:, ids[word][-1]].tolist() for word in ("the", "die")] == [[0, train], [train, 0]]
    told = model.model.languages
    assert (
        told is not None
        and told.find("the cat", ids["the"] + ids["cat"]) == 1
        and told.find("die", ids["die"]) == 0
        and told.find("12", ids["12"]) is None
    )
    assert model.score("the cat finds a box.") == model.score("the cat finds a box.", language="en")
    assert model.score("the cat finds a box.") != model.score("the cat finds a box.", language="de")
    with pytest.raises(PlumeError, match="Cannot tell which language '12' is in: say one of de, en"):
        model.embed("12")


def test_a_run_that_starts_from_another_numbers_languages_as_its_vectors_are(miniature: Any, tmp_path: Path) -> None:
    small = miniature("xlm", length=64)
    recipe = replace(small, tokenizer=replace(small.tokenizer, vocabulary=160), embedding=replace(small.embedding, segments=3))
    first = pretrain(recipe, pairs_file(tmp_path / "one.tsv", "en", "zh"), tmp_path / "one")
    second = pretrain(recipe, pairs_file(tmp_path / "two.tsv", "de", "en"), tmp_path / "two", init=str(tmp_path / "one"))
    assert (first.names, second.names) == (("en", "zh"), ("en", "zh", "de"))
    assert first.counts is not None and second.counts is not None
    assert second.counts[0].sum() > first.counts[0].sum() and (second.counts[1] == first.counts[1]).all() and second.counts[2].any()
    assert second.scripts[1] == {"han"}
    model = LanguageModel.load(tmp_path / "two")
    assert model.score("die katze", language="de") == model.score("die katze", language=2)


def test_an_old_directory_still_loads_and_asks_for_numbers(miniature: Any, tokenizer_for: Any, tmp_path: Path) -> None:
    recipe = miniature("xlm")
    tokenizer = tokenizer_for(recipe)
    save_model(tmp_path, recipe.assembly.build(recipe, vocabulary=tokenizer.size), tokenizer)
    assert not (tmp_path / "languages.json").exists()
    old = LanguageModel.load(tmp_path)
    with pytest.raises(PlumeError, match="does not know their names, so say a number from 0 to 1"):
        old.embed("the cat")
    assert np.abs(old.embed("the cat", language=0) - old.embed("the cat", language="1")).max() > 1e-4
    Languages.named(["en", "de", "zh"]).save(tmp_path / "languages.json")
    with pytest.raises(PlumeError, match="names 3 languages, and the model has 2 vectors"):
        LanguageModel.load(tmp_path)


def test_running_text_is_one_language(stores_for: Any, miniature: Any, tokenizer_for: Any) -> None:
    recipe = miniature("xlm").override("objectives=(masked_lm(),)").override("layout.made_from=text")
    known = find_languages(recipe, stores_for(recipe), tokenizer_for(recipe))
    assert known is not None and known.names == ("text",) and known.find("", []) == 0


def test_more_labels_than_classes(stores_for: Any, miniature: Any) -> None:
    recipe = miniature("deepmoji")
    stores = stores_for(recipe)
    refuse_misfit(recipe, stores)
    (objective,) = recipe.objectives
    few = replace(recipe, objectives=(replace(objective, head=replace(objective.head, classes=2)),))
    with pytest.raises(PlumeError, match="5 labels, and emoji_prediction tells 2 apart"):
        refuse_misfit(few, stores)


def test_small_sizes_read_two_languages() -> None:
    assert {size: recipe.embedding.segments for size, recipe in catalog.sizes("xlm").items()} == {
        "tiny": 2, "mini": 2, "small": 2, "base": 15, "en-de": 2,
    }  # fmt: skip
