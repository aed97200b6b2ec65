"""Index: texts with metadata, found by meaning, by words, or by both."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from plume.core.embedder import Embedder, question_vectors
from plume.core.errors import PlumeError
from plume.core.files import make_folder
from plume.data.documents import clean
from plume.search import arguments
from plume.search.adding import Added, Addition, add_documents, checked
from plume.search.address import without_password
from plume.search.again import embed_again
from plume.search.backend import ID, Backend, Vectors
from plume.search.backends import addressed, create_backend, elsewhere, open_backend
from plume.search.hits import Hit
from plume.search.models import Model, fingerprint_of, load_embedder, model_of, usual_metric
from plume.search.ranking import CANDIDATES, make_hits
from plume.search.rerank import load_reranker, rerank_hits
from plume.search.schema import MetadataSchema
from plume.search.settings import EMBEDDED, Analysis, IndexSettings, Metric
from plume.search.sources import SourceColumns, from_records, read_sources
from plume.search.where.parse import parse_where
from plume.search.where.tree import Condition, MetadataType

By = Literal["vectors", "words", "hybrid"]
Documents = Iterable[str | Mapping[str, Any]]


class Index:
    """In a folder; `open` one, or `create` it.

    Texts or records go in with `add`, hits come out of `search`. What is added is committed at once, and a kill at any moment leaves the last
    committed state. One process may write, any number may read.
    """

    def __init__(self, folder: Path, settings: IndexSettings, backend: Backend, model: Model | None = None) -> None:
        self.folder, self.settings, self.backend = folder, settings, backend
        self._given = model
        self._embedder: Embedder | None = None
        self._changing = threading.RLock()  # one change at a time, whichever thread makes it

    # Opening

    @classmethod
    def create(
        cls,
        folder: str | Path,
        *,
        model: Model | None = None,
        dimension: int | None = None,
        type: str = "auto",
        recall: float = 0.95,
        metric: str | None = None,
        words: str | None = "jieba",
        passage: int = 200,
        overlap: int = 0,
        title: str | None = None,
        backend: str = EMBEDDED,
    ) -> Self:
        """An empty one. Its vectors are those of `model`, a model directory or whatever embeds; or come ready, with `dimension`; without both it
        finds by words only. `metric` is as the model's vectors are compared, if nothing is said. `words` says how Chinese is cut (jieba or
        trigram), None leaves words out. `title` is the field that is put before every passage of a document when it is embedded."""
        path = Path(folder)
        arguments.free(path)
        if dimension is not None:
            arguments.positive(dimension, "dimension")
        if model is None and dimension is None and words is None:
            raise PlumeError("An index without a model, vectors or words finds nothing: give one of them.")
        embedder = None if model is None else load_embedder(model)
        settings = IndexSettings(
            backend=backend,
            dimension=dimension if embedder is None else embedder.width,
            metric=usual_metric(embedder) if metric is None else arguments.one_of(Metric, metric, "--metric"),
            type=type,
            recall=arguments.share(recall, "--recall"),
            words=None if words is None else arguments.one_of(Analysis, words, "--words"),
            passage=arguments.positive(passage, "--passage"),
            overlap=min(arguments.not_negative(overlap, "--overlap"), passage // 2),
            title=title,
            model=None if model is None or embedder is None else fingerprint_of(model, embedder),
        )
        settings = addressed(path, settings)
        make_folder(path)
        made = cls(path, settings, create_backend(path, settings), model)
        made._embedder = embedder
        settings.save(path)  # last: a folder without it is no index
        return made

    @classmethod
    def open(cls, folder: str | Path, *, model: Model | None = None, backend: str | None = None) -> Self:
        """One that is there. `model` is asked for queries in place of the one that is written in it; a model that did not make its vectors is
        refused. `backend` is the address of its server with a password, or where that is now."""
        path = Path(folder)
        settings = elsewhere(path, IndexSettings.load(path), backend)
        return cls(path, settings, open_backend(path, settings), model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.backend.count()[0]

    def close(self) -> None:
        """Every change was committed when it was made."""
        self.backend.close()

    # Changing

    def add(
        self, documents: Documents, *, vectors: Any = None, text: str | Sequence[str] = (), id: str | None = None, skip_known: bool = False
    ) -> Added:
        """Texts, or records with a text, an id and metadata. With ready `vectors`, one a document, nothing is embedded, and nothing cut."""
        columns = arguments.columns(text, id)
        return self._add(
            from_records(documents, columns),
            Addition(vectors=arguments.table_of_vectors(vectors), skip=skip_known, embed=self._embed),
            columns,
        )

    def add_files(
        self, files: Sequence[str | Path], *, vectors: Any = None, text: str | Sequence[str] = (), id: str | None = None,
        types: Mapping[str, str] | None = None, replace_known: bool = False, skip_known: bool = False,
        shown: Callable[[Added], None] = lambda _: None,
    ) -> Added:  # fmt: skip
        """The same of JSONL, CSV, TSV or text files, or "-" for standard input. Documents without an id are called by file and line."""
        columns = arguments.columns(text, id, types)
        how = Addition(vectors=arguments.table_of_vectors(vectors), skip=skip_known, replace=replace_known, shown=shown, embed=self._embed)
        return self._add(read_sources(files, columns, self.settings.names(files)), how, columns)

    def update(self, documents: Documents, *, vectors: Any = None, text: str | Sequence[str] = (), id: str | None = None) -> Added:
        """Put documents in the place of those with the same ids; new ones are added."""
        columns = arguments.columns(text, id)
        return self._add(
            from_records(documents, columns),
            Addition(vectors=arguments.table_of_vectors(vectors), replace=True, embed=self._embed),
            columns,
        )

    def _add(self, documents: Any, how: Addition, columns: SourceColumns) -> Added:
        arguments.check_vectors(self.folder, self.settings, ready=how.vectors is not None, given=self._given is not None)
        with self._changing:
            schema = MetadataSchema(self.backend.columns, columns.types)
            try:
                added = add_documents(self.backend, self.settings, documents, schema, how)
            except BaseException:
                self.backend.rollback()
                raise
            self.prepared = self.backend.prepare()
        return added

    prepared: str | None = None  # what the last addition built, in words

    def remove(self, ids: Sequence[str]) -> int:
        """How many of these documents were there, and are not any more."""
        with self._changing:
            removed = self.backend.remove([clean(str(one)) for one in ids])
            self.backend.commit()
        return removed

    def compact(self) -> None:
        """Drop what was removed for good, and build what searches anew."""
        with self._changing:
            self.backend.compact()

    def check(self) -> list[str]:
        """What is wrong, a sentence each; empty if all is well."""
        return self.backend.check()

    def info(self) -> dict[str, Any]:
        """What it is and what it holds."""
        documents, passages = self.backend.count()
        settings = self.settings
        model = None if settings.model is None else {key: value for key, value in settings.model.items() if key != "probe"}
        return {
            "folder": str(self.folder), "backend": without_password(settings.backend),
            "documents": documents, "passages": passages, "dimension": settings.dimension,
            "metric": settings.metric.value, "words": settings.words and settings.words.value, "passage": settings.passage, "model": model,
            "columns": {name: kind.value for name, kind in self.backend.columns.items()},
        } | self.backend.info()  # fmt: skip

    # Searching

    @property
    def default_by(self) -> By:
        """By both sides where there are both."""
        if self.settings.dimension is None:
            return "words"
        return "vectors" if self.settings.words is None else "hybrid"

    @property
    def text_ways(self) -> list[By]:
        """How it can be asked for a text, the usual first: by vectors only if it knows a model, which it does not if they came ready."""
        known = self._given is not None or "path" in (self.settings.model or {})
        near: list[By] = ["vectors"] if self.settings.dimension is not None and known else []
        said: list[By] = [] if self.settings.words is None else ["words"]
        return ["hybrid", *near, *said] if near and said else near or said

    def search(
        self, query: str, *, top: int = 10, where: str | None = None, by: By | None = None, rerank: Any = None, exact: bool = False
    ) -> list[Hit]:
        """The best passages for a query. `where` filters by metadata; `by` is vectors, words or hybrid (both, merged by their scores);
        `rerank`, a model directory or a function, reads the best again together with the query; `exact` compares with all vectors."""
        return self.search_many([query], top=top, where=where, by=by, rerank=rerank, exact=exact)[0]

    def search_many(
        self,
        queries: Sequence[str],
        *,
        top: int = 10,
        where: str | None = None,
        by: By | None = None,
        rerank: Any = None,
        exact: bool = False,
    ) -> list[list[Hit]]:
        """The same for several at once, which is faster."""
        queries = [clean(one) for one in queries]
        if not all(one.strip() for one in queries):
            raise PlumeError("The query is empty.")
        arguments.positive(top, "--top")
        if top > CANDIDATES:  # room is made for as many as are asked for
            top = min(top, max(1, self.backend.count()[1]))
        side, reranker = arguments.side(self.folder, self.settings, by or self.default_by), load_reranker(rerank)
        wide = max(top, CANDIDATES) if side == "hybrid" or reranker else top
        if self._embedder is None:
            self.condition(where)  # what is wrong in it is said before the model is loaded
        vectors = self._query_vectors(queries) if side != "words" else None
        with self.backend.snapshot():
            condition = self.condition(where)
            near = None if vectors is None else self.backend.search_vectors(vectors, top=wide, where=condition, exact=exact)
            said = None if side == "vectors" else self.backend.search_words(queries, top=wide, where=condition)
            found = make_hits(self.backend, queries, near, said, top=wide if reranker else top, analysis=self.settings.words)
        return found if reranker is None else [rerank_hits(one, hits, reranker, top) for one, hits in zip(queries, found, strict=True)]

    def condition(self, where: str | None) -> Condition | None:
        """A filter over this index's fields, read."""
        return None if where is None else parse_where(where, {**self.backend.columns, ID: MetadataType.TEXT})

    def _query_vectors(self, queries: list[str]) -> Vectors:
        return checked(question_vectors(self.embedder, queries), self.settings, lambda row: f"The query '{queries[row][:60]}'")

    # The model

    def _embed(self, texts: list[str]) -> Vectors:
        return self.embedder.embed(texts)

    @property
    def embedder(self) -> Embedder:
        """The model that made the vectors, checked to be the same."""
        if self._embedder is None:
            self._embedder = model_of(self.folder, self.settings, self._given)
        return self._embedder

    def embed_again(self, model: Model, *, shown: Callable[[int], None] = lambda _: None) -> Index:
        """The same passages with the vectors of another model. The new index replaces the old when it is complete."""
        with self._changing:
            said = embed_again(self.folder, self.settings, self.backend, model, shown)
        made = type(self).open(self.folder, model=model, backend=self.settings.backend)
        made.prepared = said
        return made
