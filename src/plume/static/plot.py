"""A two-dimensional map of words: PCA or t-SNE, as a PNG or as one interactive page that needs nothing else."""

from __future__ import annotations

import enum
import html
import json
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plume.core.errors import PlumeError, suggest
from plume.core.files import write_atomic, write_text
from plume.core.seeds import Draws
from plume.static.vectors import WordVectors, unit_rows
from plume.text.languages import has_han

_MOST_TSNE = 2_000  # the exact method costs the square of it
_NEIGHBOURS = 8  # lit up in the page
# Fonts with Chinese glyphs, in the order they are looked for.
_CHINESE_FONTS = (
    "Noto Sans CJK SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "SimHei",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Noto Sans SC", "Noto Serif CJK SC", "Droid Sans Fallback", "Arial Unicode MS",
)  # fmt: skip
_NO_CHINESE = (
    "No font with Chinese characters was found, so they show as boxes: install one (Debian: fonts-noto-cjk), "
    "or write a page, --out map.html."
)


class Method(enum.StrEnum):
    """How many dimensions become two."""

    PCA = "pca"  # the two directions of largest variance: distances between groups can be read, crowds overlap
    TSNE = "tsne"  # keeps near words near: groups stand out, distances between them mean little


def chosen_words(vectors: WordVectors, words: Sequence[str], file: Path | None, most_frequent: int) -> list[str]:
    """The words named, here or one a line in a file, each once; if none is named, the first ones that are not mere signs."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines() if file else []
    except (OSError, UnicodeDecodeError) as error:
        raise PlumeError(f"Cannot read words from {file}: {error}.") from None
    named = list(dict.fromkeys([*words, *filter(None, map(str.strip, lines))]))
    if named or file:
        return named
    return list(islice((word for word in vectors.words if any(map(str.isalpha, word)) and not word.startswith("<")), most_frequent))


def points(vectors: WordVectors, words: Sequence[str], *, method: Method | str = Method.PCA, seed: int = 0) -> NDArray[np.float64]:
    """[N, 2]: where each word stands. Over unit vectors, since neighbours are by cosine."""
    if method not in list(Method):
        raise PlumeError(f"There is no map by '{method}': {suggest(method, list(Method))}")
    if len(words) < 3:
        raise PlumeError(f"A map of {len(words)} words shows nothing: name at least three.")
    rows = unit_rows(vectors.stack(words).astype(np.float64))
    return pca(rows) if Method(method) is Method.PCA else tsne(rows, seed=seed)


def pca(rows: NDArray[np.float64], dimensions: int = 2) -> NDArray[np.float64]:
    """[N, dimensions], each direction's sign such that its largest entry is positive, so that a map does not flip between machines."""
    left, values, _ = np.linalg.svd(rows - rows.mean(0), full_matrices=False)
    made = np.zeros((len(rows), dimensions))
    kept = min(dimensions, len(values))
    made[:, :kept] = left[:, :kept] * values[:kept]
    return made * np.where(made[np.abs(made).argmax(0), np.arange(dimensions)] < 0, -1, 1)


def tsne(
    rows: NDArray[np.float64], *, perplexity: float = 30.0, steps: int = 500, seed: int = 0, start: NDArray | None = None
) -> NDArray[np.float64]:
    """Exact t-SNE (van der Maaten and Hinton 2008) with the authors' settings: early exaggeration 4 for 100 steps, momentum .5 then .8, gains.

    It begins with the principal components, or with the places `start` of another map.
    """
    size = len(rows)
    if size > _MOST_TSNE:
        raise PlumeError(f"t-SNE of {size:,} words would take the square of it; choose at most {_MOST_TSNE:,}, or the method pca.")
    wanted = _joint(rows, perplexity=min(perplexity, (size - 1) / 3)).astype(np.float32)
    random = Draws(seed=seed, epoch=0, index=np.arange(size)).uniform(2)
    place = pca(rows) if start is None else np.asarray(start, np.float64)
    place = 1e-2 * (place / max(place.std(), 1e-12) + 0.1 * (random - 0.5))  # from PCA: the same groups on the same side each time
    velocity, gains = np.zeros_like(place), np.ones_like(place)
    rate = max(size / 16, 50.0)  # a rate that grows with the number of points (Belkina et al. 2019)
    for step in range(steps):
        exaggeration, momentum = (4.0, 0.5) if step < 100 else (1.0, 0.8)
        gradient = _gradient(place, wanted, exaggeration)
        gains = np.maximum(np.where(np.sign(gradient) == np.sign(velocity), gains * 0.8, gains + 0.2), 0.01)
        velocity = momentum * velocity - rate * gains * gradient
        place = place + velocity
        place -= place.mean(0)
    return place


