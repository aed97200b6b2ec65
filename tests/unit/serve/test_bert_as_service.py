"""The unchanged client of bert-as-service against a running server: the same numbers as Python's hidden states."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from bert_serving.client import BertClient, ConcurrentBertClient

import plume
from plume.core.errors import PlumeError
from plume.serve.bert_settings import BertServiceSettings, BertStrategy, strategy_of
from plume.serve.settings import ServeSettings

pytestmark = pytest.mark.filterwarnings("ignore:some of your sentences", "ignore:server does not put", "ignore:.*show_tokens")
TEXTS = [
    "The cat finds a wooden box.",
    "小猫喜欢苹果。",
    "my sister paints the lighthouse by candlelight without a word near the river at home",
]


def sockets_of(running: Any) -> Any:
    """Opened right after the models are ready."""
    while running.app.state.old_wire.wire is None:
        if running.failures:
            raise running.failures[0]
        time.sleep(0.01)
    return running.app.state.old_wire.wire.sockets


@contextmanager
def connected(running: Any, **options: Any) -> Iterator[BertClient]:
    """A client that would raise rather than hang."""
    sockets = sockets_of(running)
    with BertClient(port=sockets.port_in, port_out=sockets.port_out, timeout=20_000, **options) as client:
        yield client


@pytest.fixture(scope="module")
def start(server: Callable[..., Any]) -> Callable[..., Any]:
    def start(folder: Path, **options: Any) -> Any:
        return server(folder, bert=BertServiceSettings(port_in=0, port_out=0, **options))

    return start


@pytest.fixture(scope="module")
def usual(start: Any, directory: Callable[[str], Path]) -> Iterator[Any]:
    with start(directory("bert")) as running:
        yield running


def states(folder: Path, texts: list[str], layer: int = -2, longest: int = 25) -> list[np.ndarray]:
    """Of each text's tokens, cut as bert-as-service does: the last token stays."""
    model = plume.load(folder)
    found = []
    for text in texts:
        ids = model.tokenizer.encode([text])[0][: longest - 2]
        found.append(model.hidden([model.tokenizer.decode(ids)])[0].layers[layer])
    return found


def test_encode_is_the_mean_of_the_second_to_last_layer(usual: Any, directory: Any) -> None:
    with connected(usual) as client:
        found = client.encode(TEXTS)
    short = states(directory("bert"), TEXTS[:2])
    assert found.dtype == np.float32 and len(found) == 3
    np.testing.assert_allclose(found[:2], [one.mean(0) for one in short], atol=1e-5)


@pytest.mark.parametrize(
    ("strategy", "pooled"),
    [
        ("REDUCE_MAX", lambda one: one.max(0)),
        ("REDUCE_MEAN_MAX", lambda one: np.concatenate([one.mean(0), one.max(0)])),
        ("CLS_TOKEN", lambda one: one[0]),
        ("FIRST_TOKEN", lambda one: one[0]),
        ("SEP_TOKEN", lambda one: one[-1]),
        ("LAST_TOKEN", lambda one: one[-1]),
    ],
)
def test_strategies(start: Any, directory: Any, strategy: str, pooled: Any) -> None:
    folder = directory("bert")
    with start(folder, pooling_strategy=strategy_of(strategy), pooling_layer=(-1,)) as running, connected(running) as client:
        found = client.encode(TEXTS[:2])
    np.testing.assert_allclose(found, [pooled(one) for one in states(folder, TEXTS[:2], layer=-1)], atol=1e-5)


def test_the_pooler_is_that_of_transformers(start: Any, directory: Any, tmp_path: Path) -> None:
    """Whatever --pooling-layer says: BERT's pooler stands on the last."""
    plume.export_hf(directory("bert"), out=tmp_path / "bert")
    theirs = transformers.BertModel.from_pretrained(tmp_path / "bert").eval()
    cut = transformers.AutoTokenizer.from_pretrained(tmp_path / "bert")(TEXTS[:2], padding=True, return_tensors="pt")
    with torch.inference_mode():
        expected = theirs(**cut).pooler_output.numpy()
    with start(directory("bert"), pooling_strategy=strategy_of("cls_pooled")) as running, connected(running) as client:
        np.testing.assert_allclose(client.encode(TEXTS[:2]), expected, atol=1e-5)


def test_a_tuned_model_answers_by_its_head(start: Any, classifier: Path, directory: Any) -> None:
    expected = [list(one["scores"].values()) for one in plume.load(classifier).predict(TEXTS)]
    options = {"pooling_strategy": BertStrategy.CLASSIFICATION, "show_tokens_to_client": True}
    with start(classifier, **options) as running, connected(running) as client:
        found, tokens = client.encode(TEXTS, show_tokens=True)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        np.testing.assert_allclose(client.encode([[*TEXTS[0].split()]], is_tokenized=True)[0], expected[0], atol=1e-5)
        assert [one[0] for one in tokens] == ["[CLS]"] * 3
        pair = running.client.post("/encode", json={"texts": ["a ||| b"]})
        assert pair.status_code == 400 and "reads one text" in pair.json()["error"]["message"]
        np.testing.assert_allclose(running.client.post("/encode", json={"texts": TEXTS}).json()["result"], expected, atol=1e-5)


