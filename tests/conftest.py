"""What many tests share: a small bilingual corpus with its tokenizers and stores, miniature recipes, a browser, and statistics with fixed seeds."""

from __future__ import annotations

import functools
import gc
import json
import os
import random
import re
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from plume.compressing import compress as compressions
from plume.core.batch import Batch
from plume.core.knowledge import Knowledge, fitted, needs_knowledge
from plume.core.part import replace
from plume.core.seeds import Draws
from plume.data.corpus import Corpus, CorpusKind
from plume.data.layouts.carried import FORMS, MENTIONS
from plume.data.layouts.labelled import CodedBlocks, LabelledDocuments
from plume.data.lexicon import LexiconEntry, UnitKind, mark_units
from plume.data.loader import Cursor, Mixture, Reader
from plume.data.store import Stores, build_stores
from plume.data.train_tokenizer import train_tokenizer
from plume.kb.building import Sources
from plume.kb.building import build as build_kb
from plume.kb.candidates import as_bytes
from plume.kb.knowledge import open_knowledge
from plume.model.assembly import EncoderDecoder
from plume.model.kinds import BatchKind
from plume.model.networks.model import Model
from plume.model.recipe import Recipe
from plume.model.use.language_model import LanguageModel
from plume.nn.character_embedding import CharacterEmbedding
from plume.nn.recurrent.recurrent import Recurrent
from plume.recipes import _catalog as catalog
from plume.text.known_languages import Languages
from plume.text.tokenizer import Tokenizer
from plume.text.tokenizers import BPE, ByteLevelBPE, Unigram, WordPiece
from plume.text.word_level import WordLevel
from plume.train.device import to_device
from plume.train.feeding import make_mixture, make_reader

# `make test` gives the same answer for the same code; `make check-all` looks for new counterexamples each time. Neither looks at the clock.
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("new"), derandomize=True)
settings.load_profile("new")

# Small enough that many words are several pieces; bytes alone take 256.
VOCABULARY = {WordLevel: 160, WordPiece: 160, BPE: 160, Unigram: 160, ByteLevelBPE: 320}

# One thread, here and in every process that a test starts: tests run beside each other already.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background, where Ctrl-C is for someone else: some tests send one
    signal.signal(signal.SIGINT, signal.default_int_handler)

ENGLISH = (
    ("the cat", "a tired sailor", "my sister", "the old captain", "one small bird", "her teacher", "the quiet neighbour"),
    ("finds", "carries", "forgets", "paints", "follows", "remembers", "unfastens"),
    ("a wooden box", "the letter", "some bread", "the lighthouse", "two apples", "an umbrella", "the mountaineers"),
    ("in the morning", "near the river", "after the storm", "without a word", "by candlelight", "at home", "uncomfortably"),
)
CHINESE = (
    ("我们", "老师", "小猫", "北京大学的学生", "那位船长"),
    ("喜欢", "看见", "忘记", "带来", "研究"),
    ("苹果", "一封信", "自然语言", "旧房子", "图书馆"),
    ("今天早上", "在河边", "没有说话", "下雨以后", "非常高兴"),
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """What is imported and collected stays to the end: looking through it for garbage, again and again, takes a third of the time."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Files are written for good one by one, thousands of them here; no test pulls the plug."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_time_for_timing() -> Iterator[None]:
    """A compression times the model before and after for seconds; here a moment each says as much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compressions, "SECONDS", 0.02)
        yield


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """plume's cache, away from the user's."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLUME_CACHE", str(folder))
        yield folder


def sentence(source: random.Random) -> str:
    """One sentence of the grammar; a third are Chinese."""
    if source.random() < 0.33:
        return "".join(source.choice(words) for words in CHINESE) + "。"
    words = [source.choice(words) for words in ENGLISH]
    return " ".join(words[: source.randint(3, 4)]).capitalize() + "."


def document(source: random.Random, sentences: int) -> str:
    return "\n".join(sentence(source) for _ in range(sentences))


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Forty documents of two to sixteen sentences."""
    source = random.Random(20181011)
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n\n".join(document(source, source.randint(2, 16)) for _ in range(40)) + "\n", encoding="utf-8")
    return Corpus(path)


