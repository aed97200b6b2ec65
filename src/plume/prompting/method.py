"""PromptMethod: a way to use a prompt. From a model and few examples to a tuned model's directory, which is as any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from plume.core.method import NamedMethod

if TYPE_CHECKING:
    from plume.prompting.job import PromptJob


@dataclass(frozen=True, kw_only=True)
class PromptMethod(NamedMethod):
    """Base of the methods, each a file in `methods/` that ends with its declaration, `METHOD`. Its fields are what a user may set."""

    folder: ClassVar[str] = "prompting.methods"
    purpose: ClassVar[str] = "to use a prompt"
    several: ClassVar[bool] = False  # does it take more than one template?
    usual: ClassVar[int] = 1  # templates that it takes where the user gives none
    unlabelled: ClassVar[bool] = False  # does it learn from texts without a label?
    text_optional: ClassVar[bool] = False  # … and without them?
    finds_words: ClassVar[bool] = False  # does it find the words of the labels?
    by_folds: ClassVar[bool] = False  # does it hold folds of the examples out itself?
    prompted: ClassVar[bool] = True  # is there a template? Controls have none

    def run(self, job: PromptJob) -> str | None:
        """Write the model to `job.folder`; what was stopped by a signal returns the signal's name. Called again, it goes on."""
        raise NotImplementedError


def names() -> list[str]:
    """Of all methods."""
    return PromptMethod.names()


def method(name: str) -> PromptMethod:
    """The one that a user names."""
    return PromptMethod.named(name)


def described() -> list[tuple[str, str, str]]:
    """Name, what it does, paper, of all."""
    return PromptMethod.described()