def _gradient(place: NDArray[np.float64], wanted: NDArray[np.float32], exaggeration: float) -> NDArray[np.float64]:
    """[N, 2], equation 5 of the paper, 4 sum_j (p - q)(y_i - y_j) w with w = 1 / (1 + |y_i - y_j|^2): what pulls, then what pushes.

    Single precision and in place: the [N, N] arrays are the whole cost.
    """
    with_one = np.column_stack([place, np.ones(len(place))]).astype(np.float32)  # its last column sums the weights
    near = _squared_distances(with_one[:, :2])
    near += 1
    np.reciprocal(near, out=near)
    np.fill_diagonal(near, 0)
    total = near.sum(dtype=np.float64)
    pull = ((wanted * near) @ with_one).astype(np.float64) * exaggeration
    near *= near
    force = pull - (near @ with_one).astype(np.float64) / total
    return 4 * (force[:, 2:] * place - force[:, :2])


def _joint(rows: NDArray[np.float64], *, perplexity: float) -> NDArray[np.float64]:
    """Symmetric neighbour probabilities [N, N]; each row's bandwidth is found by bisection, all rows at once."""
    distances = _squared_distances(rows)
    distances -= (distances + np.diag(np.full(len(rows), np.inf))).min(1, keepdims=True)  # so that exp does not vanish
    low, high = np.zeros(len(rows)), np.full(len(rows), np.inf)
    beta = np.ones(len(rows))
    for _ in range(50):
        weights = np.exp(-np.clip(distances * beta[:, None], 0, 700))
        np.fill_diagonal(weights, 0)
        total = weights.sum(1)
        entropy = np.log(total) + beta * (distances * weights).sum(1) / total
        flat = entropy > np.log(perplexity)  # too many neighbours: narrower
        low, high = np.where(flat, beta, low), np.where(flat, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    given = weights / total[:, None]
    return np.maximum((given + given.T) / (2 * len(rows)), 1e-12)


def _squared_distances(rows: NDArray[Any]) -> NDArray[Any]:
    squares = np.einsum("nd,nd->n", rows, rows)
    made = rows @ (-2 * rows.T)
    made += squares[:, None]
    made += squares
    return np.maximum(made, 0, out=made)


def map_png(places: NDArray[np.float64], words: Sequence[str], path: Path, *, title: str = "") -> list[str]:
    """Write the map as a picture; returns what the user should know about it (a font that lacks Chinese)."""
    try:
        import matplotlib
    except ImportError:
        raise PlumeError("A PNG map needs matplotlib: pip install 'plume-lm[plot]'. A page (--out map.html) needs nothing.") from None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    fonts, notes = ["DejaVu Sans"], []
    if any(has_han(word) for word in words):
        chinese = _chinese_font()
        fonts += [chinese] if chinese else []
        notes += [] if chinese else [_NO_CHINESE]
    with matplotlib.rc_context({"font.family": fonts}):
        figure = Figure(figsize=(11, 8.5), dpi=150, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        axes.scatter(places[:, 0], places[:, 1], s=9, color="#3b6ea5", linewidths=0)
        for word, (x, y) in zip(words, places, strict=True):
            axes.annotate(word, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=8 if len(words) <= 150 else 6, parse_math=False)
        axes.set_title(title, parse_math=False)
        axes.set_xticks([])
        axes.set_yticks([])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # said once, in the notes
            write_atomic(path, lambda target: figure.savefig(target, format="png"))
    return notes


def _chinese_font() -> str | None:
    from matplotlib import font_manager

    installed = {font.name for font in font_manager.fontManager.ttflist}
    return next((name for name in _CHINESE_FONTS if name in installed), None)


def map_page(vectors: WordVectors, places: NDArray[np.float64], words: Sequence[str], path: Path, *, title: str = "Words") -> None:
    """Write the map as one HTML page without anything from elsewhere: pan, zoom, search, and each word's nearest lit up."""
    write_text(path, page(vectors, places, words, title=title))


def page(vectors: WordVectors, places: NDArray[np.float64], words: Sequence[str], *, title: str) -> str:
    """One page of HTML with the map and each word's neighbours."""
    unit = unit_rows(vectors.stack(words))
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    nearest = np.argsort(-cosine, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(words) - 1)]
    spread = float(np.abs(places - places.mean(0)).max()) or 1.0
    data: dict[str, Any] = {
        "words": list(words),
        "x": np.round((places[:, 0] - places[:, 0].mean()) / spread, 4).tolist(),
        "y": np.round((places[:, 1] - places[:, 1].mean()) / spread, 4).tolist(),
        "near": nearest.tolist(),
        "cosine": np.round(np.take_along_axis(cosine, nearest, 1).astype(np.float64), 3).tolist(),
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")  # no word may end the script
    template = Path(__file__).with_name("map_page.html").read_text(encoding="utf-8")
    return template.replace("__TITLE__", html.escape(title)).replace('"__DATA__"', text)