PHRASES = ("wooden box", "tired sailor", "two apples", "near the river", "自然语言", "旧房子", "没有说话")
ENTITIES = ("old captain", "quiet neighbour", "北京大学", "图书馆")
NAMED = (
    "tired sailor", "old captain", "small bird", "quiet neighbour", "wooden box", "letter", "lighthouse", "umbrella", "mountaineers", "river",
    "北京大学", "老师", "小猫", "苹果", "图书馆", "旧房子", "自然语言",
)  # of entities, by their numbers  # fmt: skip
TRIPLES = tuple((NAMED[n], ("knows", "owns", "is near")[n % 3], NAMED[(n * 5 + 3) % len(NAMED)]) for n in range(len(NAMED)))
EMOJI = ("😂", "🎉", "🌧", "📚", "🍎")
CODES = ("Books", "News", "Wiki")


@pytest.fixture(scope="session")
def corpora(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    """A corpus of each sort that a layout may ask for: text, labelled text, pairs, texts with emoji."""
    folder, source = tmp_path_factory.mktemp("corpora"), random.Random(17)
    labelled = [{"text": document(source, source.randint(2, 10)), "label": CODES[number % 3]} for number in range(30)]
    (folder / "labelled.jsonl").write_text("\n".join(json.dumps(record) for record in labelled), encoding="utf-8")
    pairs = []
    for _ in range(150):
        which = [source.randrange(5) for _ in range(4)]
        english = " ".join(words[number] for words, number in zip(ENGLISH, which, strict=True))
        pairs.append(english + ".\t" + "".join(words[number] for words, number in zip(CHINESE, which, strict=True)) + "。")
    (folder / "pairs.tsv").write_text("\n".join(["en\tzh", *pairs]) + "\n", encoding="utf-8")
    lines = [sentence(source) + " " + " ".join(source.sample(EMOJI, source.randint(1, 2))) for _ in range(150)]
    (folder / "emoji.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    linked = [linked_line(document(source, source.randint(2, 10))) for _ in range(40)]
    (folder / "linked.jsonl").write_text("\n".join(json.dumps(record) for record in linked), encoding="utf-8")
    return {
        "linked": Corpus(folder / "linked.jsonl", carries=(MENTIONS,)),
        "named": Corpus(folder / "linked.jsonl", carries=(MENTIONS, FORMS)),
        "text": corpus,
        "labelled": Corpus(folder / "labelled.jsonl"),
        "pairs": Corpus(folder / "pairs.tsv", kind=CorpusKind.PAIRS),
        "emoji": Corpus(folder / "emoji.txt", kind=CorpusKind.EMOJI),
    }


def linked_line(text: str) -> dict[str, Any]:
    """A line of a corpus in which the entities of the small knowledge base are marked."""
    found = [{"start": one.start(), "end": one.end(), "id": NAMED.index(one[0])} for one in re.finditer("|".join(NAMED), text)]
    return {"text": text, "mentions": found, "forms": [one | {"id": sorted(NAMED).index(NAMED[one["id"]])} for one in found]}


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base on disk: what the grammar's texts speak of, and made-up facts between that."""
    folder = tmp_path_factory.mktemp("kb")
    (folder / "names.tsv").write_text("".join(f"{name}\t{name}\n" for name in NAMED), encoding="utf-8")
    (folder / "triples.tsv").write_text("".join("\t".join(triple) + "\n" for triple in TRIPLES), encoding="utf-8")
    build_kb([folder / "triples.tsv"], folder / "kb", sources=Sources(entities=folder / "names.tsv")).close()
    np.save(folder / "kb" / "vectors.npy", np.random.default_rng(3).normal(size=(len(NAMED), 12)).astype(np.float32))
    return folder / "kb"


@pytest.fixture(scope="session")
def knowledge(kb: Path) -> Knowledge:
    """The same as networks are told of it; there each name may be one of three, and the right one stands first, second or last."""
    found = open_knowledge(kb, ("triples", "vectors"))
    right = np.array([NAMED.index(name) for name in sorted(NAMED)])[:, None]
    meant = (right + (np.arange(3) - right % 3) * 5) % len(NAMED)
    priors = np.tile(np.array([[0.5, 0.3, 0.2]], np.float32), (len(NAMED), 1))
    return replace(found, arrays={**found.arrays, "candidates": meant, "priors": priors, "names": as_bytes(sorted(NAMED))})


def corpus_of(recipe: Recipe) -> str:
    """Which of the corpora a recipe trains on."""
    if MENTIONS in recipe.carries:
        return "named" if FORMS in recipe.carries else "linked"
    labels = any(isinstance(kind.layout, CodedBlocks | LabelledDocuments) for kind in recipe.kinds)
    return "labelled" if labels and recipe.corpus is CorpusKind.TEXT else recipe.corpus.value


@pytest.fixture(scope="session")
def tokenizer_for(corpora: dict[str, Corpus]) -> Callable[[Recipe], Tokenizer]:
    """A recipe's own kind of tokenizer, trained on the corpus once."""

    @functools.cache
    def trained(name: str, spec: Any, format: Any) -> Tokenizer:
        codes = corpora[name].labels() if name == "labelled" else ()
        room = VOCABULARY[type(spec)] + format.sentinels + len(codes)
        return train_tokenizer(corpora[name], replace(spec, vocabulary=room), format, codes=codes)

    return lambda recipe: trained(corpus_of(recipe), recipe.tokenizer, recipe.format)


@pytest.fixture(scope="session")
def stores_for(corpora: dict[str, Corpus], cache: Path, tokenizer_for: Callable[[Recipe], Tokenizer]) -> Callable[[Recipe], Stores]:
    """The corpus as a recipe reads it, phrases and entities marked."""
    entries = [LexiconEntry(text=text) for text in PHRASES] + [LexiconEntry(text=text, kind=UnitKind.ENTITY) for text in ENTITIES]

    @functools.cache
    def stores(name: str, tokenizer: Tokenizer, words: Any) -> Stores:
        made = build_stores(corpora[name], tokenizer, words=words, cache=cache)
        for store in (made.train, made.held_out):
            store.units = mark_units(store, entries, tokenizer)
        return made

    return lambda recipe: stores(corpus_of(recipe), tokenizer_for(recipe), recipe.words)


@pytest.fixture(scope="session")
def reader_for(stores_for: Callable[[Recipe], Stores], tokenizer_for: Callable[[Recipe], Tokenizer]) -> Callable[..., Reader]:
    """The reader that pre-training would use, of the first kind of batch if none is named; `narrow` false reads every position."""

    def make(recipe: Recipe, *, kind: BatchKind | None = None, seed: int = 0, rows: int | None = None, narrow: bool = True) -> Reader:
        reader = make_reader(stores_for(recipe).train, recipe, tokenizer_for(recipe), seed=seed, rows=rows, kind=kind)
        return reader if narrow else replace(reader, collator=replace(reader.collator, narrow=False))

    return make


@pytest.fixture(scope="session")
def mixture_for(stores_for: Callable[[Recipe], Stores], tokenizer_for: Callable[[Recipe], Tokenizer]) -> Callable[..., Mixture]:
    """All kinds of batch, as pre-training would mix them; `held_out` reads the held-out text."""

    def make(recipe: Recipe, *, seed: int = 0, rows: int | None = None, held_out: bool = False) -> Mixture:
        stores = stores_for(recipe)
        return make_mixture(stores.held_out if held_out else stores.train, recipe, tokenizer_for(recipe), seed=seed, rows=rows)

    return make


@pytest.fixture(scope="session")
def batch_of() -> Callable[..., Batch]:
    """A whole batch as training gets it, with its stream where rows go on from batch to batch; still numpy's."""
    return lambda reader, step=0: reader.step(Cursor(step=step), [slice(None)])[0]


@pytest.fixture(scope="session")
def miniature(knowledge: Knowledge) -> Callable[..., Recipe]:
    """A family's tiny size made tinier, in its own shape (a narrow embedding stays narrow, a head that is wider than its share stays so), and
    fitted to the small knowledge base."""

    def make(family: str, *, width: int = 32, length: int | None = None, rows: int = 8, depth: int = 2) -> Recipe:
        recipe = fitted(catalog.recipe(f"{family}/tiny"), knowledge)
        if isinstance(recipe.network, Recurrent):
            return _recurrent_miniature(recipe, recipe.network, width=width, length=length or 32, rows=rows)
        # What works on sentences needs rows that hold some.
        length = length or (64 if any(kind.noise.needs_sentences for kind in recipe.kinds) else 32)
        factorised = catalog.recipe(family).embedding.width != catalog.recipe(family).network.width
        network = recipe.transformer
        assembly = recipe.assembly
        if isinstance(assembly, EncoderDecoder) and assembly.depth is not None:
            assembly = replace(assembly, depth=depth)
        return replace(
            recipe,
            embedding=replace(recipe.embedding, width=width // 2 if factorised else width),
            network=replace(
                network.of_depth(depth), width=width, heads=4, feed_forward=2 * width, key_width=None if network.key_width is None else 6
            ),
            assembly=assembly,
            positions=recipe.positions if recipe.positions.longest is None else replace(recipe.positions, longest=2 * length),
            memory=None if recipe.memory is None else replace(recipe.memory, length=length),
            training=replace(recipe.training, length=length, batch=rows),
        )

    return make


def _recurrent_miniature(recipe: Recipe, network: Recurrent, *, width: int, length: int, rows: int) -> Recipe:
    half, embedding = width // 2, recipe.embedding
    network = replace(network, width=width, projection=network.projection and half, output=network.output and half)
    if isinstance(embedding, CharacterEmbedding):
        cnn = replace(embedding.characters, filters=((1, 8), (2, 8)), longest=12, width=8, projection=half)
        embedding = replace(embedding, characters=cnn)
    return replace(
        recipe, network=network, embedding=replace(embedding, width=half), training=replace(recipe.training, length=length, batch=rows)
    )


@pytest.fixture(scope="session")
def built(knowledge: Knowledge) -> Callable[..., Model]:
    """A recipe's network in float64 with weights that differ from their initial values everywhere, norms and biases too."""

    def make(recipe: Recipe, *, vocabulary: int = 60, seed: int = 5) -> Model:
        model = recipe.assembly.build(recipe, vocabulary=vocabulary).double()
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.2)
        model.spell([f"w{number}" for number in range(vocabulary)])
        if needs_knowledge(recipe):
            model.know(knowledge)
        if model.languages is not None:
            model.languages = Languages.named(["en", "zh"])  # those of the pairs
        return model

    return make


@pytest.fixture(scope="session")
def language_model(
    miniature: Callable[..., Recipe], built: Callable[..., Model], tokenizer_for: Callable[[Recipe], Tokenizer]
) -> Callable[[str], LanguageModel]:
    """A family's miniature in float64, ready for use; made once, so nothing may change it."""

    @functools.cache
    def make(family: str) -> LanguageModel:
        recipe = miniature(family)
        tokenizer = tokenizer_for(recipe)
        return LanguageModel(built(recipe, vocabulary=tokenizer.size), tokenizer)

    return make


@pytest.fixture(scope="session")
def on_cpu() -> Callable[[Any], Any]:
    """A numpy batch as torch's."""
    return lambda batch: to_device(batch, torch.device("cpu"))


@pytest.fixture(scope="session")
def draws() -> Callable[..., Draws]:
    return lambda rows, *, seed=0, epoch=0: Draws(seed=seed, epoch=epoch, index=np.arange(rows))


@pytest.fixture(scope="session")
def store_of() -> Callable[[Sequence[Sequence[int]]], Any]:
    """What a layout reads, from the sentence lengths of each document; each token's id is its own place."""

    def make(documents: Sequence[Sequence[int]]) -> Any:
        lengths = np.array([length for sentences in documents for length in sentences])
        owner = np.repeat(np.arange(len(documents)), [len(sentences) for sentences in documents])
        end = np.cumsum(lengths) + owner  # one separator after each document
        total = int(end[-1]) + 1
        return SimpleNamespace(
            tokens=np.arange(total),
            word_start=np.ones(total, bool),
            sentence_start=end - lengths,
            sentence_end=end,
            document_start=np.concatenate([[0], np.cumsum([len(sentences) for sentences in documents])]),
            vocabulary=total,
        )

    return make


@pytest.fixture(scope="session")
def assert_shares() -> Callable[..., None]:
    """Chi-square: do the counts follow these shares (even ones if none are given)? The seeds are fixed, so it passes always or never."""

    def check(counts: Any, shares: Any = None) -> None:
        counts = np.asarray(counts, float)
        shares = np.full(len(counts), 1 / len(counts)) if shares is None else np.asarray(shares, float)
        assert (counts[shares == 0] == 0).all(), "something that cannot happen did"
        expected = counts.sum() * shares[shares > 0]
        assert expected.min() >= 5, "too few draws for the test to say anything"
        statistic = ((counts[shares > 0] - expected) ** 2 / expected).sum()
        freedom = len(expected) - 1
        assert statistic < freedom + 4.5 * np.sqrt(2 * freedom) + 6, (
            f"{statistic:.1f} for {freedom} degrees of freedom: {counts} {expected}"
        )

    return check


@pytest.fixture(scope="module")  # while it is open, an event loop runs in this thread, which other files could not start theirs in
def browser() -> Iterator[Any]:
    """Headless Chromium, where there is one."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()
