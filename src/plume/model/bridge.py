"""Bridge: what a family needs to be read from and written to a Hugging Face directory."""

from __future__ import annotations

from dataclasses import dataclass

from plume.model.config_map import ConfigMap
from plume.model.keymap import KeyMap
from plume.model.recipe import Recipe
from plume.model.task_head import TaskHead


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """transformers' classes for a family, and the two tables that lead there and back: of parameter names and of config.json."""

    model_type: str  # config.json's
    architectures: dict[str, tuple[str, ...]]  # transformers class: the objectives whose heads it holds; the last is the bare model
    prefix: str  # what stands before the body's names in these classes, and is missing in the bare model
    keys: KeyMap
    config: ConfigMap
    second: Bridge | None = None  # a second network in a folder of its own (ELECTRA's generator)
    token_types: bool = True  # segments are their token_type_ids; XLM's are languages, which no tokenizer knows
    languages: bool = False  # config.json names the languages of the vectors: lang2id, id2lang
    unmatched: tuple[str, ...] = ()  # our modules that transformers has no place for: they stay behind on export
    tasks: tuple[TaskHead, ...] = ()  # its classes with a head for a task

    def architecture(self, recipe: Recipe) -> str:
        """The smallest class that holds all heads the recipe has and this network carries."""
        carried = {name for names in self.architectures.values() for name in names}
        wanted = {objective.name for objective in recipe.objectives} & carried
        fitting = [name for name, held in self.architectures.items() if wanted <= set(held)]
        return fitting[-1]
