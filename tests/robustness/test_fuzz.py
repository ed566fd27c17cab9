"""Every reader on damaged and on arbitrary files: taken whole or refused in one line, quickly, and nothing else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .fuzz import SECONDS, Count, fuzz, one_case, table
from .mutations import NUMBERS, TOKENS
from .readers import Reader, readers

KNOWN = readers()
QUICK_CASES = 1500


def test_damaged_files():
    counts = fuzz(QUICK_CASES, seed=20, chosen=KNOWN)
    print(table(counts))
    assert not [text for count in counts.values() for text in count.findings]
    for name, count in counts.items():
        assert count.accepted < count.cases, f"{name} takes everything"
        assert count.slowest < SECONDS


@pytest.mark.slow
def test_a_hundred_thousand_damaged_files(capsys):
    counts = fuzz(100_000, seed=1, chosen=KNOWN)
    with capsys.disabled():
        print("\n" + table(counts))
    assert sum(count.cases for count in counts.values()) >= 99_000
    assert not [text for count in counts.values() for text in count.findings]
    for name, count in counts.items():
        assert 0 < count.accepted < count.cases, f"{name} takes nothing, or everything"


def pieces_of(reader: Reader) -> st.SearchStrategy[bytes]:
    """Files put together from the words, numbers and signs of the reader's own format, and from bytes of any kind."""
    own = sorted({part for seed in reader.seeds for part in re.findall(rb"\w+|\W", seed[:2000])})
    one = st.one_of(st.sampled_from(own), st.sampled_from(TOKENS), st.sampled_from(NUMBERS), st.binary(max_size=4))
    return st.lists(one, max_size=25).map(b"".join)


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "checkpoint"])
def test_files_put_together_from_anything(name):
    reader = KNOWN[name]

    @settings(max_examples=30, deadline=None, database=None, derandomize=True)
    @given(content=pieces_of(reader))
    def holds(content: bytes) -> None:
        count = Count()
        one_case(reader, content, count)
        assert not count.findings, count.findings[0]

    holds()


def test_the_fuzzer_sees_what_it_looks_for():
    """A reader with a bug, one that hangs, and one that takes nonsense are found."""

    def buggy(content: bytes, folder: object) -> None:
        raise KeyError("traceback")

    def nonsense(content: bytes, folder: object) -> None:
        assert not content

    counts = fuzz(20, seed=1, chosen={"a": Reader([], buggy, damage=lambda seeds, chance: b"x"),
                                      "b": Reader([], nonsense, damage=lambda seeds, chance: b"x")})  # fmt: skip
    assert [len(count.findings) for count in counts.values()] == [10, 10]


def test_the_fuzzer_ends_what_hangs(monkeypatch):
    monkeypatch.setattr("tests.robustness.fuzz.SECONDS", 0.2)

    def hangs(content: bytes, folder: object) -> None:
        while True:
            pass

    count = Count()
    one_case(Reader([], hangs), b"x", count)
    assert count.findings[0].startswith("Hang")
