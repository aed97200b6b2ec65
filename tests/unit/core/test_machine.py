"""How many cores there are to use: what the system shows, what the process is bound to, what its container is given."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from plume.core.machine import cores, instructions, processor, seconds_had_and_waited


@pytest.mark.parametrize(
    ("account", "expected"), [("max 100000", 3), ("200000 100000", 2), ("50000 100000", 1), ("900000 100000", 3), (None, 3)]
)
def test_a_container_may_be_given_fewer(monkeypatch: pytest.MonkeyPatch, account: str | None, expected: int) -> None:
    def read(_: Path, encoding: str) -> str:
        if account is None:
            raise FileNotFoundError
        return account

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    monkeypatch.setattr(Path, "read_text", read)
    assert cores() == expected


def test_where_a_process_cannot_be_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(Path, "read_text", lambda _, encoding: "max 100000")
    assert cores() == 7


def test_work_is_time_on_a_core_and_sleep_is_neither() -> None:
    had, waited = seconds_had_and_waited()
    time.sleep(0.05)
    sum(range(10**6))
    more, longer = seconds_had_and_waited()
    assert more > had and longer >= waited


def test_a_system_that_does_not_tell_never_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", absent)
    had, waited = seconds_had_and_waited()
    assert had > 0 and waited == 0


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu sse2 avx2 avx512f avx512_vnni amx_int8", ("AVX2", "AVX-512", "VNNI", "AMX")),
        ("fpu avx2 avx_vnni", ("AVX2", "VNNI")),
        ("fpu", ()),
    ],
)
def test_instructions_for_small_numbers(monkeypatch: pytest.MonkeyPatch, flags: str, expected: tuple[str, ...]) -> None:
    told = f"processor : 0\nmodel name\t: A CPU @ 2 GHz\nflags\t\t: {flags}\n\nprocessor : 1\nmodel name : B\nflags : amx_int8\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: told)
    monkeypatch.setattr("sys.platform", "linux")
    assert instructions() == expected and processor() == "A CPU @ 2 GHz"
