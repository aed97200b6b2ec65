"""Language modelling: how well a model predicts text that it has not seen, and what it writes."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plume.core.errors import PlumeError
from plume.core.part import replace
from plume.data.corpus import Corpus, CorpusKind
from plume.data.encoding import encode_corpus
from plume.data.store import Store
from plume.data.store_files import StoreWriter
from plume.model.use.abilities import Abilities
from plume.model.use.blanks import fills
from plume.model.use.language_model import LanguageModel
from plume.objectives._objective import Answers
from plume.text.control import control_id
from plume.train.distributed import Processes
from plume.train.evaluate import evaluate
from plume.train.feeding import make_mixture
from plume.tuning.loaded import Loaded
from plume.tuning.task import DirectTask, Prediction
from plume.tuning.zero_shot.blanks import language_model
from plume.tuning.zero_shot.perplexity import fill_in, predict_next

_BLANK = r"_{3,}"
_SHORTEST = 8  # tokens of a window
_ROWS = 64  # of a batch, where the model's own objectives are measured
SAMPLE = 2000  # tokens that are masked, one at a time


@dataclass(frozen=True, kw_only=True)
class LanguageModelling(DirectTask):
    """What the model was pre-trained to do, measured and used as it is.

    >>> TASK.kind
    'language-modelling'
    """

    def predict(
        self, model: Loaded, items: Sequence[str], *, top: int = 5, language: str | None = None, **options: Any
    ) -> list[Prediction]:
        """A text with a blank (___ or the family's mask) is filled, any other one is gone on with; `options` are those of `generate`."""
        able = language_model(model, self.kind)
        return [_answer(able, text, top, language, options) for text in ([items] if isinstance(items, str) else items)]

    def evaluate(  # type: ignore[override]  # its options are named
        self,
        model: Loaded,
        paths: Sequence[Path],
        *,
        top: Sequence[int] = (1, 5),
        length: int | None = None,
        seed: int = 0,
        sample: int | None = SAMPLE,
        language: str | None = None,
    ) -> dict[str, float]:
        """Running text in the formats of pre-training. What is measured follows from what the model was trained to do.

        Left to right: the perplexity of every token, after half a window at least. From both sides: the pseudo-perplexity
        (arXiv:1910.14659) of `sample` tokens that `seed` draws, masked one at a time; None for all. Both with bits a character, which may be
        compared between tokenizers, and how often the right token is among the `top`. Others (T5, BART, GLM, translation): the loss and
        perplexity of their own objectives. `length` is the window, if not that of training.
        `language` is that of the text, for families with a vector for each (XLM); found for each document if it is not said.
        """
        able = language_model(model, self.kind)
        can, tokenizer = able.abilities, able.tokenizer
        if not can.token_kinds:
            raise PlumeError(f"{can.name} does not predict tokens, so its perplexity cannot be measured. {can.words()}")
        window = _window(can, length)
        direct = can.causal() is not None or fills(can)
        corpus = Corpus(list(paths), kind=CorpusKind.TEXT if direct else able.recipe.corpus)
        with tempfile.TemporaryDirectory() as folder:
            store = _read(corpus, able, Path(folder))
            if not direct:
                return _by_objectives(able, store, window, seed)
            tokens = int(store.counts.sum())
            if can.causal():
                tally, name = predict_next(can, store, length=window, tops=top, language=language), "perplexity"
            else:
                tally = fill_in(can, store, length=window, tops=top, sample=sample, seed=seed, language=language)
                name = "pseudo_perplexity"
        unknown = {} if tokenizer.unknown is None else {"unknown": float(store.counts[tokenizer.unknown]) / max(tokens, 1)}
        return {name: math.exp(tally.loss)} | tally.figures(tokens=tokens, characters=corpus.census().characters) | unknown


TASK = LanguageModelling(kind="language-modelling", title="language modelling: perplexity, blanks, continuations", metric="perplexity")


def _answer(able: LanguageModel, text: str, top: int, language: str | None, options: dict[str, Any]) -> Prediction:
    """The text with the likeliest fillings in place, and what else each blank may be; or what the model writes."""
    mask = able.tokenizer.format.mask
    blanks = re.compile(_BLANK if mask is None else f"{_BLANK}|{re.escape(mask)}")
    if not blanks.search(text):
        return {"text": able.generate(text, language=language, **options)}
    filled = able.fill(text, top=top, language=language)
    best = iter([blank[0].token for blank in filled])
    # One blank, or several that are written as one (BART): the model says how the text goes. Of many, each knows of its own only.
    whole = filled[0][0].text if len(filled) == 1 else blanks.sub(lambda found: next(best, found.group()), text)
    fillings = [[{"token": one.token, "score": one.probability} for one in blank] for blank in filled]
    return {"text": whole, "fillings": fillings}


def _window(can: Abilities, length: int | None) -> int:
    recipe = can.model.recipe
    longest = recipe.positions.longest
    window = length or (recipe.training.length if longest is None else min(longest, recipe.training.length))
    if window < _SHORTEST or (longest is not None and window > longest):
        most = "" if longest is None else f" and at most {longest}"
        raise PlumeError(f"{can.name} cannot be measured in windows of {window} tokens: --length takes {_SHORTEST} or more{most}.")
    return window


def _read(corpus: Corpus, able: LanguageModel, folder: Path) -> Store:
    """All of the text as pre-training cuts it, nothing held out."""
    tokenizer, census = able.tokenizer, corpus.census()
    writer = StoreWriter(folder / "text", tokenizer, pairs=corpus.kind is CorpusKind.PAIRS)
    for encoded in encode_corpus(corpus, tokenizer, able.recipe.words, workers=0, progress=None):
        writer.add(encoded)
    if not writer.finish()["tokens"]:
        raise PlumeError(f"{', '.join(map(str, corpus.files[:3]))}: there is no text to measure on.")
    codes = [-1 if number is None else number for number in (control_id(tokenizer, label) for label in census.labels)]
    info = {"vocabulary": tokenizer.size, "kind": corpus.kind.value, "labels": census.labels, "languages": census.languages, "codes": codes}
    return Store(folder / "text", info=info)


def _by_objectives(able: LanguageModel, store: Store, length: int, seed: int) -> dict[str, float]:
    """As pre-training measures held-out text: a number of batches at most, with masks that `seed` fixes."""
    recipe = able.recipe
    shorter = replace(recipe, training=replace(recipe.training, length=length))
    rows = max(1, min(_ROWS, len(store.tokens) // (4 * length)) // recipe.readings) * recipe.readings
    mixture = make_mixture(store, shorter, able.tokenizer, seed=seed, rows=rows)
    found = evaluate(able.model, mixture, device=able.device, processes=Processes(able.device))
    names = [
        one.name for kind in able.abilities.token_kinds for one in kind.objectives if one.answers is Answers.NOISE and one.asks is None
    ]
    each = {f"{name}/perplexity": math.exp(found[name]) for name in names if name in found}
    if not each:
        raise PlumeError(f"The text is too short for the objectives of {recipe.name}: give some documents of several sentences.")
    return {"perplexity": math.exp(found[names[0]]), "loss": found[names[0]]} | found | each
