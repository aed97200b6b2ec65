"""A server that answers as Elasticsearch documents it, as far as plume asks; anything else, and any field that is not mapped, is refused with 400.

It is written from the reference, not from the connector: dense_vector's scores, knn's bounds, what bool, term, terms, range, exists, wildcard and
match mean, Lucene's BM25.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

Document = dict[str, Any]


class RefusedError(Exception):
    """400."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self) -> None:
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        lines = [json.loads(line) for line in body.splitlines() if line] if url.path.endswith("_bulk") else json.loads(body or "{}")
        self.server.requests.append((self.command, url.path, lines))  # type: ignore[attr-defined]
        try:
            status, answer = answer_to(self.server.indices, self.command, url.path, lines, parse_qs(url.query))  # type: ignore[attr-defined]
        except (RefusedError, KeyError, TypeError) as error:
            status, answer = 400, {"error": {"type": "illegal_argument_exception", "reason": repr(error)}, "status": 400}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/vnd.elasticsearch+json;compatible-with=9")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _answer


class DocumentIndex:
    def __init__(self, body: Document) -> None:
        need(body, {"mappings", "settings"})
        need(body["mappings"], {"dynamic", "_meta", "properties"})
        self.meta, self.properties, self.settings = body["mappings"]["_meta"], dict(body["mappings"]["properties"]), body["settings"]
        self.documents: dict[str, Document] = {}

    def kind(self, field: str) -> Document:
        name, _, sub = field.partition(".")
        if name not in self.properties:
            raise RefusedError(f"unmapped field {field}")
        return self.properties[name]["fields"][sub] if sub else self.properties[name]

    def values(self, document: Document, field: str) -> list[Any]:
        kind, value = self.kind(field), document.get(field.partition(".")[0])
        listed = value if isinstance(value, list) else [] if value is None else [value]
        return [int(one) if kind["type"] == "long" else one for one in listed]


def need(body: Document, allowed: set[str], required: tuple[str, ...] = ()) -> None:
    if (extra := set(body) - allowed) or not set(required) <= set(body):
        raise RefusedError(f"unknown {sorted(extra)} or missing of {required}")


def answer_to(indices: dict[str, DocumentIndex], method: str, path: str, body: Any, options: dict[str, list[str]]) -> tuple[int, Any]:
    name, _, verb = path.strip("/").partition("/")
    missing = 404, {"error": {"type": "index_not_found_exception", "reason": f"no such index [{name}]"}, "status": 404}
    if method == "PUT" and not verb:
        indices[name] = DocumentIndex(body)
        return 200, {"acknowledged": True, "index": name}
    if method == "DELETE" and not verb and name not in indices:
        return (200, {"acknowledged": True}) if options.get("ignore_unavailable") == ["true"] else missing
    if name not in indices:
        return missing
    index = indices[name]
    match method, verb:
        case "DELETE", "":
            del indices[name]
            return 200, {"acknowledged": True}
        case "PUT", "_mapping":
            return 200, put_mapping(index, body)
        case "GET", "_mapping":
            return 200, {name: {"mappings": {"_meta": index.meta, "properties": index.properties}}}
        case (("PUT" | "POST"), "_bulk"):
            return 200, bulk(index, body)
        case "POST", "_refresh" | "_forcemerge":
            return 200, {"_shards": {"failed": 0}}
        case "POST", "_count":
            need(body, {"query"})
            return 200, {"count": sum(score(index, one, body["query"]) is not None for one in index.documents.values())}
        case "GET", "_stats/store":
            return 200, {"_all": {"primaries": {"store": {"size_in_bytes": len(json.dumps(list(index.documents.values())))}}}}
        case "POST", "_search":
            return 200, {"hits": {"hits": search(index, body)}}
    raise RefusedError(f"{method} {path}")


def put_mapping(index: DocumentIndex, body: Document) -> Document:
    need(body, {"properties", "_meta"})
    for field, how in body["properties"].items():
        if index.properties.setdefault(field, how) != how:
            raise RefusedError(f"mapper [{field}] cannot be changed")
    index.meta = body["_meta"]
    return {"acknowledged": True}


def bulk(index: DocumentIndex, lines: list[Document]) -> Document:
    items, rows = [], iter(lines)
    for line in rows:
        ((verb, where),) = line.items()
        need(where, {"_id", "_index"}, ("_id",))
        if verb == "create":
            document = next(rows)
            status = 409 if where["_id"] in index.documents else 201
            check_vector(index, document)
            if status == 201:
                index.documents[where["_id"]] = document
        elif verb == "delete":
            status = 200 if index.documents.pop(where["_id"], None) else 404
        else:
            raise RefusedError(verb)
        items.append({verb: {"_id": where["_id"], "status": status}})
    return {"errors": any(one["status"] >= 400 for item in items for one in item.values()), "items": items}


def check_vector(index: DocumentIndex, document: Document) -> None:
    if "vector" in document and len(document["vector"]) != index.kind("vector")["dims"]:
        raise RefusedError("dims")


