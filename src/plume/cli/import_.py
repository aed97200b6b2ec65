"""plume import"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def run(
    folder: Annotated[Path, typer.Argument(help="Hugging Face or sentence-transformers directory, or a file of word vectors.")],
    out: Annotated[Path, typer.Option(help="Output model directory.")],
) -> None:
    """Import a Hugging Face directory, with its task head if it has one, or a file of word vectors."""
    if folder.is_file():
        from plume.static.exchange import import_vectors

        made = import_vectors(folder, out)
        for note in made.vectors.notes:
            print(note)
        print(f"{out}: {len(made.vectors):,} words × {made.vectors.dimension}")
        return
    from plume.hf.importing import import_folder, is_task_folder
    from plume.hf.sentence_folders import is_static_folder

    if is_static_folder(folder):
        from plume.hf.static_embedding import import_static

        words = import_static(folder, out)
        print(f"{out}: static vectors of {len(words.vectors):,} tokens × {words.vectors.dimension}")
        return
    if is_task_folder(folder):
        from plume.tuning.exchange import import_tuned

        task = import_tuned(folder, out).task()
        labels = f", labels {', '.join(task.labels[:12])}{' …' if len(task.labels) > 12 else ''}" if task.labels else ""
        print(f"{out}: fine-tuned for {task.called}{labels} (model card: {out / 'card.md'})")
        return
    imported = import_folder(folder, out)
    recipe = imported.model.recipe
    parameters = sum(parameter.numel() for parameter in imported.model.parameters())
    for note in imported.notes:
        print(note)
    if imported.sentence is not None:
        print("Its sentence vectors are those of sentence-transformers (sentence.json).")
    print(f"{out}: {recipe.name}, {parameters:,} parameters, {imported.tokenizer.size:,} tokens")
