"""A field of the corpus that rides with the text: from a JSONL line to a head of the test's own, aligned with the tokens."""

import itertools
import json
import random
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from plume.core.batch import Batch
from plume.core.errors import PlumeError
from plume.core.part import describe, part_from_json, replace
from plume.data import encoder as encoder_module
from plume.data.corpus import Corpus, CorpusKind
from plume.data.encoder import Encoder
from plume.data.layouts.carried import NONE, DocumentField, SpanField
from plume.data.layouts.layout import FullSentences
from plume.data.loader import Cursor
from plume.data.store import build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.heads.head import Loss
from plume.model.assembly import OneNetwork
from plume.model.networks.model import Model
from plume.objectives.masked_lm import masked_lm
from plume.recipes import _catalog as catalog
from plume.text.format import BERT
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import WordPiece
from plume.text.words import Words
from plume.train.feeding import make_reader

NAMES = ("Marie Curie", "Paris", "the old captain", "北京大学", "居里夫人", "图书馆")  # an entity's id is its place here
BEFORE = ("Yesterday", "At the harbour", "没有说话的", "在河边", "Nobody saw that")
AFTER = ("left without a word.", "was painted blue.", "喜欢旧房子。", "带来一封信。", "remembers it.")
CARRIES = (SpanField(name="mentions"), DocumentField(name="document"))


def line(source: random.Random, number: int) -> dict:
    """Sentences about entities, in paragraphs with spaces and empty lines around them."""
    sentences = [" ".join(source.choice(words) for words in (BEFORE, NAMES, AFTER)) for _ in range(source.randint(2, 5))]
    text = "  " + source.choice(("\n", " \n\n ", " ")).join(sentences) + "\n"
    found = [{"start": m.start(), "end": m.end(), "id": i} for i, name in enumerate(NAMES) for m in re.finditer(name, text)]
    return {"text": text, "document": number, "mentions": source.sample(found, len(found)), "other": "nobody asked for this"}


@pytest.fixture(scope="module")
def lines() -> list[dict]:
    source = random.Random(7)
    return [line(source, number) for number in range(120)]


@pytest.fixture(scope="module")
def file(lines, tmp_path_factory):
    path = tmp_path_factory.mktemp("named") / "corpus.jsonl"
    path.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def stores_of(file, cache):
    """A recipe's tokenizer and stores, from this corpus."""

    def make(recipe):
        corpus = Corpus(file, carries=recipe.carries)
        vocabulary = 360 if "Byte" in type(recipe.tokenizer).__name__ else 120
        tokenizer = train_tokenizer(corpus, replace(recipe.tokenizer, vocabulary=vocabulary), recipe.format)
        return tokenizer, build_stores(corpus, tokenizer, words=recipe.words, cache=cache)

    return make


def carrying(recipe, **changes):
    return replace(recipe, layout=replace(changes.pop("layout", recipe.layout), carries=CARRIES), **changes)


@pytest.fixture
def bert(miniature):
    return carrying(miniature("bert"), layout=FullSentences(), objectives=(masked_lm(),), assembly=Linking())


def runs(tokens, ids, tokenizer):
    """The text of each run of tokens with the same entity."""
    bounds = np.flatnonzero(np.diff(ids, prepend=NONE - 1, append=NONE - 1))
    found = [(int(ids[a]), tokenizer.decode(tokens[a:b])) for a, b in itertools.pairwise(bounds)]
    return [(number, text.replace(" ", "").lower()) for number, text in found if number != NONE]


def spelled(number):
    return NAMES[number].replace(" ", "").lower()


@pytest.mark.parametrize("family", ["bert", "roberta", "xlnet"])  # WordPiece, bytes with the space before a word, pieces of SentencePiece
def test_each_mention_is_the_tokens_of_its_characters(family, lines, stores_of, miniature):
    recipe = miniature(family)
    recipe = carrying(recipe, layout=FullSentences(), objectives=(masked_lm(),), memory=None, assembly=OneNetwork())
    tokenizer, stores = stores_of(recipe)
    found = []
    for store in (stores.train, stores.held_out):
        found += runs(np.asarray(store.tokens), np.asarray(store.named["mentions"]), tokenizer)
        separators = np.asarray(store.tokens) == tokenizer.separator
        assert (store.named["mentions"][separators] == NONE).all() and (store.named["document"][separators] == NONE).all()
        assert (np.diff(np.flatnonzero(separators)) > 1).all() and (store.named["document"][~separators] >= 0).all()
    assert all(text == spelled(number) for number, text in found)
    assert sorted(number for number, _ in found) == sorted(one["id"] for record in lines for one in record["mentions"])
    assert np.unique(stores.held_out.named["document"]).tolist() == [NONE, 0, 100]  # every hundredth document is held out


