"""Characters and the character CNN, against a page of numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from plume.core.errors import PlumeError
from plume.nn.characters import CHARACTERS, PADDING, PUBLISHED, SMALL, CharacterCNN, CharacterCNNModule, Highway, character_ids

WORDS = ["a", "word", "中文字", "incomprehensibilities", "", "é"]


def oracle(module: CharacterCNNModule, ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """A loop over windows: each filter's largest value, relu, highway layers, projection (arXiv:1602.02410 §3.1, bilm-tf)."""

    def of(name: str) -> NDArray[np.float64]:
        return dict(module.named_parameters())[name].detach().numpy()

    characters = of("character.weight")[ids]  # [N, C, E]
    found = []
    for number, (wide, _) in enumerate(module.part.filters):
        weight, bias = of(f"filters.{number}.weight"), of(f"filters.{number}.bias")
        windows = [np.einsum("nke,fek->nf", characters[:, at : at + wide], weight) + bias for at in range(characters.shape[1] - wide + 1)]
        found.append(np.maximum(np.max(windows, axis=0), 0))
    value = np.concatenate(found, axis=1)
    for number in range(module.part.highways):
        gate = 1 / (1 + np.exp(-(value @ of(f"highways.{number}.gate.weight").T + of(f"highways.{number}.gate.bias"))))
        transformed = np.maximum(value @ of(f"highways.{number}.transform.weight").T + of(f"highways.{number}.transform.bias"), 0)
        value = gate * transformed + (1 - gate) * value
    return value @ of("project.weight").T + of("project.bias")


def module_of(**changes: object) -> CharacterCNNModule:
    torch.manual_seed(0)
    part = CharacterCNN(**{"filters": ((1, 3), (2, 4), (5, 6)), "projection": 7, "longest": 12, "width": 4} | changes)  # type: ignore[arg-type]
    return part.build().double()


@pytest.mark.parametrize("words", [WORDS, WORDS[:1], ["incomprehensibilities"] * 2, [""]])
def test_it_is_the_page_of_numpy(words: list[str]) -> None:
    """Also where trimming leaves columns of padding out: the oracle slides over all of them."""
    module = module_of()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    ids = character_ids(words, longest=12)
    assert np.abs(module(torch.from_numpy(ids)).detach().numpy() - oracle(module, ids)).max() < 1e-9


def test_trimming_changes_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(longest=30)
    ids = torch.from_numpy(character_ids(["a", "word"], longest=30))
    assert module._trimmed(ids).shape == (2, 6 + 5)
    found = []
    for trimmed in (True, False):
        if not trimmed:
            monkeypatch.setattr(CharacterCNNModule, "_trimmed", lambda self, ids: ids)
        found.append(torch.autograd.grad(module(ids).square().sum(), list(module.parameters())))
    for mine, expected in zip(*found, strict=True):
        assert float((mine - expected).abs().max()) < 1e-9


def test_character_ids_are_bilm_s() -> None:
    ids = character_ids(["<S>", "</S>", "ab", "中", "abcdefgh", "", "[PAD]"], longest=6, begins=["<S>"], ends=["</S>"], absent=["[PAD]"])
    assert ids.dtype == np.int32
    assert ids.tolist() == [
        [259, 257, 260, 261, 261, 261],
        [259, 258, 260, 261, 261, 261],
        [259, 98, 99, 260, 261, 261],
        [259, 0xE4 + 1, 0xB8 + 1, 0xAD + 1, 260, 261],
        [259, 98, 99, 100, 101, 260],
        [259, 260, 261, 261, 261, 261],
        [0] * 6,
    ]
    assert character_ids(["\x00\xff"], longest=50).max() == PADDING == CHARACTERS - 1
    assert character_ids([], longest=5).shape == (0, 5)
    with pytest.raises(PlumeError, match="at least 3"):
        character_ids(["a"], longest=2)


def test_the_published_network() -> None:
    part = CharacterCNN()
    assert part.filters == PUBLISHED
    assert part.filtered == 2048
    module = part.build().requires_grad_(False)
    highway = module.highways[1]
    assert isinstance(highway, Highway)
    assert (highway.gate.bias == -2).all()
    assert float(highway.transform.bias.abs().sum()) == 0
    assert float(module.character.weight[0].abs().sum()) == 0
    assert float(module.character.weight[1:].abs().max()) == pytest.approx(1, abs=0.01)
    assert float(module.project.weight.std()) == pytest.approx(2048**-0.5, rel=0.02)
    assert module.flops(words=3, characters=50) == 6 * (
        sum((51 - wide) * wide * 16 * count for wide, count in PUBLISHED) + 4 * 2048 * 2048 + 2048 * 512
    )


def test_an_absent_token_s_characters_never_learn() -> None:
    module = module_of()
    ids = torch.from_numpy(character_ids(["[PAD]", "ab"], longest=12, absent=["[PAD]"]))
    module(ids).square().sum().backward()
    gradient = module.character.weight.grad
    assert gradient is not None
    assert float(gradient[0].abs().sum()) == 0
    assert float(gradient[98].abs().sum()) > 0


def test_what_cannot_be_built_is_refused() -> None:
    assert max(wide for wide, _ in SMALL) <= 4
    with pytest.raises(PlumeError, match="wider than the longest word"):
        CharacterCNN(filters=((7, 3),), longest=6)
    with pytest.raises(PlumeError, match="both at least 1"):
        CharacterCNN(filters=((0, 3),))
