"""A Hugging Face directory, imported on the way: once, into plume's cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

from plume.data.store import cache_home
from plume.hf.importing import import_folder, is_task_folder
from plume.tuning.exchange import import_tuned


def as_model_directory(folder: Path) -> Path:
    """The same model as a directory of plume's; made again if a file of it has changed."""
    out = cache_home() / "imported" / f"{folder.name}-{_key(folder)}"
    if not out.is_dir():
        if is_task_folder(folder):
            import_tuned(folder, out)
        else:
            import_folder(folder, out)
    return out


def _key(folder: Path) -> str:
    made = hashlib.sha256()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        about = path.stat()
        made.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    return made.hexdigest()[:16]
