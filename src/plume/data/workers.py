"""The encoder in several processes: chunks of documents in, arrays out, in order.

The processes are plain subprocesses that speak over pipes. multiprocessing's would import the user's main module again (and torch with
it), and break in a script without `if __name__ == "__main__"`.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import struct
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import IO

import numpy as np
import tokenizers

from plume.core.part import part_from_json
from plume.data.encoder import EncodedDocuments, Encoder, token_type
from plume.data.layouts.carried import Spans
from plume.text.tokenizer import Tokenizer
from plume.text.words import Words

_COMMAND = "from plume.data.workers import serve; serve()"
_ARRAYS = ("tokens", "word_start", "sentence_length", "document_length", "document_text", "sentence_continued")  # what the encoder knows


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """What is encoded at once: documents as lists of paragraphs, and the fields that they carry."""

    documents: Sequence[Sequence[str]]
    named: dict[str, Spans] = field(default_factory=dict)


class EncoderProcesses:
    """So many processes, each with its own copy of the tokenizer."""

    def __init__(self, tokenizer: Tokenizer, *, words: Words, workers: int, pairs: bool = False) -> None:
        self._size = tokenizer.size
        setting = {"tokenizer": tokenizer.backend.to_str(), "format": tokenizer.format.to_json(), "words": words.value, "pairs": pairs}
        # The same places to import from, but never the current folder: a file tokenizers.py there must not be taken for the library.
        environment = os.environ | {"TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-P", "-c", _COMMAND]
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) for _ in range(workers)
        ]
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(workers)
        self._setting = json.dumps(setting, ensure_ascii=False).encode()
        self._fresh = {process.pid for process in self._processes}  # those that still wait for the setting
        for process in self._processes:
            self._idle.put(process)

    def encode_all(self, chunks: Iterable[Chunk]) -> Iterator[EncodedDocuments]:
        """In the order of the chunks, a few of which are under way at once."""
        waiting: deque[Future[EncodedDocuments]] = deque()
        for chunk in chunks:
            waiting.append(self._threads.submit(self._encode, chunk))
            if len(waiting) > len(self._processes) + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __enter__(self) -> EncoderProcesses:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:  # an answer still under way is of no use
            for process in self._processes:
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            assert process.stdin is not None
            assert process.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # what a dead process did not read
                process.stdin.close()
            process.stdout.close()
            process.wait()

    def _encode(self, chunk: Chunk) -> EncodedDocuments:
        process = self._idle.get()
        try:
            if process.pid in self._fresh:
                _send(process.stdin, self._setting)
                self._fresh.remove(process.pid)
            named = {name: spans.tolist() for name, spans in chunk.named.items()}
            _send(process.stdin, json.dumps([chunk.documents, named], ensure_ascii=False).encode())
            answer = _receive(process.stdout)
        except (BrokenPipeError, EOFError):
            raise RuntimeError(
                f"A tokenizing process ended early (exit status {process.wait()}). If the system killed it for lack of memory, "
                "set PLUME_WORKERS to a smaller number."
            ) from None
        finally:
            self._idle.put(process)
        return _unpack(answer, vocabulary=self._size, names=tuple(chunk.named))


def serve() -> None:
    """The other side: runs in the child process until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    inward, outward = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    with contextlib.suppress(EOFError):
        setting = json.loads(_receive(inward))
        backend = tokenizers.Tokenizer.from_str(setting["tokenizer"])
        tokenizer = Tokenizer(backend, format=part_from_json(setting["format"]))
        encoder = Encoder(tokenizer, words=Words(setting["words"]), pairs=setting["pairs"])
        while True:
            documents, named = json.loads(_receive(inward))
            spans = {name: np.array(found, np.int64).reshape(-1, 3) for name, found in named.items()}
            _send(outward, _pack(encoder.encode(documents, spans)))


def _pack(encoded: EncodedDocuments) -> bytes:
    arrays = [*(getattr(encoded, name) for name in _ARRAYS), *encoded.named.values()]
    return struct.pack(f"<{len(arrays)}q", *map(len, arrays)) + b"".join(array.tobytes() for array in arrays)


def _unpack(data: bytes, *, vocabulary: int, names: tuple[str, ...]) -> EncodedDocuments:
    types = [np.dtype(token_type(vocabulary)), np.dtype(np.bool_), *[np.dtype(np.int64)] * 3, np.dtype(np.bool_)]
    types += [np.dtype(np.int64)] * len(names)
    head = f"<{len(types)}q"
    arrays, place = [], struct.calcsize(head)
    for length, kind in zip(struct.unpack_from(head, data), types, strict=True):
        arrays.append(np.frombuffer(data, kind, length, place))
        place += length * kind.itemsize
    plain = len(_ARRAYS)
    return replace(EncodedDocuments.plain(*arrays[:plain]), named=dict(zip(names, arrays[plain:], strict=True)))


def _send(stream: IO[bytes] | None, data: bytes) -> None:
    assert stream is not None
    stream.write(struct.pack("<q", len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    size = struct.unpack("<q", head)[0]
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data