def test_rows_carry_them_past_special_tokens_and_masks(bert, stores_of):
    tokenizer, stores = stores_of(bert)
    reader = make_reader(stores.train, bert, tokenizer, seed=0)
    assert reader.check() is None
    plan, batches = reader.plan(0)
    seen = 0
    for step, index in enumerate(batches):
        batch, rows = reader.batch(Cursor(step=step)), reader.rows_of(plan, index)
        assert batch.named.keys() == {"mentions", "document"}
        assert batch.named["mentions"].shape == batch.named["document"].shape == batch.tokens.shape
        assert (batch.named["mentions"][rows.special] == NONE).all()
        assert (batch.named["document"][~rows.special] >= 0).all()
        for tokens, ids in zip(rows.tokens, batch.named["mentions"], strict=True):
            found = runs(tokens, ids, tokenizer)
            assert all(text == spelled(number) for number, text in found)
            seen += len(found)
    assert seen > 300
    assert (batch.tokens != rows.tokens).any()  # some were hidden; what they carry was not


@pytest.mark.parametrize("family", catalog.networks())
def test_a_family_keeps_places_or_refuses(family, miniature, stores_for, reader_for, monkeypatch):
    """Whatever a layout and its noise do: where a batch says which token of the text stands there, that token stands there, or it is asked for."""
    plain = miniature(family)
    place = (SpanField(name="place"),)
    own = [
        one if one.layout is None else replace(one, layout=replace(one.layout, carries=one.layout.carries + place))
        for one in plain.objectives
    ]
    changes = {"layout": replace(plain.layout, carries=plain.layout.carries + place), "objectives": tuple(own)}
    if plain.corpus is not CorpusKind.TEXT or not all(kind.noise.keeps_places for kind in plain.kinds):
        with pytest.raises(PlumeError, match=r"moves, adds or drops tokens|only text carries"):
            replace(plain, **changes)
        return
    recipe = replace(plain, **changes)
    store = stores_for(recipe).train
    monkeypatch.setitem(store.named, "place", np.arange(len(store.tokens)))
    for kind in recipe.kinds:
        reader = reader_for(recipe, kind=kind, narrow=False)
        batch = reader.batch(Cursor())
        there, asked = batch.named["place"], np.zeros(batch.tokens.size, bool)
        for target in batch.labels.values():
            asked[target.index] = kind.noise.select.share > 0
        right = (batch.tokens == store.tokens[np.maximum(there, 0)]) | asked.reshape(there.shape)
        assert (there >= 0).mean() > 0.5 and right[there >= 0].all()


class Linker(Model):
    """Guesses the entity of each token of a mention (EaE, arXiv:2004.07202 §3.2), beside masked LM; the entity is read off the batch."""

    def __init__(self, recipe, *, vocabulary: int) -> None:
        super().__init__(recipe, vocabulary=vocabulary)
        self.entities = nn.Linear(self.width, len(NAMES))

    def losses(self, batch: Batch) -> dict[str, Loss]:
        states = self.encode(replace(batch, read=None)).last
        marked = batch.named["mentions"] >= 0
        scores, answers = self.entities(states[marked]), batch.named["mentions"][marked]
        right = (scores.argmax(-1) == answers).sum()
        linking = Loss(total=nn.functional.cross_entropy(scores, answers, reduction="sum"), count=len(answers), correct=right)
        return super().losses(batch) | {"linking": linking}


@dataclass(frozen=True, kw_only=True)
class Linking(OneNetwork):
    def build(self, recipe, *, vocabulary: int) -> Model:
        return Linker(recipe, vocabulary=vocabulary)


