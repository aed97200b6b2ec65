"""Export a model as a directory that runs without plume, checked before it appears."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from plume.core.errors import PlumeError, suggest
from plume.core.files import write_folder, write_json, write_text
from plume.exporting.checking import ENOUGH, Checked
from plume.exporting.formats import KINDS, FileKind
from plume.exporting.subjects import ExportSubject, LanguageSubject, TaskSubject
from plume.exporting.writing_subjects import LanguageWriting, TaskWriting, writes
from plume.model.checkpoint import TOKENIZER
from plume.model.use.language_model import LanguageModel
from plume.tuning.linear.model import LinearModel
from plume.tuning.loaded import Loaded
from plume.tuning.tuned import TunedModel
from plume.tuning.writing.written import WrittenTask

_USAGE = {
    "label": 'python run.py "a text" "another"; the two texts of a pair are separated by a tab',
    "choose": 'python run.py "context" "first choice" "second choice"',
    "span": 'python run.py "question" "context"',
    "tag": 'python run.py "a text" "another"',
    "embed": 'python run.py "a text" "another"',
    "write": 'python run.py "a text" "another"',
    "write_label": 'python run.py "a text" "another"; the two texts of a pair are separated by a tab',
    "write_number": 'python run.py "a text" "another"; the two texts of a pair are separated by a tab',
    "write_answer": 'python run.py "question" "context"',
    "write_reply": 'python run.py "what the user says" "what another says"',
}
_OUTPUTS = {
    "logits": "scores before their softmax or sigmoid",
    "last_hidden_state": "the states of all tokens",
    "sentence_embedding": "a vector of each text",
}
_PARTS = {
    "encoder": "`encoder{suffix}` ({kind}), exported by plume, reads texts once: input_ids and attention_mask, int64 [rows, source]. "
    "Its outputs source.0.key, source.0.value … are inputs of the decoder.",
    "decoder": "`decoder{suffix}` ({kind}), exported by plume, goes on by some tokens: input_ids, int64 [rows, tokens], and the cache, past.0.key, "
    "past.0.value …, float32 [rows, heads, tokens so far, width], of no tokens at first. Outputs: logits [rows, vocabulary] of the next token, "
    "and present.0.key …, which are the past of the next step.",
}
_EMBED, _GENERATE = "embed", "generate"  # what a language model is exported for


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written."""

    folder: Path
    checked: Checked
    int8: bool
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """For the user."""
        found = self.checked.lines()
        if self.int8 and self.checked.agreement < ENOUGH:
            found.append(f"warning: fewer than {ENOUGH:.0%} of the answers are those of float32; export without --int8 to keep them all")
        return [*found, *self.notes, f"{self.folder}: run.py and README.md there say how to use it without plume"]


def export_graph(
    model: Loaded, out: Path, *, to: str = "onnx", int8: bool = False, task: str | None = None, check: Path | None = None
) -> Exported:
    """The whole directory, or nothing. `check` is a file of the task's, or of texts, that both the file and torch read."""
    if to not in KINDS:
        raise PlumeError(f"There is no export format '{to}': {suggest(to, KINDS)}.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")
    subject, kind = subject_of(model, task, check), KINDS[to]
    found: list[Checked] = []

    def fill(folder: Path) -> None:
        runs = {}
        for part, graph in subject.graphs.items():
            path = folder / f"{part}{kind.suffix}"
            try:
                kind.write(graph, path, int8)
            except RuntimeError as error:
                raise PlumeError(f"torch cannot write this model as {kind.title} ({str(error).partition(chr(10))[0]}).") from error
            runs[part] = kind.open(graph, path)
        found.append(subject.check(runs))
        found[0].require(int8=int8)
        _describe(folder, subject, kind, int8=int8, checked=found[0])

    if out.exists():
        out.rmdir()
    write_folder(out, fill)
    return Exported(folder=out, checked=found[0], int8=int8, notes=tuple(subject.notes()))


def subject_of(model: Loaded, task: str | None, check: Path | None) -> ExportSubject:
    """A task of a tuned model. A language model writes if it can and nobody has said how it embeds; `task` says which of the two."""
    if isinstance(model, TunedModel) and not isinstance(model, LinearModel):
        asked = model.task(task)
        return TaskWriting(model, asked, check) if isinstance(asked, WrittenTask) else TaskSubject(model, asked, check)
    if not isinstance(model, LanguageModel):
        raise PlumeError("Only networks can be exported as a graph: word vectors and TF-IDF are tables.")
    if task not in (None, _EMBED, _GENERATE):
        raise PlumeError(f"A language model is exported to embed or to generate, not for '{task}': {suggest(task, [_EMBED, _GENERATE])}.")
    if task == _GENERATE or (task is None and model.sentence is None and writes(model)):
        return LanguageWriting(model, check)
    return LanguageSubject(model, check)


def _describe(folder: Path, made: ExportSubject, kind: FileKind, *, int8: bool, checked: Checked) -> None:
    parts = {part: {"inputs": list(graph.inputs), "outputs": list(graph.outputs)} for part, graph in made.graphs.items()}
    write_json(folder / "config.json", {**made.config, **parts.get("model", {}), "parts": parts, "int8": int8})
    made.tokenizer.save(folder / TOKENIZER)
    script = _script(made, kind)
    write_text(folder / "run.py", script)
    write_text(folder / "README.md", _readme(made, kind, script, checked))


def _script(made: ExportSubject, kind: FileKind) -> str:
    folder = resources.files("plume.exporting") / "scripts"
    text = "".join((folder / f"{part}.txt").read_text(encoding="utf-8") for part in ("_shared", made.shared, made.script))
    packages = f"{kind.needs.removeprefix('import ')} tokenizers numpy"
    told = {"TITLE": made.title, "INSTALL": packages, "USAGE": _USAGE[made.script], "NEEDS": kind.needs, "OPENED": kind.opened}
    for key, value in told.items():
        text = text.replace("{{" + key + "}}", value)
    return (
        text.replace("import json\nimport sys", "import json\nimport re\nimport sys") if "re.sub" in text or "re.search" in text else text
    )


def _readme(made: ExportSubject, kind: FileKind, script: str, checked: Checked) -> str:
    graph = made.graphs.get("model")
    if graph is not None:
        files = (
            f"`model{kind.suffix}` ({kind.title}), exported by plume. Inputs, all int64 [rows, tokens], padded on the right: "
            f"{', '.join(graph.inputs)}. Outputs: {', '.join(f'{name} ({_OUTPUTS[name]})' for name in graph.outputs)}."
        )
    else:
        files = " ".join(_PARTS[part].format(suffix=kind.suffix, kind=kind.title) for part in made.graphs)
    lines = [
        f"# {made.title}",
        files,
        f"{checked.lines()[0].capitalize()}.",
        "`config.json` holds labels and lengths, `tokenizer.json` is read by the package tokenizers. Longer texts than the model reads are cut.",
        "`run.py` needs neither plume nor the model's directory:",
        f"```python\n{script}```",
    ]
    return "\n\n".join(lines) + "\n"
