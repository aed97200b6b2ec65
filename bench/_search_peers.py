"""What bench/search.py compares with: milvus-lite in this environment, txtai in one of its own. Each: seconds to build, ms a query, recall@10.

txtai has an environment of its own, because it brings versions of its own: pip install torch==2.13.0, then txtai==9.14.0.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

Figures = tuple[float, float, float]
_TXTAI = """
import json, sys, time
import numpy as np
from txtai import Embeddings

vectors = np.load(sys.argv[1]); rows, queries = vectors[:-200], vectors[-200:]
given = {str(i): v for i, v in enumerate(rows)}
asked = {f"q{i}": v for i, v in enumerate(queries)}
embed = lambda texts: np.array([(asked if str(t).startswith("q") else given)[str(t)] for t in texts], dtype=np.float32)
made = {}
for name, components in (("default", {}), ("HNSW", {"components": "IDMap,HNSW32"}), ("flat", {"components": "IDMap,Flat"})):
    index = Embeddings(method="external", transform=embed, content=True, backend="faiss", faiss=components)
    began = time.perf_counter()
    index.index(({"text": str(i), "hundredth": i % 100}) for i in range(len(rows)))
    seconds, times, found = time.perf_counter() - began, [], []
    for number in range(100):
        began = time.perf_counter()
        hits = index.search(f"select text, score from txtai where similar('q{number}', 200) and hundredth < 10 limit 10")
        times.append(1000 * (time.perf_counter() - began))
        found.append([int(hit["text"]) for hit in hits])
    made[name] = seconds, times, found
print(json.dumps(made))
"""


def recall(found: list[list[int]], vectors: np.ndarray) -> float:
    """Against exact search over the tenth that the filter leaves."""
    rows, queries = vectors[:-200], vectors[-200:][: len(found)]
    left = np.flatnonzero(np.arange(len(rows)) % 100 < 10)
    right = left[np.argsort(-(queries @ rows[left].T), axis=1)[:, :10]]
    return float(np.mean([len(np.intersect1d(one, other)) / 10 for one, other in zip(found, right, strict=True)]))


def milvus(path: Path) -> Figures | str:
    """HNSW, flushed and loaded, as its documentation advises."""
    try:
        from pymilvus import MilvusClient
    except ImportError:
        return "not installed"
    vectors = np.load(path)
    rows, queries = vectors[:-200], vectors[-200:]
    with tempfile.TemporaryDirectory() as folder:
        client = MilvusClient(str(Path(folder) / "m.db"))
        began = time.perf_counter()
        schema = client.create_schema(auto_id=False)
        from pymilvus import DataType

        schema.add_field("id", DataType.INT64, is_primary=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=rows.shape[1])
        schema.add_field("hundredth", DataType.INT64)
        wanted = client.prepare_index_params()
        wanted.add_index("vector", index_type="HNSW", metric_type="IP", params={"M": 32, "efConstruction": 40})
        client.create_collection("c", schema=schema, index_params=wanted)
        for begin in range(0, len(rows), 5_000):
            block = range(begin, min(len(rows), begin + 5_000))
            client.insert("c", [{"id": row, "vector": rows[row], "hundredth": row % 100} for row in block])
        client.flush("c")
        client.load_collection("c")
        seconds = time.perf_counter() - began
        times, found = [], []
        for number in range(50):
            began = time.perf_counter()
            hits = client.search("c", data=[queries[number]], filter="hundredth < 10", limit=10, output_fields=["hundredth"])[0]
            times.append(1_000 * (time.perf_counter() - began))
            found.append([int(hit["id"]) for hit in hits])
        client.close()
    return seconds, statistics.median(times), recall(found, vectors)


def txtai(path: Path, python: str | None) -> dict[str, Figures] | str:
    """By SQL over what it chooses itself, over HNSW, and exact; it filters what the 200 nearest leave."""
    if python is None:
        return "skipped: give --txtai PYTHON of an environment that has it"
    ran = subprocess.run([python, "-c", _TXTAI, str(path)], capture_output=True, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    if ran.returncode:
        return f"failed: {ran.stderr.strip().splitlines()[-1]}"
    vectors = np.load(path)
    return {
        name: (seconds, statistics.median(times), recall([one + [-1] * (10 - len(one)) for one in found], vectors))
        for name, (seconds, times, found) in json.loads(ran.stdout.splitlines()[-1]).items()
    }
