"""The files a tokenizer may lie in: tokenizer.json, BERT's vocab.txt, GPT-2's vocab.json and merges.txt."""

from __future__ import annotations

import json
from pathlib import Path

import tokenizers
from tokenizers import decoders, models

from plume.core.errors import PlumeError
from plume.core.files import read_json
from plume.text.format import Format
from plume.text.tokenizers import bert_style, byte_level_style, finish


def read_backend(path: Path, *, format: Format) -> tokenizers.Tokenizer:
    """The tokenizer of a tokenizer.json, a vocab.txt or a folder with one of them."""
    if path.is_dir():
        return _from_folder(path, format=format)
    if not path.is_file():
        raise PlumeError(f"{path} does not exist: a tokenizer is a tokenizer.json, a vocab.txt, or a folder with one of them.")
    if path.suffix == ".json":
        return _from_json(path)
    if path.suffix == ".txt":
        return _from_vocab(path, format=format, lowercase=None)
    raise _unknown_file(path)


def _from_folder(folder: Path, *, format: Format) -> tokenizers.Tokenizer:
    if (folder / "tokenizer.json").is_file():
        return _from_json(folder / "tokenizer.json")
    if (folder / "vocab.txt").is_file():
        return _from_vocab(folder / "vocab.txt", format=format, lowercase=_configured_lowercase(folder))
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        return _from_merges(folder, format=format)
    for name in ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model"):
        if (folder / name).is_file():
            raise _unknown_file(folder / name)
    held = ", ".join(sorted(item.name for item in folder.iterdir())[:10]) or "nothing"
    raise PlumeError(f"{folder} holds no tokenizer: looked for tokenizer.json, vocab.txt, vocab.json with merges.txt; found {held}.")


def _from_json(path: Path) -> tokenizers.Tokenizer:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises the bare class
        raise PlumeError(
            f"{path} is not a tokenizer file that tokenizers {tokenizers.__version__} can read ({str(error)[:200]}). "
            "Expected the tokenizer.json that plume or transformers' save_pretrained writes."
        ) from None


def _from_vocab(path: Path, *, format: Format, lowercase: bool | None) -> tokenizers.Tokenizer:
    """BERT's: one token a line, its number the line's."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise PlumeError(f"{path} is not UTF-8 text ({error}): expected one token a line.") from None
    tokens = [line.rstrip("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    unknown = format.unknown or "[UNK]"
    if unknown not in tokens:
        raise PlumeError(f"{path} has no line {unknown}: a vocab.txt has one token a line, the special tokens of its family among them.")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=unknown, max_input_chars_per_word=100))
    bert_style(tokenizer, lowercase=_has_no_capitals(tokens) if lowercase is None else lowercase)
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return _finished(tokenizer, format)


def _has_no_capitals(tokens: list[str]) -> bool:
    words = (token for token in tokens if not (token.startswith("[") and token.endswith("]")))
    return not any("A" <= letter <= "Z" for word in words for letter in word)


def _configured_lowercase(folder: Path) -> bool | None:
    """What transformers wrote beside the vocabulary, if it did."""
    path = folder / "tokenizer_config.json"
    if not path.is_file():
        return None
    config = read_json(path, "the settings of the tokenizer beside it")
    value = config.get("do_lower_case") if isinstance(config, dict) else None
    return value if isinstance(value, bool) else None


def _from_merges(folder: Path, *, format: Format) -> tokenizers.Tokenizer:
    try:
        model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    except Exception as error:  # the library raises the bare class
        raise PlumeError(f"{folder}/vocab.json and merges.txt cannot be read as byte-level BPE: {str(error)[:200]}.") from None
    tokenizer = tokenizers.Tokenizer(model)
    byte_level_style(tokenizer)
    return _finished(tokenizer, format)


def _finished(tokenizer: tokenizers.Tokenizer, format: Format) -> tokenizers.Tokenizer:
    """Only when no special token is missing: registering would add it, and hide that the file does not fit the family."""
    if all(tokenizer.token_to_id(token) is not None for token in format.specials()):
        return finish(tokenizer, format)
    return tokenizer


def _unknown_file(path: Path) -> PlumeError:
    folder = json.dumps(str(path.parent))
    return PlumeError(
        f"{path} is not a tokenizer file that plume reads. If transformers can, convert it: "
        f"python -c 'from transformers import AutoTokenizer as T; T.from_pretrained({folder}).save_pretrained({folder})' "
        "writes a tokenizer.json beside it."
    )