def search(index: DocumentIndex, body: Document) -> list[Document]:
    need(body, {"knn", "query", "size", "sort", "search_after", "_source"}, ("size",))
    if body["size"] > 10_000:
        raise RefusedError("Result window is too large")
    if "knn" in body:
        scored = nearest(index, body["knn"])
    else:
        scored = {key: found for key, one in index.documents.items() if (found := score(index, one, body["query"])) is not None}
    ids = sorted(scored, key=lambda key: -scored[key])
    if "sort" in body:
        ((field, order),) = body["sort"][0].items()
        ids.sort(key=lambda key: index.documents[key][field], reverse=order == "desc")
        if "search_after" in body:
            ids = [key for key in ids if index.documents[key][field] > body["search_after"][0]]
    source = body.get("_source", True)
    return [
        {"_id": key, "_score": None if "sort" in body else scored[key]}
        | ({"sort": [index.documents[key]["key"]]} if "sort" in body else {})
        | ({"_source": {name: value for name, value in index.documents[key].items() if name in source}} if source else {})
        for key in ids[: body["size"]]
    ]


def nearest(index: DocumentIndex, knn: Document) -> dict[str, float]:
    need(knn, {"field", "query_vector", "k", "num_candidates", "filter"}, ("field", "query_vector", "k", "num_candidates"))
    if not 1 <= knn["k"] <= knn["num_candidates"] <= 10_000:
        raise RefusedError("[num_candidates] cannot be less than [k], or more than 10000")
    how, query = index.kind(knn["field"]), np.array(knn["query_vector"])
    if how["type"] != "dense_vector" or len(query) != how["dims"]:
        raise RefusedError("dims")
    found = {}
    for key, document in index.documents.items():
        if all(score(index, document, one) is not None for one in knn.get("filter", [])):
            vector = np.array(document["vector"])
            product, far = float(vector @ query), float(((vector - query) ** 2).sum())
            by = {"l2_norm": 1 / (1 + far), "max_inner_product": product + 1 if product >= 0 else 1 / (1 - product)}
            found[key] = by[how["similarity"]]
    return dict(sorted(found.items(), key=lambda one: -one[1])[: knn["k"]])


def score(index: DocumentIndex, document: Document, query: Document) -> float | None:
    """None: it does not match."""
    ((kind, how),) = query.items()
    match kind:
        case "match_all":
            return 1.0
        case "bool":
            return combined(index, document, how)
        case "match":
            ((field, asked),) = how.items()
            need(asked, {"query", "operator"})
            return bm25(index, document, field, asked["query"].split())
        case "script_score":
            need(how, {"query", "script"})
            return None if score(index, document, how["query"]) is None else scripted(document, how["script"])
        case "exists":
            return 1.0 if index.values(document, how["field"]) else None
        case "terms":
            ((field, values),) = how.items()
            return 1.0 if any(same(one, value) for one in index.values(document, field) for value in values) else None
        case "term" | "range" | "wildcard":
            ((field, asked),) = how.items()
            return 1.0 if any(holds(index.kind(field)["type"], kind, one, asked) for one in index.values(document, field)) else None
    raise RefusedError(kind)


def combined(index: DocumentIndex, document: Document, how: Document) -> float | None:
    need(how, {"must", "filter", "must_not", "should", "minimum_should_match"})
    wanted = [score(index, document, one) for one in how.get("must", [])]
    found = [score(index, document, one) for one in how.get("should", [])]
    if any(one is None for one in wanted) or any(score(index, document, one) is None for one in how.get("filter", [])):
        return None
    if any(score(index, document, one) is not None for one in how.get("must_not", [])):
        return None
    if sum(one is not None for one in found) < how.get("minimum_should_match", 0):
        return None
    return sum(one for one in [*wanted, *found] if one is not None)


def same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and isinstance(one, str) == isinstance(other, str) and one == other


def holds(kind: str, question: str, value: Any, asked: Document) -> bool:
    if question == "term":
        need(asked, {"value"})
        return same(value, asked["value"])
    if question == "wildcard":
        need(asked, {"value"})
        if kind != "keyword":
            raise RefusedError("wildcard on what is no keyword")
        parts = re.findall(r"\\(.)|([*?])|(.)", asked["value"], re.DOTALL)
        pattern = "".join({"*": ".*", "?": "."}[sign] if sign else re.escape(escaped or plain) for escaped, sign, plain in parts)
        return re.fullmatch(pattern, value, re.DOTALL) is not None
    ((how, bound),) = asked.items()
    if kind == "boolean" or isinstance(value, str) != isinstance(bound, str):
        raise RefusedError("range")
    if isinstance(value, str):
        value, bound = value.encode(), bound.encode()
    return {"lt": value < bound, "lte": value <= bound, "gt": value > bound, "gte": value >= bound}[how]


def scripted(document: Document, script: Document) -> float:
    need(script, {"source", "params"})
    vector, query = np.array(document["vector"]), np.array(script["params"]["query"])
    if "l2norm(params.query, 'vector')" in script["source"]:
        return 1 / (1 + float(((vector - query) ** 2).sum()))
    if "dotProduct(params.query, 'vector')" in script["source"]:
        product = float(vector @ query)
        return product + 1 if product >= 0 else 1 / (1 - product)
    raise RefusedError("script")


def bm25(index: DocumentIndex, document: Document, field: str, asked: list[str]) -> float | None:
    how = index.kind(field)
    if how["type"] != "text" or how["analyzer"] != "whitespace":
        raise RefusedError("match")
    shape = index.settings["similarity"][how["similarity"]]
    all_words = [Counter(one[field].split()) for one in index.documents.values()]
    mean = sum(one.total() for one in all_words) / len(all_words)
    words, total = Counter(document[field].split()), 0.0
    for word in asked:
        if words[word]:
            often = sum(word in one for one in all_words)
            rare = math.log(1 + (len(all_words) - often + 0.5) / (often + 0.5))
            total += rare * words[word] / (words[word] + shape["k1"] * (1 - shape["b"] + shape["b"] * words.total() / mean))
    return total or None
