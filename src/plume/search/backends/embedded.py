"""The backend in the index's own folder."""

from plume.search.embedded.store import EmbeddedStore

BACKEND = EmbeddedStore