def test_a_number_of_a_pair(start: Any, directory: Any, tmp_path: Path) -> None:
    lines = [f"the cat {word}\tthe letter\t{score}" for word, score in (("sunny", 4.5), ("rainy", 1.0))] * 4
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train = str(tmp_path / "train.tsv")
    model: Any = plume.tune(directory("bert"), task="similarity", train=train, dev=train, out=tmp_path / "pairs", epochs=1.0, quiet=True)
    with start(tmp_path / "pairs", pooling_strategy=BertStrategy.REGRESSION) as running, connected(running) as client:
        found = client.encode(["the cat ||| the letter"])
    np.testing.assert_allclose(found, [[model.predict([("the cat", "the letter")])[0]["score"]]], atol=1e-5)


@pytest.mark.parametrize(("family", "strategy", "said"), [
    ("gpt2", "CLS_POOLED", "no pooler"), ("bert", "CLASSIFICATION", "no task that labels texts"), ("bert", "REGRESSION", "gives a number"),
])  # fmt: skip
def test_what_a_model_cannot_answer_is_said_at_the_start(start: Any, directory: Any, family: str, strategy: str, said: str) -> None:
    with pytest.raises(PlumeError, match=said), start(directory(family), pooling_strategy=strategy_of(strategy)) as running:
        sockets_of(running)


def test_token_vectors_special_tokens_masked(start: Any, directory: Any) -> None:
    folder = directory("bert")
    options = {"pooling_strategy": BertStrategy.NONE, "mask_cls_sep": True, "show_tokens_to_client": True}
    with start(folder, **options) as running, connected(running) as client:
        found, tokens = client.encode(TEXTS[:2], show_tokens=True)
    assert found.shape[:2] == (2, 25)
    for row, own, said in zip(found, states(folder, TEXTS[:2]), tokens, strict=True):
        assert said[0] == "[CLS]" and said[-1] == "[SEP]" and len(said) == len(own)
        np.testing.assert_allclose(row[1 : len(own) - 1], own[1:-1], atol=1e-5)
        assert not row[0].any() and not row[len(own) - 1 :].any()


def test_masked_mean_several_layers_no_limit(start: Any, directory: Any) -> None:
    folder = directory("bert")
    with start(folder, mask_cls_sep=True, max_seq_len=None, pooling_layer=(-1, -2)) as running, connected(running) as client:
        found = client.encode(TEXTS)
    hidden = plume.load(folder).hidden(TEXTS)
    expected = [np.concatenate([one.layers[layer][1:-1].mean(0) for layer in (-1, -2)]) for one in hidden]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_fixed_length(start: Any, directory: Any) -> None:
    folder = directory("bert")
    options = {"pooling_strategy": BertStrategy.NONE, "max_seq_len": None}
    positions = plume.load(folder).recipe.positions.longest
    with start(folder, fixed_embed_length=True, **options) as running, connected(running) as client:
        assert client.encode(TEXTS[:1]).shape[1] == positions
    with start(folder, max_batch_size=1, priority_batch_size=0, **options) as running, connected(running) as client:
        found = client.encode(TEXTS[:2])  # in two parts, of different lengths
    assert found.shape[1] == max(map(len, states(folder, TEXTS[:2])))


def test_tokens_and_pairs(usual: Any, directory: Any) -> None:
    model = plume.load(directory("bert"))
    tokens = [[model.tokenizer.token(number) for number in ids] for ids in model.tokenizer.encode([*TEXTS[:2], "a cat"])]
    with connected(usual) as client:
        np.testing.assert_allclose(client.encode(tokens[:2], is_tokenized=True), client.encode(TEXTS[:2]), atol=1e-6)
        pair, cut = client.encode([f"{TEXTS[1]} ||| a cat", TEXTS[1]])
        tokenised = client.encode([[*tokens[1], "|||", *tokens[2]]], is_tokenized=True)
    assert np.abs(pair - cut).max() > 1e-3
    np.testing.assert_allclose(tokenised[0], pair, atol=1e-5)


def test_asynchronous(usual: Any) -> None:
    """Batches without waiting, fetched in order; from a generator."""
    batches = [[f"{text} {number}" for text in TEXTS] for number in range(12)]
    with connected(usual) as client:
        expected = [client.encode(batch) for batch in batches]
        for batch in batches:
            client.encode(batch, blocking=False)
        np.testing.assert_allclose(client.fetch_all(concat=True), np.concatenate(expected), atol=1e-5)
        found = sorted(client.encode_async(iter(batches), max_num_batch=5), key=lambda one: one.id)
        np.testing.assert_allclose([one.embedding for one in found], expected[:5], atol=1e-5)


