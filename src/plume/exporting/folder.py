"""Export a model as a directory that runs without plume, checked before it appears."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from itertools import islice
from pathlib import Path

from plume.core.batch import Batch
from plume.core.errors import PlumeError, suggest
from plume.core.files import write_folder, write_json, write_text
from plume.data.lines import read_lines
from plume.exporting.checking import ENOUGH, Checked, FileBesideTorch, check_language, check_task
from plume.exporting.formats import KINDS, FileKind
from plume.exporting.language_graph import LanguageGraph
from plume.exporting.samples import examples_for
from plume.exporting.settings_file import language_config, task_config
from plume.model.checkpoint import TOKENIZER
from plume.model.use.language_model import LanguageModel
from plume.model.use.runtimes._graph import Graph, Signature, require_graph
from plume.model.use.runtimes._samples import TEXTS
from plume.model.use.text_batches import TextBatches
from plume.text.tokenizer import Tokenizer
from plume.train.device import to_device
from plume.tuning.exchange import framed
from plume.tuning.graphs import require_head
from plume.tuning.linear.model import LinearModel
from plume.tuning.loaded import Loaded
from plume.tuning.rows.questions import in_reading_order, inference_batches
from plume.tuning.tuned import TunedModel

_USAGE = {
    "label": 'python run.py "a text" "another"; the two texts of a pair are separated by a tab',
    "choose": 'python run.py "context" "first choice" "second choice"',
    "span": 'python run.py "question" "context"',
    "tag": 'python run.py "a text" "another"',
    "embed": 'python run.py "a text" "another"',
}
_OUTPUTS = {
    "logits": "scores before their softmax or sigmoid",
    "last_hidden_state": "the states of all tokens",
    "sentence_embedding": "a vector of each text",
}


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written."""

    folder: Path
    checked: Checked
    int8: bool

    def lines(self) -> list[str]:
        """For the user."""
        found = self.checked.lines()
        if self.int8 and self.checked.agreement < ENOUGH:
            found.append(f"warning: fewer than {ENOUGH:.0%} of the answers are those of float32; export without --int8 to keep them all")
        return [*found, f"{self.folder}: run.py and README.md there say how to use it without plume"]


def export_graph(
    model: Loaded, out: Path, *, to: str = "onnx", int8: bool = False, task: str | None = None, check: Path | None = None
) -> Exported:
    """The whole directory, or nothing. `check` is a file of the task's, or of texts, that both the file and torch read."""
    if to not in KINDS:
        raise PlumeError(f"There is no export format '{to}': {suggest(to, KINDS)}.")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise PlumeError(f"{out} exists already: choose another --out.")
    if isinstance(model, TunedModel) and not isinstance(model, LinearModel):
        made: _Task | _Language = _Task(model, task, check)
    elif isinstance(model, LanguageModel):
        made = _Language(model, check)
    else:
        raise PlumeError("Only networks can be exported as a graph: word vectors and TF-IDF are tables.")
    found: list[Checked] = []

    def fill(folder: Path) -> None:
        kind = KINDS[to]
        try:
            kind.write(made.graph, folder / kind.file, int8)
        except RuntimeError as error:
            raise PlumeError(f"torch cannot write this model as {kind.title} ({str(error).partition(chr(10))[0]}).") from error
        found.append(made.check(FileBesideTorch(made.graph, kind.open(made.graph, folder / kind.file))))
        found[0].require(int8=int8)
        _describe(folder, made, kind, int8=int8, checked=found[0])

    if out.exists():
        out.rmdir()
    write_folder(out, fill)
    return Exported(folder=out, checked=found[0], int8=int8)


def _describe(folder: Path, made: _Task | _Language, kind: FileKind, *, int8: bool, checked: Checked) -> None:
    graph = made.graph
    config = {**made.config, "inputs": list(graph.inputs), "outputs": list(graph.outputs), "int8": int8}
    write_json(folder / "config.json", config)
    made.tokenizer.save(folder / TOKENIZER)
    script = _script(made.script, kind, made.title)
    write_text(folder / "run.py", script)
    write_text(folder / "README.md", _readme(made, kind, script, checked))


