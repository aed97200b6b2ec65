"""plume tasks"""

from __future__ import annotations


def run() -> None:
    """List what a model can be trained for: fine-tuning tasks, and the objectives of pre-training."""
    from plume.core import catalog

    tasks = catalog.names("tasks")
    print("fine-tuning tasks: " + (", ".join(tasks) if tasks else "none in this version yet"))
    print("pre-training objectives: " + ", ".join(catalog.names("objectives")))