def test_the_same_identity_hears_the_answer(usual: Any) -> None:
    """Both have asked and been answered, so both listen: what one asks the other hears too."""
    with connected(usual, identity=b"shared") as one, connected(usual, identity=b"shared") as other:
        while one.receiver.poll(0):
            one.receiver.recv_multipart()  # the other's configuration
        vectors = one.encode(TEXTS[:1])
        other.pending_request.add(one.request_id)
        np.testing.assert_array_equal(next(other.fetch()).embedding, vectors)


def test_concurrent_client(usual: Any) -> None:
    sockets = sockets_of(usual)
    client = ConcurrentBertClient(max_concurrency=4, port=sockets.port_in, port_out=sockets.port_out, timeout=20_000)
    found: dict[int, np.ndarray] = {}

    def work(number: int) -> None:
        found[number] = client.encode(texts=[f"{TEXTS[0]} {number}"])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    client.close()
    with connected(usual) as alone:
        for number in range(4):
            np.testing.assert_allclose(found[number], alone.encode([f"{TEXTS[0]} {number}"]), atol=1e-5)


def test_configuration_and_status(usual: Any) -> None:
    with connected(usual, show_server_config=True) as client:
        client.encode(TEXTS)
        config, status = client.server_config, client.server_status
        assert client.status["num_pending_request"] == 0
    assert config["max_seq_len"] == 25 and config["pooling_layer"] == [-2] and config["pooling_strategy"] == "REDUCE_MEAN"
    assert config["num_worker"] == 1 and config["model"] == "bert"
    assert status["statistic"]["num_data_request"] >= 1 and status["statistic"]["num_pending_request"] == 0


def test_what_is_refused_raises_at_the_client(server: Any, directory: Any) -> None:
    with (
        server(directory("bert"), bert=BertServiceSettings(port_in=0, port_out=0), text_characters=50, body_bytes=300) as running,
        connected(running) as client,
    ):
        with pytest.raises((TypeError, ValueError), match="a text of 60 characters"):
            client.encode(["a" * 60])
        with pytest.raises((TypeError, ValueError), match="send fewer texts"):
            client.encode(["a b c"] * 100)
        with pytest.raises((TypeError, ValueError), match="at least one text"):
            client._recv_ndarray(client._send(b"[]", 0))
        with pytest.raises((TypeError, ValueError), match="no JSON"):
            client._recv_ndarray(client._send(b"\xff", 0))
        client.encode(["a" * 60], blocking=False)
        with pytest.raises((TypeError, ValueError), match="plume refused"):
            client.fetch_all()
        client.sender.send_multipart([b"two", b"frames"])  # cannot be answered: logged
        assert client.encode(["a cat"]).shape[0] == 1
        assert client.server_status["statistic"]["num_refused_request"] == 5


@pytest.mark.parametrize("family", ["gpt2", "roberta", "t5", "xlnet", "elmo", "xlm"])
def test_other_families(start: Any, directory: Any, family: str) -> None:
    texts = TEXTS[:1] if family == "xlm" else TEXTS[:2]
    folder = directory(family)
    with start(folder, max_seq_len=None, pooling_layer=(-1,)) as running, connected(running) as client:
        found = client.encode(texts)
        assert client.encode([f"{TEXTS[0]} ||| {TEXTS[0]}"]).shape == found[:1].shape
        assert client.encode([["the", "cat", "zebra"]], is_tokenized=True).shape == found[:1].shape
    expected = [one.layers[-1].mean(0) for one in plume.load(folder).hidden(texts)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_over_http(usual: Any, directory: Any) -> None:
    answer = usual.client.post("/encode", json={"id": 123, "texts": TEXTS[:2], "is_tokenized": False}).json()
    with connected(usual) as client:
        np.testing.assert_allclose(answer["results"], client.encode(TEXTS[:2]), atol=1e-6)
    assert answer["id"] == 123 and answer["status"] == 200 and answer["result"] == answer["results"]
    assert usual.client.get("/status/server").json()["server_version"] == "1.10.0"
    assert usual.client.get("/status/client").json()["num_request"] == 1
    assert usual.client.post("/encode", json={"id": 1, "texts": ["a", ["a"]]}).status_code == 422


def test_what_cannot_work_is_said_at_the_start(directory: Any) -> None:
    with pytest.raises(PlumeError, match="leave out --workers"):
        ServeSettings(bert=BertServiceSettings(), workers=2)
    with pytest.raises(PlumeError, match="did you mean REDUCE_MAX"):
        strategy_of("REDUCE_MX")


def test_word_vectors(start: Any, corpus: Any, tmp_path: Path) -> None:
    """Their words are the tokens; there are no layers to choose."""
    model: Any = plume.pretrain("word2vec/tiny", corpus=corpus.files[0], out=tmp_path / "words", quiet=True)
    with start(tmp_path / "words", max_seq_len=None) as running, connected(running) as client:
        np.testing.assert_allclose(client.encode(TEXTS[:2]), model.embed(TEXTS[:2]), atol=1e-5)
    with start(tmp_path / "words", pooling_strategy=BertStrategy.NONE) as running, connected(running) as client:
        assert client.encode(TEXTS[:1]).shape == (1, 25, model.width)
