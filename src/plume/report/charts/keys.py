"""What the signs of a chart mean, each sign drawn as it is drawn there."""

from __future__ import annotations

from plume.report.charts.bars import bar_sign
from plume.report.charts.drawing import Shape, line, mark, polyline, ring
from plume.report.markup import Markup, element, joined
from plume.report.words import Wording


def _item(sign: Markup, word: str) -> Markup:
    drawn = element("svg", sign, viewBox="0 0 22 20", class_="sign", aria_hidden="true")
    return element("span", drawn, word, class_="item")


def _key(*items: Markup) -> Markup:
    return element("span", *items, class_="key")


def leaderboard_key(words: Wording, *, several: bool) -> Markup:
    """Of the leaderboards."""
    items = [
        _item(mark(11, 10, Shape.MODEL, filled=True), words("key_best_group")),
        _item(mark(11, 10, Shape.MODEL, filled=False), words("key_not_best")),
        _item(mark(11, 10, Shape.CONTROL, filled=False), words("key_control")),
    ]
    if several:
        interval = joined(line(2, 10, 20, 10, "interval"), line(2, 6, 2, 14, "interval"), line(20, 6, 20, 14, "interval"))
        items += [_item(interval, words("key_interval")), _item(line(11, 4, 11, 16, "seed"), words("key_seed"))]
    return _key(*items)


def cost_key(words: Wording) -> Markup:
    """Of quality against cost."""
    return _key(
        _item(joined(polyline([(1, 4), (11, 4), (11, 16), (21, 16)], "front")), words("key_front")),
        _item(mark(11, 10, Shape.MODEL, filled=True), words("key_on_front")),
        _item(mark(11, 10, Shape.MODEL, filled=False), words("key_off_front")),
        _item(mark(11, 10, Shape.CONTROL, filled=False), words("key_control")),
        _item(joined(ring(11, 10), mark(11, 10, Shape.MODEL, filled=True)), words("key_chosen")),
    )


def chance_key(words: Wording) -> Markup:
    """Of the probabilities of being the best."""
    signs = ((Shape.MODEL, "key_candidate"), (Shape.CONTROL, "key_control"))
    return _key(*(_item(bar_sign(2, 10, 18, shape), words(key)) for shape, key in signs))


def loss_key(words: Wording, *, several: bool) -> Markup:
    """Of the losses while pre-training."""
    items = [_item(line(1, 10, 21, 10, "main"), words("key_first_seed" if several else "key_loss"))]
    if several:
        items.append(_item(line(1, 10, 21, 10, "thin dash1"), words("key_other_seeds")))
    return _key(*items, _item(line(1, 10, 21, 10, "level"), words("key_trivial")))


def tuning_key(words: Wording) -> Markup:
    """Of the dev scores while tuning."""
    return _key(_item(line(1, 10, 21, 10, "main"), words("key_this_model")), _item(line(1, 10, 21, 10, "other"), words("key_other_models")))


def probe_key(words: Wording) -> Markup:
    """Of the probes."""
    return _key(_item(line(1, 10, 21, 10, "main"), words("key_probe")), _item(line(1, 10, 21, 10, "level"), words("key_majority")))