def test_a_head_learns_from_them(bert, stores_of, on_cpu):
    tokenizer, stores = stores_of(bert)
    reader = make_reader(stores.train, bert, tokenizer, seed=0)
    model = bert.assembly.build(bert, vocabulary=tokenizer.size)
    model.initialise(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    torch.manual_seed(0)
    cursor, history = Cursor(), []
    for _ in range(40):
        losses = model.losses(on_cpu(reader.batch(cursor)))
        (losses["linking"].total / losses["linking"].count).backward()
        optimizer.step()
        optimizer.zero_grad()
        history.append(float(losses["linking"].total.detach()) / losses["linking"].count)
        cursor = reader.following(cursor)
    assert np.mean(history[:3]) > 1.5 and np.mean(history[-5:]) < 0.5  # guessing evenly costs log 6 = 1.79


def test_processes_encode_them_alike(bert, file, tmp_path):
    corpus = Corpus(file, carries=CARRIES)
    tokenizer = train_tokenizer(corpus, replace(bert.tokenizer, vocabulary=120), bert.format)
    one = build_stores(corpus, tokenizer, words=Words.SPACES, cache=tmp_path / "one")
    two = build_stores(corpus, tokenizer, words=Words.SPACES, cache=tmp_path / "two", workers=2, small=0)
    for name in ("mentions", "document"):
        assert (one.train.named[name] == two.train.named[name]).all() and len(one.train.named[name]) == len(one.train.tokens)


def test_a_mention_over_a_line_break_and_a_word_that_sticks_out(wordpiece_of):
    tokenizer = wordpiece_of(["old town hall", "oldest towns"])
    # "old town" in two paragraphs, whose line break is a character of its own; then the first letters of "oldest".
    spans = np.array([[0, 8, 4], [14, 17, 6]])
    made = Encoder(tokenizer, words=Words.SPACES).encode([["old", "town hall"], ["oldest towns"]], {"mentions": spans})
    marked = [(tokenizer.token(token), number) for token, number in zip(made.tokens, made.named["mentions"].tolist(), strict=True)]
    assert marked == [("old", 4), ("town", 4), ("hall", NONE), ("oldest", 6), ("towns", NONE)]


def test_mentions_side_by_side_in_a_paragraph_that_is_encoded_in_parts(wordpiece_of, monkeypatch):
    monkeypatch.setattr(encoder_module, "LONGEST_TEXT", 12)
    tokenizer = wordpiece_of(["北京大学图书馆很大。"])
    text = "北京大学图书馆很大。" * 5
    spans = np.array([[10 * turn + start, 10 * turn + end, number] for turn in range(5) for start, end, number in ((0, 4, 1), (4, 7, 2))])
    made = Encoder(tokenizer, words=Words.SPACES).encode([["很大。", text]], {"mentions": spans + np.array([4, 4, 0])})
    assert made.named["mentions"].tolist() == [NONE] * 3 + ([1] * 4 + [2] * 3 + [NONE] * 3) * 5


@pytest.fixture
def wordpiece_of():
    return lambda texts: Tokenizer(WordPiece(vocabulary=60).train(iter(texts * 9), format=BERT), format=BERT)


def test_nothing_is_stored_that_nobody_asked_for(file, lines, bert, tmp_path, wordpiece_of):
    """A corpus without declared fields is the corpus that it was: the same fingerprint, and so the same tokenizer and store in the cache."""
    plain = tmp_path / "plain.jsonl"
    plain.write_text("\n".join(json.dumps({"text": one["text"]}) for one in lines), encoding="utf-8")
    carried = Corpus(file, carries=CARRIES)
    assert Corpus(file).census() == Corpus(plain).census() != carried.census()
    tokenizer = wordpiece_of(["Paris is old"])
    stores = build_stores(Corpus(file), tokenizer, words=Words.SPACES, cache=tmp_path)
    again = build_stores(Corpus(plain), tokenizer, words=Words.SPACES, cache=tmp_path)
    assert stores.train.named == again.train.named == {} and len(list((tmp_path / "stores").iterdir())) == 1
    with_fields = build_stores(carried, tokenizer, words=Words.SPACES, cache=tmp_path)
    assert with_fields.train.named.keys() == {"mentions", "document"} and len(list((tmp_path / "stores").iterdir())) == 2
    changed = tmp_path / "changed.jsonl"
    changed.write_text(file.read_text(encoding="utf-8").replace('"document": 7,', '"document": 8,'), encoding="utf-8")
    assert Corpus(changed, carries=CARRIES).census().fingerprint != carried.census().fingerprint


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"mentions": "Paris"}, "no list of spans"),
        ({"mentions": [[0, 5, 1]]}, "no list of spans"),
        ({"mentions": [{"start": 0, "end": 5}]}, "'id' of a span is None"),
        ({"mentions": [{"start": 0, "end": 5, "id": -1}]}, "'id' of a span is -1, where a whole number from 0 on"),
        ({"mentions": [{"start": 0, "end": True, "id": 1}]}, "'end' of a span is True"),
        ({"mentions": [{"start": 3, "end": 3, "id": 1}]}, "the span 3:3 does not lie in the text of 13 characters"),
        ({"mentions": [{"start": 9, "end": 14, "id": 1}]}, "the span 9:14 does not lie in the text of 13 characters"),
        ({"mentions": [{"start": 0, "end": 5, "id": 1}, {"start": 4, "end": 8, "id": 2}]}, "the span 4:8 begins inside another"),
        ({"document": "seven"}, "its value is 'seven', where a whole number"),
        ({"document": 2**63}, "its value is 9223372036854775808"),
        ({"text": "Paris\0 is big", "mentions": [{"start": 0, "end": 5, "id": 1}]}, "zero characters"),
    ],
)
def test_malformed_fields_are_named_by_file_and_line(field, reason, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in ({"text": "fine"}, {"text": "Paris is big."} | field)), encoding="utf-8")
    with pytest.raises(PlumeError, match=rf"bad\.jsonl, line 2: .*{re.escape(reason)}"):
        list(Corpus(path, carries=CARRIES).documents())
    if "text" not in field:
        assert len(list(Corpus(path).documents())) == 2  # it is somebody else's field unless it is asked for