def _script(name: str, kind: FileKind, title: str) -> str:
    folder = resources.files("plume.exporting") / "scripts"
    text = (folder / "_shared.txt").read_text(encoding="utf-8") + (folder / f"{name}.txt").read_text(encoding="utf-8")
    packages = f"{kind.needs.removeprefix('import ')} tokenizers numpy"
    told = {"TITLE": title, "INSTALL": packages, "USAGE": _USAGE[name], "NEEDS": kind.needs, "OPENED": kind.opened}
    for key, value in told.items():
        text = text.replace("{{" + key + "}}", value)
    return text.replace("import json\nimport sys", "import json\nimport re\nimport sys") if name == "tag" else text


def _readme(made: _Task | _Language, kind: FileKind, script: str, checked: Checked) -> str:
    graph = made.graph
    lines = [
        f"# {made.title}",
        f"`{kind.file}` ({kind.title}), exported by plume. Inputs, all int64 [rows, tokens], padded on the right: {', '.join(graph.inputs)}. "
        f"Outputs: {', '.join(f'{name} ({_OUTPUTS[name]})' for name in graph.outputs)}.",
        f"{checked.lines()[0].capitalize()}.",
        "`config.json` holds labels and lengths, `tokenizer.json` is read by the package tokenizers. Longer texts than `max_length` are cut.",
        "`run.py` needs neither plume nor the model's directory:",
        f"```python\n{script}```",
    ]
    return "\n\n".join(lines) + "\n"


class _Task:
    """One task of a tuned model."""

    def __init__(self, tuned: TunedModel, name: str | None, file: Path | None) -> None:
        self.tuned, self.task = tuned, tuned.task(name)
        require_graph(tuned.model, tuned.model.body.recipe.name)
        require_head(tuned.model, self.task.called)
        _require_one_language(tuned.body)
        self.examples = examples_for(self.task, file)
        questions, _ = self.task.questions(self.examples[:2], tuned.coder())
        batch = in_reading_order(questions.batch(next(iter(inference_batches(questions)))), tuned.declared.order)
        self.graph: Graph = tuned.graph(self.task.called, Signature.of(to_device(batch, tuned.device)))
        self.tokenizer = framed(tuned)
        graph = tuned.graph(self.task.called, self.graph.signature)
        self.script, self.config = task_config(self.task, graph, tuned.coder())
        self.title = f"{tuned.model.body.recipe.name}, tuned for {self.task.called}"

    def check(self, compared: FileBesideTorch) -> Checked:
        """Its answers."""
        return check_task(self.tuned, self.task, self.examples, compared)


class _Language:
    """A language model."""

    def __init__(self, language: LanguageModel, file: Path | None) -> None:
        self.language = language
        require_graph(language.model, language.recipe.name)
        _require_one_language(language)
        texts = list(TEXTS) if file is None else [line for _, line in islice(read_lines(file, longest=None), 1000) if line.strip()]
        if not texts:
            raise PlumeError(f"{file} has no text to check with.")
        self.batches = _batches(language, texts)
        self.graph: Graph = LanguageGraph(language, Signature.of(self.batches[0]))
        self.tokenizer: Tokenizer = language.tokenizer
        self.script, self.config = language_config(language)
        self.title = language.recipe.name

    def check(self, compared: FileBesideTorch) -> Checked:
        """Its outputs."""
        return check_language(self.batches, compared)


def _batches(language: LanguageModel, texts: list[str]) -> list[Batch]:
    """Some together, some alone."""
    read = TextBatches(language.abilities, texts, [None] * len(texts))
    return [batch for rows in (8, 1) for _, batch in islice(read.batches(rows=rows), 8 if rows == 1 else None)]


def _require_one_language(language: LanguageModel) -> None:
    if language.model.languages is not None:
        raise PlumeError(
            f"{language.recipe.name} is told the language of every text, which no other tool does: it cannot be exported as a graph."
        )
