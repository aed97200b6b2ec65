"""Lines of text out of files, plain or gzip, in blocks: fast, in bounded memory, and with a clear word for what is not UTF-8 text."""

from __future__ import annotations

import codecs
import gzip
import re
import shlex
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from plume.core.errors import PlumeError

BLOCK = 1 << 20
_MAGIC = {
    b"PK\x03\x04": "a zip archive (or a Word document): unpack it, or save it as plain text",
    b"BZh": "compressed by bzip2: run bunzip2 on it",
    b"\xfd7zXZ": "compressed by xz: run unxz on it",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: run unzstd on it",
    b"%PDF": "a PDF document: save it as plain text, for example with pdftotext",
}


@dataclass(frozen=True, kw_only=True)
class BadBytes:
    """A line that is not UTF-8."""

    file: Path
    line: int
    column: int  # of the first bad byte, in bytes, from 1
    byte: int
    encoding: str  # what it looks like

    def __str__(self) -> str:
        source = shlex.quote(str(self.file))
        plain = self.file.with_name(self.file.name.removesuffix(".gz"))
        target = shlex.quote(str(plain.with_name(f"{plain.stem}.utf8{plain.suffix}")))
        read = f"gzip -dc {source} | iconv -f {self.encoding}" if self.file.suffix == ".gz" else f"iconv -f {self.encoding} {source}"
        command = f"{read} -t UTF-8 > {target}"
        return (
            f"{self.file}, line {self.line}: byte 0x{self.byte:02X} at column {self.column} is not UTF-8; it looks like {self.encoding}. "
            f"Convert the file: {command}"
        )


def read_lines(path: Path, *, longest: int | None, bad: Callable[[BadBytes], None] | None = None) -> Iterator[tuple[int, str]]:
    """The number and text of each line, without its end. A line over `longest` bytes comes in several parts of the same number.

    Undecodable bytes raise a PlumeError, or are told to `bad` and replaced by U+FFFD.
    """
    number = 1
    for block in _blocks(path, longest=longest):
        complete = block.endswith(b"\n")
        texts = _decode(block, path=path, first=number, bad=bad).split("\n")
        if complete:
            texts.pop()
        for text in texts:
            yield number, text
            number += 1
        if not complete:
            number -= 1  # the rest of this line is in the next block


def check_start(path: Path) -> None:
    """Raise for a file that is missing, empty, unreadable or plainly no text."""
    with _open(path) as handle:
        _check_block(_read(handle, 4096, path), path=path, first=True, line=1)


def _blocks(path: Path, *, longest: int | None) -> Iterator[bytes]:
    """Whole lines in blocks of about a megabyte."""
    with _open(path) as handle:
        line, first = 1, True
        rest: list[bytes] = []  # of a line that has not ended, joined once only
        size = 0
        while data := _read(handle, BLOCK, path):
            _check_block(data, path=path, first=first, line=line)
            line += data.count(b"\n")
            data = data.removeprefix(codecs.BOM_UTF8) if first else data
            first = False
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join([*rest, data[:cut]])
                rest, size = [], 0
            rest.append(data[cut:])
            size += len(data) - cut
            if longest is None and size > 256 * BLOCK:
                raise PlumeError(f"{path}, line {line}: longer than 256 MB. JSONL has one object a line; is this one large JSON value?")
            if longest is not None and size > longest:
                rest = [b"".join(rest)]
                cut = _place_to_cut(rest[0])
                yield rest[0][:cut]
                rest = [rest[0][cut:]]
                size -= cut
        if size:
            yield b"".join(rest)


def _place_to_cut(line: bytes) -> int:
    """After the last space, or before the last character that may be incomplete."""
    space = line.rfind(b" ")
    if space > len(line) // 2:
        return space + 1
    return len(line) - next(back for back in range(1, 5) if line[-back] & 0xC0 != 0x80 or back == 4)


def _open(path: Path) -> BinaryIO:
    try:
        return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
    except OSError as error:
        raise PlumeError(f"Cannot read {path}: {error.strerror or error}.") from None


def _read(handle: BinaryIO, size: int, path: Path) -> bytes:
    try:
        return handle.read(size)
    except gzip.BadGzipFile:
        raise PlumeError(f"{path} is named .gz but is not compressed by gzip: rename it, or compress it.") from None
    except (EOFError, zlib.error) as error:
        raise PlumeError(f"{path} is a damaged gzip file ({error}): fetch it again, or repack it with gzip.") from None
    except OSError as error:
        raise PlumeError(f"Cannot read {path}: {error.strerror or error}.") from None


def _check_block(data: bytes, *, path: Path, first: bool, line: int) -> None:
    if first:
        if not data:
            raise PlumeError(f"{path} is empty: a corpus is UTF-8 text, documents separated by blank lines, or JSONL with a 'text' field.")
        if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise PlumeError(str(BadBytes(file=path, line=1, column=1, byte=data[0], encoding="UTF-16")))
        if data[:2] == b"\x1f\x8b":
            raise PlumeError(f"{path} is compressed by gzip but not named .gz: rename it to {path.name}.gz, or run gzip -d on it.")
        for magic, kind in _MAGIC.items():
            if data.startswith(magic):
                raise PlumeError(f"{path} is not text but {kind}.")
    zero = data.find(b"\0")
    if zero >= 0:
        line += data.count(b"\n", 0, zero)
        if first and (encoding := _utf16(data)):
            raise PlumeError(str(BadBytes(file=path, line=1, column=zero + 1, byte=0, encoding=encoding)))
        raise PlumeError(f"{path}, line {line}: a zero byte, so this is no text file. Leave it out, or convert it to UTF-8 text.")


def _utf16(data: bytes) -> str | None:
    """Western text in UTF-16 has a zero in every other place, and in no place between."""
    high, low = data[0::2].count(0), data[1::2].count(0)
    if min(high, low) == 0 and max(high, low) > max(4, len(data) // 4):
        return "UTF-16LE" if low else "UTF-16BE"
    return None


def _decode(block: bytes, *, path: Path, first: int, bad: Callable[[BadBytes], None] | None) -> str:
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        if bad is None:
            raise PlumeError(str(_bad_bytes(block, error, path=path, first=first))) from None
    texts = []
    for number, line in enumerate(block.split(b"\n"), first):
        try:
            texts.append(line.decode("utf-8"))
        except UnicodeDecodeError as error:
            bad(_bad_bytes(line, error, path=path, first=number))
            texts.append(line.decode("utf-8", "replace"))
    return "\n".join(texts)


def _bad_bytes(block: bytes, error: UnicodeDecodeError, *, path: Path, first: int) -> BadBytes:
    before = block[: error.start]
    return BadBytes(
        file=path,
        line=first + before.count(b"\n"),
        column=error.start - before.rfind(b"\n"),
        byte=block[error.start],
        encoding=_guess(block[before.rfind(b"\n") + 1 :]),
    )


def _guess(data: bytes) -> str:
    """Chinese encodings write runs of high bytes; Western ones a single one here and there."""
    runs = re.findall(rb"[\x80-\xff]+", data)
    if sum(map(len, runs)) >= 2 * len(runs):
        for encoding in ("GB18030", "BIG5"):
            # incremental: the sample may end within a character
            decoder = codecs.getincrementaldecoder(encoding)()
            try:
                decoder.decode(data)
                return encoding
            except UnicodeDecodeError:
                continue
    return "ISO-8859-1"