def test_a_corpus_without_the_field_is_refused(bert, stores_of, tmp_path, cache):
    path = tmp_path / "plain.txt"
    path.write_text("\n\n".join("The old captain left. Nobody saw that." for _ in range(9)), encoding="utf-8")
    tokenizer, _ = stores_of(bert)
    assert build_stores(Corpus(path), tokenizer, words=bert.words, cache=cache).train.named == {}
    stores = build_stores(Corpus(path, carries=CARRIES), tokenizer, words=bert.words, cache=cache)
    with pytest.raises(PlumeError, match="No document has anything in its field 'mentions'"):
        make_reader(stores.train, bert, tokenizer, seed=0).check()


def test_the_declaration_is_part_of_the_recipe(bert):
    layout = part_from_json(bert.layout.to_json())
    assert layout == bert.layout and "carries=(SpanField(name='mentions'), DocumentField(name='document'))" in describe(layout)
    assert bert.override("layout.carries=(SpanField(name=links),)").carries == (SpanField(name="links"),)
    with pytest.raises(PlumeError, match="cannot be carried"):
        SpanField(name="text")
    with pytest.raises(PlumeError, match="two different fields of the same name"):
        replace(bert, layout=replace(bert.layout, carries=(SpanField(name="a"), DocumentField(name="a"))))


def test_what_is_carried_can_be_written_again(file, tmp_path):
    """A rehearsal of a study reads a sample of the corpus: it must carry what the corpus carries."""
    read = list(Corpus(file, carries=CARRIES).documents())
    again = tmp_path / "again.jsonl"
    records = [
        {"text": "\n".join(one.paragraphs)}
        | {field.name: field.value(one.named[field.name]) for field in CARRIES if field.name in one.named}
        for one in read
    ]
    again.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records), encoding="utf-8")
    for one, other in zip(read, Corpus(again, carries=CARRIES).documents(), strict=True):
        assert one.paragraphs == other.paragraphs and one.named.keys() == other.named.keys()
        assert all(np.array_equal(one.named[name], other.named[name]) for name in one.named)
