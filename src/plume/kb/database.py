"""The sqlite file of a knowledge base: its tables, and its refusals as sentences."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plume.core.errors import PlumeError

FILE = "kb.sqlite"
FORMAT = 1
SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entity(id INTEGER PRIMARY KEY, name TEXT NOT NULL, key TEXT, literal INTEGER NOT NULL);
CREATE TABLE relation(id INTEGER PRIMARY KEY, name TEXT NOT NULL, key TEXT);
CREATE TABLE triple(s INTEGER NOT NULL, r INTEGER NOT NULL, o INTEGER NOT NULL, PRIMARY KEY(s, r, o)) WITHOUT ROWID;
CREATE TABLE alias(name TEXT NOT NULL, entity INTEGER NOT NULL, weight REAL NOT NULL, PRIMARY KEY(name, entity)) WITHOUT ROWID;
"""
INDEXES = """
CREATE INDEX triple_back ON triple(o, r, s);
CREATE INDEX entity_key ON entity(key) WHERE key IS NOT NULL;
"""


def create(folder: Path) -> sqlite3.Connection:
    """An empty one, in a folder that appears when it is complete: a kill leaves nothing, so nothing need be safe from one meanwhile."""
    database = sqlite3.connect(folder / FILE, isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA temp_store = FILE")
    database.executescript(SCHEMA)
    return database


def connect(folder: Path, *, write: bool = False) -> sqlite3.Connection:
    """One that is there; to read it needs no right to write."""
    path = folder / FILE
    if not path.exists():
        raise PlumeError(f"{folder} is no knowledge base ({FILE} is missing): make one with plume kb build triples.tsv --out {folder}.")
    with clear_errors(folder):
        database = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={'rw' if write else 'ro'}", uri=True, isolation_level=None, check_same_thread=False, timeout=30
        )
        database.execute("PRAGMA mmap_size = 268435456")
        found = database.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if found is None or int(found[0]) > FORMAT:
        version = "" if found is None else f" (format {found[0]}; this one reads up to {FORMAT})"
        raise PlumeError(f"{folder} was written by a newer plume{version}: install that, or build the knowledge base again.")
    return database


@contextmanager
def clear_errors(folder: Path) -> Iterator[None]:
    """Turn sqlite's refusals into sentences for the user."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = str(error)
        known = {
            "full": "Cannot write {}: the disk is full. Free some space; what was there before is intact.",
            "readonly": "Cannot write {}: no permission. Change it, or copy the knowledge base elsewhere.",
            "unable to open": "Cannot open {}: no permission. Change it, or copy the knowledge base elsewhere.",
            "locked": "Another process is writing to {}: wait for it, then try again.",
            "malformed": "{} is damaged: restore it, or build it again.",
            "not a database": "{} is damaged: restore it, or build it again.",
            "no such table": "{} is damaged: restore it, or build it again.",
        }
        for words, sentence in known.items():
            if words in said:
                raise PlumeError(sentence.format(folder)) from None
        raise
