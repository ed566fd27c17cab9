"""The table of bad input: what is wrong with it, the command it is given to, and what has to happen.

``refused(text)``: exit code 2, one line on standard error that holds ``text``, nothing written.
``accepted(check)``: exit code 0; ``check`` looks at what came out.
"""

# ruff: noqa: E501 - a row of the table is a line

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st

from fairseq_normalign.cli import main
from fairseq_normalign.links.dump import Dump
from tests.cli.tiny_pair import LONGEST, WORDS, write_text

from .room import (
    FAIRSEQ_OPTIONS,
    PACKAGE,
    Room,
    environment,
    fairseq,
    forked_main,
    make_lstm,
    make_models,
    make_sentencepiece_model,
    start,
)

Make = Callable[[Room], list[object]]


@dataclass(frozen=True)
class Seen:
    """What a user sees, and the file that was written."""

    out: str
    err: str
    written: str
    """The text of the output file, or the A- lines of fairseq's commands in the order of their ids."""

    @property
    def lines(self) -> list[str]:
        return self.written.split("\n")[:-1]


@dataclass(frozen=True)
class Expected:
    code: int
    says: str = ""
    check: Callable[[Seen], bool] = lambda seen: True


def refused(says: str) -> Expected:
    return Expected(2, says)


def accepted(check: Callable[[Seen], bool] = lambda seen: True, says: str = "") -> Expected:
    return Expected(0, says, check)


# -- how input is made ------------------------------------------------------------------------------------------------


def texts(source: bytes | str, target: bytes | str, *options: object) -> Make:
    """Source and target as files, with the tiny model."""

    def make(room: Room) -> list[object]:
        files = ["--source", room.write("text.de", source), "--target", room.write("text.en", target)]
        return [*room.model(), *files, *options]

    return make


def lines(source: bytes | str, target: bytes | str, *options: object) -> Make:
    """Source and target without a model: for view and baseline."""

    def make(room: Room) -> list[object]:
        return ["--source", room.write("text.de", source), "--target", room.write("text.en", target), *options]

    return make


def with_links(source: bytes | str, target: bytes | str, links: bytes | str, *options: object) -> Make:
    return lambda room: [*lines(source, target)(room), "--links", room.write("links", links), *options]


def with_gold(source: str, target: str, gold: bytes | str, *options: object) -> Make:
    return lambda room: [*texts(source, target)(room), "--gold", room.write("gold", gold), *options]


def files(*contents: bytes | str) -> Make:
    """Alignment files by position; what starts with -- is an option."""

    def make(room: Room) -> list[object]:
        found: list[object] = []
        for number, content in enumerate(contents):
            is_option = isinstance(content, str) and content.startswith("--")
            found.append(content if is_option else room.write(f"file{number}", content))
        return found

    return make


def scored(gold: bytes | str, hyp: bytes | str, source: str = "", target: str = "", *options: str) -> Make:
    """Gold and hypothesis for score, with texts where they are given."""

    def make(room: Room) -> list[object]:
        given: list[object] = [room.write("gold", gold), room.write("hyp", hyp), *options]
        for name, text in (("source", source), ("target", target)):
            given += [f"--{name}", room.write(f"text.{name}", text)] if text else []
        return given

    return make


ODD_NAME = "hy\tp\n\x1b[2J\u202e\x7f"


def _oddly_named(style: str) -> Make:
    """A hypothesis whose file name holds letters that steer a terminal."""
    return lambda room: [room.write("gold", "0-0\n"), room.write(ODD_NAME, "0-0\n"), *style.split()]


def damaged(damage: Callable[[Path], object], *options: object, source: str = "w1 w2\n", target: str = "w2\n") -> Make:
    """A copy of the model and its dictionaries, after ``damage``."""

    def make(room: Room) -> list[object]:
        folder = room.folder / "model"
        folder.mkdir(exist_ok=True)
        for name in ("de-en.pt", "dict.de.txt", "dict.en.txt"):
            shutil.copy(room.models.folder / name, folder / name)
        damage(folder)
        made = ["--source", room.write("text.de", source), "--target", room.write("text.en", target)]
        return ["--path", folder / "de-en.pt", "--cpu", *made, *options]

    return make


def to(output: str, make: Make) -> Make:
    """The same with an output of the row's own."""
    return lambda room: [*make(room), "-o", output.replace("OUTPUTS", str(room.outputs))]


def raw(source: bytes | str, target: bytes | str = "w1\n", *options: object) -> Make:
    """Texts as fairseq-generate reads them unbinarized."""

    def make(room: Room) -> list[object]:
        room.write("raw/test.de-en.de", source)
        room.write("raw/test.de-en.en", target)
        for name in ("dict.de.txt", "dict.en.txt"):
            if not (room.folder / "raw" / name).exists():
                shutil.copy(room.models.folder / name, room.folder / "raw" / name)
        return [room.folder / "raw", "--path", room.models.path(), "--dataset-impl", "raw", *options]

    return make


def raw_damaged(damage: Callable[[Path], object]) -> Make:
    """fairseq-generate with a damaged model or dictionary."""

    def make(room: Room) -> list[object]:
        given = raw("w1 w2\n")(room)
        shutil.copy(room.models.path(), room.folder / "raw" / "de-en.pt")
        damage(room.folder / "raw")
        given[2] = room.folder / "raw" / "de-en.pt"
        return given

    return make


def typed(text: bytes | str, *options: object) -> Make:
    """A file for fairseq-interactive."""
    return lambda room: [
        *(room.models.folder, "--path", room.models.path(), "--input", room.write("typed", text)),
        *("--buffer-size", 4, *options),
    ]


GOOD = "w1 w2\nw3\n"


def labels(content: str, *options: object) -> Make:
    return lambda room: [
        *("--labels", room.file(content), "--target", room.file(), "--links", room.file("0-0\n0-0\n")),
        *("-o", room.outputs / "out", *options),
    ]


def span(start: str, end: str) -> str:
    return f'{{"text": "w1 w2", "spans": [{{"start": {start}, "end": {end}, "label": "A"}}]}}\n{{"text": "w3"}}\n'


# -- damages ----------------------------------------------------------------------------------------------------------


def cut(share: float) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        content = (folder / "de-en.pt").read_bytes()
        (folder / "de-en.pt").write_bytes(content[: int(len(content) * share)])

    return damage


def flip_a_weight(folder: Path) -> None:
    """One bit of a parameter: torch.load alone would not see it."""
    content = bytearray((folder / "de-en.pt").read_bytes())
    import zipfile

    with zipfile.ZipFile(folder / "de-en.pt") as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
    content[largest.header_offset + largest.file_size // 2] ^= 64
    (folder / "de-en.pt").write_bytes(bytes(content))


def entries(change: Callable[[list[bytes]], list[bytes]], languages: tuple[str, ...] = ("de", "en")):
    def damage(folder: Path) -> None:
        for language in languages:
            path = folder / f"dict.{language}.txt"
            path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    return damage


def in_state(change: Callable[[dict], object]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        state = torch.load(folder / "de-en.pt", weights_only=False)
        change(state)
        torch.save(state, folder / "de-en.pt")

    return damage


def other_architecture(folder: Path) -> None:
    make_lstm(folder).replace(folder / "de-en.pt")


def a_directory(name: str) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return damage


def argument(name: str, value: object) -> Callable[[Path], object]:
    def change(state: dict) -> None:
        assert hasattr(state["cfg"]["model"], name)
        setattr(state["cfg"]["model"], name, value)

    return in_state(change)


# -- checks -----------------------------------------------------------------------------------------------------------


def linked(*pattern: int) -> Callable[[Seen], bool]:
    """A line a pair: with links where the pattern says 1, empty where it says 0."""
    return lambda seen: [bool(line) for line in seen.lines] == [bool(wanted) for wanted in pattern]


def targets(*counts: int) -> Callable[[Seen], bool]:
    """So many target words a line, each linked once."""
    return lambda seen: [len({link.split("-")[1] for link in line.split()}) for line in seen.lines] == list(counts)


def writes(text: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.written == text


def shows(*texts: str) -> Callable[[Seen], bool]:
    return lambda seen: all(text in seen.out for text in texts)


SHORT = "w1 w2 w3\n"
TEN = "w1 w2 w3\n" * 12
ONE_BASED = "1-1 2-2 3-3\n" * 12
LONG_LINE = "w1 " * 5000
LOG = "S-{0}\ta b\nH-{0}\t-0.5\tc d\nA-{0}\t0-0 1-1\n"
BEST_OF_TWO = "S-1\ta\nH-1\t-1\tc\nA-1\t0-0\nH-1\t-2\tc d\nA-1\t0-1\n" + (
    "S-0\ta b\nH-0\t-1\tc\nA-0\t1-0\nH-0\t-2\tc d\nA-0\t0-0\n"
)

TABLE: list[tuple[str, str, Make, Expected]] = [
    # -- lines of text
    ("empty line", "align", texts("w1 w2\n\nw3\n", "w1\nw2\nw3\n"), accepted(linked(1, 0, 1), "1 empty on one side")),
    ("empty line", "compare", with_gold("w1 w2\n\nw3\n", "w1\nw2\nw3\n", "0-0\n\n0-0\n"), accepted()),
    ("empty line", "layers", texts("w1 w2\n\nw3\n", "w1\nw2\nw3\n"), accepted(shows("chosen"))),
    ("empty line", "analyze dispersion", texts("w1 w2\n\nw3\n", "w1\nw2\nw3\n"), accepted(says="1 lines left out")),
    ("empty line", "view", with_links("w1\n\n", "w1\nw2\n", "0-0\n\n", "--sentences", "2"), accepted()),
    ("empty line", "view", texts("w1\n\n", "w1\nw2\n", "--sentences", "1,2"), accepted(says="sentence 2 is left out")),
    ("empty line", "score", scored("0-0\n\n0-0\n", "0-0\n\n0-0\n"), accepted(shows("0.0"))),
    ("empty line", "fairseq-generate", raw("w1 w2\n\nw3\n", "w1\nw2\nw3\n"), accepted(linked(1, 0, 1))),
    ("empty line", "fairseq-interactive", typed("w1 w2\n\nw3\n"), accepted(linked(1, 0, 1))),
    ("blank file", "align", texts("", ""), accepted(writes(""))),
    ("blank file", "compare", with_gold("", "", ""), refused("gold: the file is empty")),
    ("blank file", "layers", texts("", ""), refused("no sentence pair to choose readings by")),
    ("blank file", "analyze dispersion", texts("", ""), refused("none of its lines can be read")),
    ("blank file", "view", texts("", ""), refused("no sentence to show")),
    ("blank file", "report", with_gold("", "", "0-0\n"), refused("there is no sentence to show")),
    ("blank file", "score", scored("", "0-0\n"), refused("gold: the file is empty")),
    ("blank file", "symmetrize", files("0-0\n", ""), refused("file1: the file is empty")),
    ("blank file", "convert", files("", "--to=talp"), refused("file0: the file is empty")),
    ("blank lines only", "align", texts("\n \n", "\n\t\n"), accepted(linked(0, 0))),
    ("blank lines only", "score", scored("\n\n", "\n\n"), refused("no sentence has a link")),
    ("line counts differ", "align", texts("w1\nw2\n", "w1\n"), refused("text.de:2: no line of")),
    ("line counts differ", "compare", with_gold("w1\nw2\n", "w1\n", "0-0\n0-0\n"), refused("text.de:2: no line of")),
    ("line counts differ", "compare", with_gold("w1\n", "w1\n", "0-0\n0-0\n"), refused("2 sentences, but")),
    ("line counts differ", "layers", texts("w1\n", "w1\nw2\n"), refused("text.en:2: no line of")),
    ("line counts differ", "analyze heads", texts("w1\n", "w1\nw2\n"), refused("text.en:2: no line of")),
    ("line counts differ", "view", texts("w1\n", "w1\nw2\n", "--sentences", "1-2"), refused("text.en:2: no line of")),
    ("line counts differ", "report", with_gold("w1\n", "w1\nw2\n", "0-0\n"), refused("text.en:2: no line of")),
    ("line counts differ", "score", scored("0-0\n0-0\n", "0-0\n"), refused("gold has 2 sentences, ")),
    ("line counts differ", "symmetrize", files("0-0\n0-0\n", "0-0\n"), refused("has 2 sentences")),
    ("line counts differ", "baseline fast_align", lines("w1\nw2\n", "w1\n"), refused("text.de:2: no line of")),
    ("line counts differ", "fairseq-generate", raw("w1\nw2\n", "w1\n"), refused("same number of examples")),
    ("CRLF", "align", texts(b"w1 w2\r\nw3\r\n", b"w1\r\nw2\r\n"), accepted(targets(1, 1))),
    ("CRLF", "score", scored("0-0 1-1\r\n0-0\r\n", "0-0 1-1\n0-0\n"), accepted(shows(" 0.0"))),
    ("CRLF", "convert", files("1-1 2p2\r\n", "--to=pharaoh", "--possible=keep", "--from-base=1"), accepted(writes("0-0 1-1\n"))),
    ("CRLF", "fairseq-generate", raw(b"w1 w2\r\nw3\r\n", b"w1\r\nw2\r\n"), accepted(linked(1, 1))),
    ("BOM", "align", texts(b"\xef\xbb\xbfw1 w2\n", b"\xef\xbb\xbfw1\n"), accepted(targets(1))),
    ("BOM", "score", scored(b"\xef\xbb\xbf0-0\n", "0-0\n"), accepted(shows(" 0.0"))),
    ("BOM", "align", damaged(entries(lambda rows: [b"\xef\xbb\xbf" + rows[0], *rows[1:]])), accepted(targets(1))),
    ("NBSP", "align", texts("w1\u00a0w2 w3\n", "w1\u00a0w2\n"), accepted(targets(1), "are not in the dictionary")),
    ("NBSP", "convert", files("0-0\u00a01-1\n", "--to=talp", "--from=pharaoh"), refused(r"'0-0\xa01-1' is neither")),
    ("NBSP", "fairseq-generate", raw("w1\u00a0w2 w3\n"), accepted(linked(1))),
    ("U+2028 in a line", "align", texts("w1\u2028w2 w3\nw1\n", "w1 w2\nw1\n"), accepted(targets(2, 1))),
    ("U+2028 in a line", "convert", files("0-0\n0-0\u20281-1\n", "--to=talp"), refused(r"'0-0\u20281-1' is neither")),
    ("U+2028 in a line", "fairseq-generate", raw("w1\u2028w2 w3\n"), accepted(linked(1))),
    ("U+0085 in a line", "align", texts("w1\u0085w2 w3\nw1\n", "w1 w2\nw1\n"), accepted(targets(2, 1))),
    ("U+0085 in a line", "score", scored("0-0\n0-0\u0085\n", "0-0\n0-0\n"), refused(r"'0-0\x85' is neither")),
    ("NUL byte", "align", texts(b"w1\nw\0\n", "w1\nw1\n"), refused("text.de:2: a NUL byte")),
    ("NUL byte", "compare", with_gold("w1\n", "w1\0\n", "0-0\n"), refused("text.en:1: a NUL byte")),
    ("NUL byte", "view", with_links(b"w1\0\n", "w1\n", "0-0\n"), refused("text.de:1: a NUL byte")),
    ("NUL byte", "score", scored(b"0-0\n0-0\0\n", "0-0\n0-0\n"), refused("gold:2: a NUL byte")),
    ("NUL byte", "baseline fast_align", lines(b"w1\0\n", "w1\n"), refused("text.de:1: a NUL byte")),
    ("NUL byte", "fairseq-generate", raw(b"w1 \0 w2\n"), accepted(linked(1))),
    ("invalid UTF-8", "align", texts(b"w1\n\xff\n", "w1\nw2\n"), refused("text.de:2: byte 0xff at column 1")),
    ("invalid UTF-8", "layers", texts(b"\xc3\x28\n", "w1\n"), refused("text.de:1: byte 0xc3")),
    ("invalid UTF-8", "analyze mixing", texts(b"w1 \xff\n", "w1\n"), refused("text.de:1: byte 0xff at column 4")),
    ("invalid UTF-8", "convert", files(b"0-0 \xff\n", "--to=talp"), refused("file0:1: byte 0xff")),
    ("invalid UTF-8", "symmetrize", files(b"0-0\n", b"\xff-1\n"), refused("file1: no known format")),
    ("invalid UTF-8", "fairseq-generate", raw(b"w1\xff\n"), refused("can't decode byte 0xff")),
    ("invalid UTF-8", "fairseq-interactive", typed(b"w1\xff\n"), refused("byte 0xff is not utf-8 text")),
    ("5,000 words", "align", texts(LONG_LINE + "\nw1\n", "w1\nw1\n"), accepted(linked(0, 1), "1 longer than")),
    ("5,000 words", "compare", with_gold(LONG_LINE + "\n", "w1\n", "0-0\n"), refused("none of the pairs can be aligned")),
    ("5,000 words", "view", texts(LONG_LINE + "\n", "w1\n"), refused("no sentence to show")),
    ("5,000 words", "view", with_links(LONG_LINE + "\n", "w1\n", "0-0\n", "--html", "-"), accepted(shows("<!doctype html>"))),
    ("5,000 words", "view", to("OUTPUTS/figure.png", with_links(LONG_LINE, LONG_LINE, "0-0\n")), refused("too many for a figure")),
    ("5,000 words", "symmetrize", files(*[" ".join(f"{n}-{n}" for n in range(5000)) + "\n"] * 2), accepted(targets(5000))),
    ("5,000 words", "fairseq-generate", raw(LONG_LINE + "\n"), refused("sentence 1 has 5001 and 2 pieces")),
    ("5,000 words", "fairseq-interactive", typed(LONG_LINE + "\n"), refused("sentence 1 has")),
    ("5,000 letters in a word", "align", texts("x" * 5000 + "\n", "w1\n"), accepted(targets(1))),
    ("one word", "align", texts("w1\n", "w2\n"), accepted(writes("0-0\n"))),
    ("one word", "compare", with_gold("w1\n", "w1\n", "0-0\n"), accepted(shows("0.0"))),
    ("one word", "layers", texts("w1\n", "w2\n"), accepted(shows("unsure"))),
    ("one word", "report", to("OUTPUTS/report", with_gold("w1\n", "w1\n", "0-0\n")), accepted()),
    ("one word", "fairseq-generate", raw("w1\n"), accepted(linked(1))),
    # -- pieces
    ("@@ at the end", "align", texts("w1 w5@@\n", "w2 w5@@\n"), accepted(targets(2))),
    ("@@ at the end", "compare", with_gold("w1 w5@@\n", "w2 w5@@\n", "0-0 1-1\n"), accepted()),
    ("@@ at the end", "fairseq-generate", raw("w1 w5@@\n", "w1 w5@@\n", "--score-reference"), accepted(targets(2))),
    ("@@ alone", "align", texts("@@ w1\n", "w2 @@\n"), accepted(targets(2))),
    ("lone ▁", "align", lambda room: _marked(room, "▁\n▁a ▁\n", "▁a c\n▁b ▁ ▁e\n"), accepted(linked(0, 1))),
    ("unknown words only", "align", texts("aa bb\n", "cc dd\n"), accepted(targets(2), "2 of 2 source pieces are not in")),
    ("unknown words only", "compare", with_gold("aa\n", "bb\n", "0-0\n"), accepted(says="1 of 1 source pieces")),
    ("unknown words only", "fairseq-generate", raw("aa bb\n"), accepted(linked(1))),
    # -- gold and links
    ("gold out of range", "score", scored("0-0 5-0\n", "0-0\n", "a b\n", "c\n"), refused("gold:1: link 5-0 is out of range")),
    ("gold out of range", "compare", with_gold("w1 w2\n", "w1\n", "0-0 7-0\n", "--gold-base", "0"), refused("links word 8")),
    ("gold out of range", "view", texts("w1\n", "w1\n", "--gold", "GOLD=0-9"), refused("out of range")),
    ("gold out of range", "analyze heads", texts("w1\n", "w1\n", "--gold", "GOLD=0-9"), refused("links word 1 to word 10")),
    ("links out of range", "view", with_links("a\n", "b\n", "0-3\n"), refused("out of range")),
    ("index past any sentence", "convert", files("0-99999999\n", "--to=talp"), refused("is past any sentence")),
    ("1-based gold read as 0-based", "score", scored(ONE_BASED, "0-0 1-1 2-2\n" * 12, TEN, TEN), accepted(shows(" 0.0", "talp,base:1"[5:]))),
    ("1-based gold read as 0-based", "score", scored(ONE_BASED, "0-0\n" * 12, TEN, TEN, "--gold-base=0"), refused("link 3-3 is out of range")),
    ("1-based gold read as 0-based", "score", scored("1-1\n", "0-0\n"), refused("does it count words from 0 or 1?")),
    ("1-based gold read as 0-based", "compare", with_gold(TEN, TEN, ONE_BASED, "--gold-base", "0"), refused("links word 4")),
    ("reversed direction", "score", scored("0-2 0-1 1-0\n", "0-0\n", "a b c\n", "d e\n"), accepted(shows("target-source"))),
    ("reversed direction", "score", scored("0-2\n", "0-0\n", "a b c\n", "d e\n", "--no-reverse-gold"), refused("out of range")),
    ("reversed direction", "symmetrize", files("0-2 1-3\n" * 20, "2-0 3-1\n" * 20), refused("reverse-second")),
    ("possible without sure", "score", scored("0p0 1p1\n0-0\n", "0-0\n0-0\n"), accepted(shows("gold: 1 sure links, 2 only possible"))),
    ("possible without sure", "score", scored("0p0\n", "0-0\n"), accepted(shows("gold: 0 sure links, 1 only possible"))),
    ("possible without sure", "convert", files("0p0\n", "--to=pharaoh"), refused("is only possible")),
    ("duplicate links", "score", scored("0-0 0-0 1-1\n", "1-1 1-1 0-0\n"), accepted(shows("gold: 2 sure links, 0 only possible"))),
    ("duplicate links", "convert", files("0-0 0p0 0-0\n", "--to=talp", "--to-base=0"), accepted(writes("0-0\n"))),
    ("duplicate links", "symmetrize", files("0-0 0-0\n", "0-0\n"), accepted(writes("0-0\n"))),
    ("n-best log out of order", "convert", files(BEST_OF_TWO, "--to=pharaoh"), accepted(writes("1-0\n0-0\n"))),
    ("n-best log out of order", "convert", files(BEST_OF_TWO, "--to=pharaoh", "--nth=2"), accepted(writes("0-0\n0-1\n"))),
    ("n-best log out of order", "convert", files(BEST_OF_TWO, "--to=pharaoh", "--nth=3"), refused("no alignment number 3")),
    ("log with a gap", "convert", files(LOG.format(0) + LOG.format(2), "--to=pharaoh"), refused("no alignment number 1 for sentence 1")),
    ("ids up to the sky", "convert", files("A-999999999\t0-0\n", "--to=pharaoh"), refused("are they line numbers?")),
    ("ids up to the sky", "convert", files("SENT: 99999999\nS 1 1\n", "--to=talp"), refused("are they line numbers?")),
    ("letters that steer a terminal", "convert", files("0-0 \x1b[2J\n", "--to=talp"), refused(r"'\x1b[2J' is neither")),
    ("letters that steer a terminal", "view", with_links("\x1b[2J\n", "a\n", "0-0\n"), accepted(lambda seen: "\x1b" not in seen.out)),
    ("letters that steer a terminal", "view", with_links("a\u202eb\u200b\u2066\n", "c\u200dd\n", "0-0\n"), accepted(lambda seen: r"c\u200dd" in seen.out and not set(seen.out) & set("\u202e\u200b\u2066\u200d"))),
    *[
        ("letters that steer a terminal", "score", _oddly_named(style), accepted(lambda seen: not set(seen.out) & set("\x1b\u202e\x7f")))
        for style in ("", "--style tsv", "--json", "--style latex")
    ],
    # -- models
    ("wrong dictionary", "align", damaged(entries(lambda rows: [b"x" + row for row in rows])), accepted(targets(1), "2 of 2 source pieces are not")),
    ("dictionary of another size", "align", damaged(entries(lambda rows: rows[:-3])), refused(f"has {WORDS + 4} embeddings, the source dictionary")),
    ("dictionary of another size", "view", damaged(entries(lambda rows: rows[:-3])), refused("is it another model's?")),
    ("dictionary of another size", "layers", damaged(entries(lambda rows: rows[:-3])), refused("is it another model's?")),
    ("dictionary of another size", "analyze singular", damaged(entries(lambda rows: rows[:-3])), refused("is it another model's?")),
    ("dictionary of another size", "fairseq-generate", raw_damaged(entries(lambda rows: rows[:-3])), refused("has 44 embeddings, the source dictionary")),
    ("dictionary line without a count", "align", damaged(entries(lambda rows: [*rows, b"broken\n"])), refused("dict.de.txt:41: 'broken' is not a symbol")),
    ("dictionary line without a count", "fairseq-generate", raw_damaged(entries(lambda rows: [*rows, b"broken\n"])), refused("dict.de.txt:41: 'broken' is not")),
    ("dictionary entry twice", "align", damaged(entries(lambda rows: [*rows, rows[0]])), refused("'w0@@' is there twice")),
    ("dictionary not UTF-8", "align", damaged(entries(lambda rows: [b"\xff 1\n", *rows[1:]])), refused("dict.de.txt:1: byte 0xff")),
    ("wrong BPE codes", "align", damaged(lambda folder: None, "--bpe-codes", "CODES=#version: 0.2\nq z</w>\n"), accepted(says="are text, codes and dictionary those")),
    ("no BPE codes", "align", damaged(lambda folder: None, "--bpe-codes", "CODES=this is just text\n"), refused("CODES:1: 'this is just text' is not a merge")),
    ("no BPE codes", "view", damaged(lambda folder: None, "--bpe-codes", "CODES="), refused("CODES: the file is empty")),
    ("no SentencePiece model", "align", damaged(lambda folder: None, "--sentencepiece-model", "CODES=text"), refused("CODES")),
    ("truncated checkpoint", "align", damaged(cut(0.5)), refused("de-en.pt: not a whole checkpoint")),
    ("truncated checkpoint", "compare", damaged(cut(0.99), "--gold", "GOLD=0-0"), refused("de-en.pt: not a whole checkpoint")),
    ("truncated checkpoint", "layers", damaged(cut(0.01)), refused("de-en.pt: not a whole checkpoint")),
    ("truncated checkpoint", "view", damaged(cut(0)), refused("de-en.pt: not a whole checkpoint")),
    ("truncated checkpoint", "report", damaged(cut(0.5), "--gold", "GOLD=0-0"), refused("de-en.pt: not a whole checkpoint")),
    ("truncated checkpoint", "analyze heads", damaged(cut(0.5)), refused("de-en.pt: not a whole checkpoint")),
    ("truncated checkpoint", "fairseq-generate", raw_damaged(cut(0.5)), refused("de-en.pt: not a whole checkpoint")),
    ("one bit of a weight", "align", damaged(flip_a_weight), refused("not a whole checkpoint (Bad CRC-32")),
    ("one bit of a weight", "fairseq-generate", raw_damaged(flip_a_weight), refused("not a whole checkpoint (Bad CRC-32")),
    ("another architecture", "align", damaged(other_architecture), refused("LSTMModel cannot be read")),
    ("another architecture", "view", damaged(other_architecture), refused("LSTMModel cannot be read")),
    ("another architecture", "analyze singular", damaged(other_architecture), refused("LSTMModel cannot be read")),
    ("another architecture", "fairseq-generate", raw_damaged(other_architecture), refused("LSTMModel cannot be read")),
    ("parameters missing", "align", damaged(in_state(lambda state: state["model"].popitem())), refused("its parameters do not fit")),
    ("parameters missing", "fairseq-generate", raw_damaged(in_state(lambda state: state["model"].popitem())), refused("Missing key")),
    ("no arguments", "align", damaged(in_state(lambda state: state.pop("cfg"))), refused("neither 'args' nor 'cfg'")),
    ("no parameters", "align", damaged(in_state(lambda state: state.pop("model"))), refused("cannot be made into a model")),
    ("arguments that fill the memory", "align", damaged(argument("max_source_positions", 10**12)), refused("it asks for max_source_positions")),
    ("arguments that fill the memory", "align", damaged(argument("decoder_ffn_embed_dim", 10**9)), refused("its parameters have room for")),
    ("arguments that fill the memory", "fairseq-generate", raw_damaged(argument("encoder_layers", 10**9)), refused("it asks for encoder_layers")),
    ("arguments that make no sense", "align", damaged(argument("decoder_attention_heads", -4)), refused("it asks for decoder_attention_heads -4")),
    ("arguments that make no sense", "align", damaged(argument("decoder_attention_heads", 0)), refused("it asks for decoder_attention_heads 0")),
    ("arguments that make no sense", "fairseq-generate", raw_damaged(argument("encoder_attention_heads", 10**9)), refused("it asks for encoder_attention_heads")),
    ("arguments that look around", "align", damaged(argument("arch", "${oc.env:HOME}")), refused("asks for something outside of the file")),
    ("numbers without bounds", "align", texts(SHORT, SHORT, "--threads", 100_000), refused("'100000' is not a whole number from 1 to 1024")),
    ("numbers without bounds", "align", texts(SHORT, SHORT, "--method", "smoothgrad:n=999999999"), refused("from 1 to 10000")),
    ("numbers without bounds", "align", texts(SHORT, SHORT, "--method", "integrated-gradients:n=999999999"), refused("from 1 to 10000")),
    ("numbers without bounds", "align", texts(SHORT, SHORT, "--method", "smoothgrad:seed=99999999999999999999"), refused("from 0 to 2^63 - 1")),
    # -- files that cannot be read
    ("missing file", "align", lambda room: [*room.model(), "--source", "/nowhere", "--target", "/nowhere"], refused("/nowhere: no such file")),
    ("missing file", "score", lambda room: ["/nowhere", "/nowhere"], refused("/nowhere: no such file")),
    ("missing file", "view", lambda room: ["/nowhere"], refused("/nowhere: not a dump")),
    ("missing file", "fairseq-generate", raw_damaged(lambda folder: (folder / "de-en.pt").unlink()), refused("Model file not found")),
    ("missing file", "fairseq-generate", raw_damaged(lambda folder: (folder / "dict.de.txt").unlink()), refused("dict.de.txt: no such file")),
    ("missing file", "fairseq-generate", raw_damaged(lambda folder: (folder / "test.de-en.de").unlink()), refused("the split 'test' cannot be read")),
    ("a directory for a file", "align", damaged(a_directory("dict.de.txt")), refused("dict.de.txt: no such dictionary")),
    ("a directory for a file", "align", lambda room: [*room.model(), "--source", room.folder, "--target", room.folder], refused("is a directory")),
    ("a directory for a file", "score", lambda room: [room.folder, room.folder], refused("is a directory")),
    ("a directory for a file", "symmetrize", lambda room: [room.folder, room.folder], refused("is a directory")),
    ("a directory for a file", "convert", lambda room: [room.folder, "--to", "talp"], refused("is a directory")),
    ("a directory for a file", "baseline fast_align", lambda room: ["--source", room.folder, "--target", room.folder], refused("is a directory")),
    # -- places that cannot be written
    *[
        ("output directory missing", verb, to("OUTPUTS/no/file.png", make), refused("there is no directory"))
        for verb, make in {
            "align": texts(SHORT, SHORT),
            "compare": with_gold(SHORT, SHORT, "0-0\n"),
            "layers": texts(SHORT, SHORT),
            "view": with_links("a\n", "b\n", "0-0\n"),
            "report": with_gold(SHORT, SHORT, "0-0\n"),
            "analyze singular": texts(SHORT, SHORT),
            "score": scored("0-0\n", "0-0\n"),
            "symmetrize": files("0-0\n", "0-0\n"),
            "convert": files("0-0\n", "--to=talp"),
            "baseline fast_align": lines(SHORT, SHORT),
        }.items()
    ],
    ("output directory not writable", "align", to("/proc/links", texts(SHORT, SHORT)), refused("/proc/links")),
    ("output directory not writable", "convert", to("/proc/links", files("0-0\n", "--to=talp")), refused("/proc/links: no such file")),
    ("output directory not writable", "compare", to("/proc/table", with_gold(SHORT, SHORT, "0-0\n")), refused("/proc/table")),
    *[
        ("output is an input", verb, make, refused("would replace it"))
        for verb, make in {
            "align": lambda room: [*texts(SHORT, SHORT)(room), "-o", room.folder / "text.de"],
            "compare": lambda room: [*with_gold(SHORT, SHORT, "0-0\n")(room), "-o", room.folder / "gold"],
            "layers": lambda room: [*texts(SHORT, SHORT)(room), "-o", room.folder / "." / "text.en"],
            "view": lambda room: [*with_links("a\n", "b\n", "0-0\n")(room), "--html", room.folder / "links"],
            "score": lambda room: [*scored("0-0\n", "0-0\n")(room), "-o", room.folder / "hyp"],
            "symmetrize": lambda room: [*files("0-0\n", "0-0\n")(room), "-o", room.folder / "file1"],
            "convert": lambda room: [*files("0-0\n", "--to=talp")(room), "-o", room.folder / "file0"],
        }.items()
    ],
    ("output is an input", "align", lambda room: [*texts(SHORT, SHORT, "--scores", room.folder / "text.de")(room), "-o", room.outputs / "out"], refused("would replace it")),
    ("output is an input", "align", lambda room: [*room.model(), "--source", room.write("links.parts", SHORT), "--target", room.write("t", SHORT), "-o", room.folder / "links"], refused("would replace it")),
    *[
        ("output without a name", verb, to("", make), refused("an output needs a name"))
        for verb, make in {
            "align": texts(SHORT, SHORT),
            "view": with_links("a\n", "b\n", "0-0\n"),
            "report": with_gold(SHORT, SHORT, "0-0\n"),
            "score": scored("0-0\n", "0-0\n"),
            "convert": files("0-0\n", "--to=talp"),
        }.items()
    ],
    ("output without a name", "align", texts(SHORT, SHORT, "--scores", ""), refused("an output needs a name")),
    ("output is a device", "align", to("/dev/stdout", texts("w1\n", "w2\n")), accepted(lambda seen: seen.out == "0-0\n")),
    ("output is a device", "score", to("/dev/fd/1", scored("0-0\n", "0-0\n")), accepted(shows("AER"))),
    ("output is a device", "align", to("/dev/null", texts("w1\n", "w2\n")), accepted(lambda seen: not seen.out)),
    ("output is a device", "align", to("/dev/stdout", texts("w1\n", "w2\n", "--scores", "/dev/fd/1")), refused("--scores: only --output can go to standard output")),
    ("output is a directory", "align", to("OUTPUTS", texts(SHORT, SHORT)), refused("is a directory")),
    ("output is a directory", "score", to("OUTPUTS", scored("0-0\n", "0-0\n")), refused("is a directory")),
    ("disk full", "align", to("/dev/full", texts(SHORT, SHORT)), refused("/dev/full: no space left on device")),
    ("disk full", "compare", to("/dev/full", with_gold(SHORT, SHORT, "0-0\n")), refused("/dev/full: no space left")),
    ("disk full", "layers", to("/dev/full", texts(SHORT, SHORT)), refused("/dev/full: no space left")),
    ("disk full", "score", to("/dev/full", scored("0-0\n", "0-0\n")), refused("/dev/full: no space left")),
    ("disk full", "symmetrize", to("/dev/full", files("0-0\n", "0-0\n")), refused("/dev/full: no space left")),
    ("disk full", "convert", to("/dev/full", files("0-0\n", "--to=talp")), refused("/dev/full: no space left")),
    # -- labels, markup, lexicon, checks, translations, the toy
    ("labels no spans anywhere", "project", labels('{"text": "w1 w2", "entities": []}\n{"text": "w3"}\n'), refused("no line has 'spans'")),
    ("labels outside", "project", labels(span("-5", "99")), refused("outside the line")),
    ("labels not numbers", "project", labels(span("NaN", "1e999")), refused("not a span")),
    ("labels half a letter", "project", labels(span("0.5", "2")), refused("not a span")),
    ("labels deep", "project", labels('{"text": ' + "[" * 50_000 + "\n"), refused("not a line of JSON")),
    ("labels a column before the first", "project", labels("w1 O\nw2 O\n\nw3 O\n", "--label-column", -99), refused("2 columns")),
    ("labels a column after the last", "project", labels("w1 O\nw2 O\n\nw3 O\n", "--label-column", 99), refused("2 columns")),
    ("no spans to score", "project", lambda room: ["--evaluate", room.file("0-0\n0-0\n"), *room.pair(), "--links", room.file("0-0\n0-0\n"), "--longest", 0], refused("is not a whole number from 1 on")),
    ("over its links", "project", lambda room: ["--markup", *room.pair(), "--links", room.file("0-0\n0-0\n", "links"), "-o", room.folder / "links"], refused("would replace it")),
    ("scores missing", "project", lambda room: ["--markup", *room.pair(), "--links", room.file("0-0\n0-0\n"), "--link-scores", room.file("0.5\n"), "-o", room.outputs / "out"], refused("0 numbers for 1 links")),
    ("pairs without a partner", "project", lambda room: ["--markup", *room.model(), "--source", room.file("w1\n"), "--target", room.file(), "-o", room.outputs / "out"], refused("they must be parallel")),
    ("not a number", "lexicon", lambda room: [*room.pair(), "--links", room.file("0-0\n0-0\n"), "--min-association", "nan"], refused("'nan' is not a number")),
    ("past the sentence", "lexicon", lambda room: [*room.pair(), "--links", room.file("0-9\n0-0\n")], refused("0-9")),
    ("over its links", "lexicon", lambda room: [*room.pair(), "--links", room.file("0-0\n0-0\n", "links"), "-o", room.folder / "links"], refused("would replace it")),
    ("kept over the text", "check", lambda room: [*room.model(), "--source", room.file(GOOD, "x.source"), "--target", room.file(), "--keep", "50%", "--keep-to", room.folder / "x", "-o", room.outputs / "out"], refused("would replace it")),
    ("disk full", "check", lambda room: [*room.model(), *room.pair(), "-o", "/dev/full"], refused("no space left")),
    ("not UTF-8", "check", lambda room: [*room.model(), "--source", room.file(b"w1\n\xff\n"), "--target", room.file(), "-o", room.outputs / "out"], refused("not UTF-8")),
    ("words over the text", "align", lambda room: [*room.model(), "--source", room.file(GOOD, "x.source"), "--target", room.file(GOOD, "x.target"), "--write-words", room.folder / "x", "-o", room.outputs / "out"], refused("would replace it")),
    ("over the links to vote", "align", lambda room: [*room.model(), *room.pair(), "--vote", room.file("0-0\n0-0\n", "votes"), "-o", room.folder / "votes"], refused("would replace it")),
    ("over a dictionary", "align", lambda room: [*room.copy(), *room.pair(), "-o", room.folder / "dict.de.txt"], refused("would replace it")),
    ("a choice over the text", "layers", lambda room: [*room.model(), "--source", room.file(GOOD, "text"), "--target", room.file(), "--save", room.folder / "text"], refused("would replace it")),
    ("over the page", "translate", lambda room: [*room.model(), "--page", room.file("<p>w1</p>\n", "page"), "-o", room.folder / "page"], refused("would replace it")),
    ("disk full", "translate", lambda room: [*room.model(), "--source", room.file(), "--beam", 1, "-o", "/dev/full"], refused("no space left")),
    ("half a pair", "try", lambda room: ["Der Bürger"], refused("give both sentences")),
    ("no place", "try", lambda room: ["--html", room.folder / "no" / "page.html"], refused("there is no directory")),
    ("a folder with files", "try", lambda room: ["--copy", room.file().parent], refused("not empty")),
]  # fmt: skip


def _marked(room: Room, source: str, target: str) -> list[object]:
    model = room.folder / "marked" / "model.pt"
    if not model.exists():
        make_sentencepiece_model(model.parent)
    return ["--path", model, "--cpu", "--source", room.write("s", source), "--target", room.write("t", target)]


# -- the rows run -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory):
    return make_models(tmp_path_factory.mktemp("robust") / "models")


def arguments_of(room: Room, verb: str, make: Make) -> list[str]:
    """What the row makes; NAME=CONTENT is written to a file, and an output is given where the verb needs one."""
    found = []
    for given in map(str, make(room)):
        name, sign, content = given.partition("=")
        is_file = sign and name in ("GOLD", "CODES")
        found.append(str(room.write(name, content)) if is_file else given)
    command = verb.split()
    if "-o" not in found and verb in ("align", "convert", "symmetrize", "report"):
        found += ["-o", str(room.outputs / "out")]
    if "-o" not in found and command[0] == "baseline":
        found += ["-o", str(room.outputs / "out")]
    if verb == "report":
        command, found = ["view"], ["--report" if one == "-o" else one for one in found]
    return [*command, *found]


def see(room: Room, verb: str, make: Make, capsys) -> tuple[int, Seen]:
    given = arguments_of(room, verb, make)
    capsys.readouterr()
    if verb.startswith("fairseq-"):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code, last = fairseq(verb, [*given[1:], *FAIRSEQ_OPTIONS])
        rows = sorted(line[2:].split("\t") for line in printed.getvalue().split("\n") if line.startswith("A-"))
        return code, Seen("", last + "\n", "".join(f"{links}\n" for _, links in rows))
    code = main(given)
    captured = capsys.readouterr()
    out = room.outputs / "out"
    return code, Seen(captured.out, captured.err, out.read_text(encoding="utf-8") if out.is_file() else "")


@pytest.mark.parametrize(
    ("what", "verb", "make", "expected"), TABLE, ids=[f"{number}-{row[0]}-{row[1]}" for number, row in enumerate(TABLE)]
)
def test_row(what, verb, make, expected, models, tmp_path, capsys):
    room = Room(models, tmp_path)
    if verb.startswith("baseline"):
        program = room.write("programs/fast_align", "#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
        made = make
        make = lambda room: [*made(room), "--programs", program.parent]  # noqa: E731
    code, seen = see(room, verb, make, capsys)
    assert code == expected.code, seen
    assert expected.says in seen.err, seen
    assert "Traceback" not in seen.err
    if expected.code == 2:
        assert seen.err.count("error:") == 1, seen  # notes on single sentences may stand before it
        assert "error:" in seen.err.splitlines()[-1]
        assert not seen.out
        assert room.leftovers() == []
    else:
        assert expected.check(seen), seen


def test_the_table_has_every_kind_of_bad_input():
    """What issue after issue has listed; processes that are interrupted are below."""
    named = {row[0] for row in TABLE}
    listed = "empty line|blank file|line counts differ|CRLF|BOM|NBSP|U+2028 in a line|U+0085 in a line|NUL byte|invalid UTF-8"
    listed += (
        "|5,000 words|one word|@@ at the end|lone ▁|unknown words only|gold out of range|1-based gold read as 0-based"
    )
    listed += "|reversed direction|possible without sure|duplicate links|n-best log out of order|wrong dictionary"
    listed += (
        "|wrong BPE codes|dictionary of another size|truncated checkpoint|another architecture|a directory for a file"
    )
    listed += "|output directory missing|output directory not writable|disk full"
    listed += "|output is an input|output without a name|output is a device|letters that steer a terminal"
    assert not set(listed.split("|")) - named
    assert LONGEST < 5000


# -- rows that need a process of their own ------------------------------------------------------------------------------


@pytest.fixture
def room(models, tmp_path) -> Room:
    return Room(models, tmp_path)


def test_a_file_that_may_not_be_read(room, capsys):
    path = room.write("links", "0-0\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything; a directory in the place of a file is in the table")
    assert main(["convert", str(path), "--to", "talp"]) == 2
    assert "permission denied" in capsys.readouterr().err


def test_standard_output_full(room):
    links = room.write("links", "0-0 1-1\n" * 5000)
    with open("/dev/full", "wb") as full:
        process = start(["convert", links, "--to", "naacl"], stdout=full)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert errors.decode().splitlines() == ["normalign convert: error: standard output: no space left on device"]


def test_disk_full_in_the_middle_of_a_file(room):
    """A limit on the size of files stands for the disk: writing fails after some of it is written."""
    write_text(room.folder, 400, "many")
    given = [*room.model(), "--source", room.folder / "many.de", "--target", room.folder / "many.en"]
    given += ["--readings", "default"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    child = forked_main(["align", *given, "-o", room.outputs / "out"], room.folder / "errors", limit)
    _, status = os.waitpid(child, 0)
    said = (room.folder / "errors").read_text()
    assert os.waitstatus_to_exitcode(status) == 2
    assert "file too large" in said.splitlines()[-1]
    assert "Traceback" not in said
    assert not (room.outputs / "out").exists()


@pytest.mark.parametrize("verb", ["convert", "score"])
def test_a_pipe_closed_early(room, verb):
    links = room.write("links", "0-0 1-1\n" * 60_000)
    arguments = {"convert": [links, "--to", "naacl"], "score": [links, links, "--per-sentence", "/dev/stdout"]}[verb]
    process = start([verb, *arguments])
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(300) == 141
    assert process.stderr.read() == b""


def interrupt_when(child: int, ready: Callable[[], bool]) -> int:
    """SIGINT as soon as ``ready``; -> the exit code."""
    for _ in range(4000):
        if ready():
            break
        time.sleep(0.025)
    os.kill(child, signal.SIGINT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_ctrl_c_while_aligning(room):
    write_text(room.folder, 20_000, "many")
    given = [*room.model(), "--source", room.folder / "many.de", "--target", room.folder / "many.en"]
    given += ["--readings", "default"]
    child = forked_main(["align", *given, "-o", room.outputs / "out"], room.folder / "errors")
    assert interrupt_when(child, lambda: len(list(room.outputs.glob("out.parts/0*"))) > 0) == 130
    said = (room.folder / "errors").read_text().splitlines()
    assert said[-1] == "normalign align: interrupted"
    assert len(said) == 2
    assert "the same command continues" in said[0]
    assert not (room.outputs / "out").exists()


def test_ctrl_c_while_converting_leaves_nothing(room):
    links = room.write("links", "0-0 1-1 2-2 3-3\n" * 100_000)
    process = start(["convert", links, "--to", "naacl", "-o", room.outputs / "out"])
    assert interrupt_when(process.pid, lambda: any(room.outputs.iterdir())) == 130
    assert process.stderr.read() == b"normalign convert: interrupted\n"
    assert room.leftovers() == []


def fairseq_command(room: Room, *more: object) -> list[str]:
    command = [shutil.which("fairseq-generate", path=environment()["PATH"]), *raw(TEN * 40, TEN * 40)(room)]
    return [*map(str, command), "--user-dir", str(PACKAGE), *FAIRSEQ_OPTIONS, *map(str, more)]


def test_fairseq_generate_into_a_closed_pipe(room):
    process = start([], fairseq_command(room, "--max-tokens", 60), env=environment(PYTHONUNBUFFERED="1"))
    assert process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read().decode()
    assert process.wait(300) == 141
    assert "Traceback" not in errors


def test_ctrl_c_in_fairseq_generate(room):
    dump = room.outputs / "dump"
    command = fairseq_command(room, "--max-tokens", 30, "--normalign-dump", dump)
    process = start([], command, stdout=subprocess.DEVNULL)
    code = interrupt_when(process.pid, lambda: any(room.outputs.iterdir()))
    errors = process.stderr.read().decode()
    assert code == 130, errors
    assert "fairseq_normalign: interrupted" in errors.splitlines()  # a loading thread may still have its say
    assert "Traceback" not in errors
    assert room.leftovers() == []


@pytest.mark.slow
def test_ctrl_c_at_any_moment(room):
    """Also while Python and torch are being loaded."""
    for tenths in range(1, 40, 3):
        given = [*room.model(), "--source", room.models.folder / "text.de", "--target", room.models.folder / "text.en"]
        process = start(["align", *given, "-o", room.outputs / f"out{tenths}"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(tenths / 10)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        python_had_not_started = process.returncode == 1 and b"init_import_site" in errors  # on a slow machine
        assert python_had_not_started or process.returncode in (0, 130, -signal.SIGINT), errors
        out = room.outputs / f"out{tenths}"
        if process.returncode == 0 or out.exists():  # it may be interrupted when all is written
            assert out.read_text().count("\n") == room.models.lines


def test_the_command_itself_refuses_in_one_line(room):
    """The rows above call the same function in this process; here it is the program."""
    process = start(["align", *texts(b"w1\n\xff\n", "w1\nw2\n")(room), "-o", room.outputs / "out"])
    out, errors = process.communicate(timeout=300)
    assert (process.returncode, out) == (2, b"")
    assert errors.decode().count("\n") == 1
    assert "text.de:2: byte 0xff" in errors.decode()
    assert room.leftovers() == []


def test_inputs_survive_being_named_as_outputs(room):
    text = room.write("text.parts", "w1 w2\n")
    given = [*map(str, room.model()), "--source", str(text), "--target", str(text)]
    for out in (text, room.folder / "text"):
        assert main(["align", *given, "-o", str(out)]) == 2
    assert text.read_text() == "w1 w2\n"


def test_the_null_device_as_an_ordinary_user(room):
    if os.geteuid() != 0:
        pytest.skip("the rows of the table run as an ordinary user already")
    with tempfile.TemporaryDirectory() as place:  # pytest's own are closed to other users
        os.chmod(place, 0o755)
        links = Path(place) / "links"
        links.write_text("0-0\n")
        given = ["convert", links, "--to", "talp", "-o", "/dev/null"]
        child = forked_main(given, room.write("errors", ""), lambda: os.setresuid(65534, 65534, 65534))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, (room.folder / "errors").read_text()


def test_tables_of_odd_names_keep_their_columns(room, capsys):
    gold, hyp = room.write("gold", "0-0\n"), room.write(ODD_NAME, "0-0\n")
    assert main(["score", str(gold), str(hyp), "--style", "tsv", "--per-sentence", str(room.outputs / "each")]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    rows_each = [line.split("\t") for line in (room.outputs / "each").read_text().splitlines()]
    assert len(rows) == len(rows_each) == 2
    assert [len(row) for row in rows] == [len(rows[0])] * 2
    assert [len(row) for row in rows_each] == [len(rows_each[0])] * 2
    assert rows[1][0].endswith(r"hy\tp\n\x1b[2J\u202e\x7f")


def test_a_dump_is_whole_or_not_there(room):
    """The dump of a run that is refused half-way is not there; that of a good one is."""
    good = texts("w1 w2\nw3\n", "w1\nw2\n")(room)
    assert main(["align", *map(str, good), "-o", str(room.outputs / "out"), "--dump", str(room.outputs / "dump")]) == 0
    assert len(Dump(room.outputs / "dump")) == 2


def check_refused(command: list[object], says: str, room: Room, capsys) -> None:
    before = {path: path.read_bytes() for path in room.folder.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main([*map(str, command)]) == 2
    seen = capsys.readouterr()
    assert says in seen.err.splitlines()[-1], seen.err
    assert seen.err.count("error:") == 1
    assert not seen.out
    assert {path: path.read_bytes() for path in room.folder.rglob("*") if path.is_file()} == before


# -- folders of transformers ------------------------------------------------------------------------------------------


def config(name: str = "config.json", **values: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        found = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**found, **values}))

    return change


def moved_pieces(folder: Path) -> None:
    pieces = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps({piece: index + 10**6 for piece, index in pieces.items()}))


FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no heads": (config(decoder_attention_heads=0), "1 is the least"),
    "heads below zero": (config(decoder_attention_heads=-4), "1 is the least"),
    "a million layers": (config(decoder_layers=10**6), "1000 is the most"),
    "no layers": (config(encoder_layers=0), "1 is the least"),
    "a dictionary larger than the file": (config(vocab_size=10**10), "its weights have"),
    "positions for the whole memory": (config(max_position_embeddings=10**10), "131072 is the most"),
    "more than all is dropped": (config(dropout=5), "1 is the most"),
    "no end": (config(eos_token_id=None), "which piece ends a sentence"),
    "a start that is no piece": (config("generation_config.json", decoder_start_token_id=10**6), "belong together"),
    "pieces of another model": (moved_pieces, "belong together"),
    "weights cut": (lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 8), "its weights have 8 bytes"),
    "configuration cut": (lambda folder: (folder / "config.json").write_text("{"), "not a JSON file"),
}


@pytest.fixture(scope="module")
def marian_folder(tmp_path_factory) -> Path:
    pytest.importorskip("transformers")
    from tests.hosts.transformers.folders import marian

    return marian(tmp_path_factory.mktemp("marian"))


@pytest.mark.parametrize("name", FOLDERS)
def test_folder(name, marian_folder, models, tmp_path, capsys):
    change, says = FOLDERS[name]
    room = Room(models, tmp_path)
    folder = tmp_path / "model"
    shutil.copytree(marian_folder, folder)
    change(folder)
    command = ["align", "--path", folder, "--cpu", "--readings", "default", *room.pair(), "-o", room.outputs / "out"]
    check_refused(command, says, room, capsys)


def test_a_folder_is_not_written_over(marian_folder, models, tmp_path, capsys):
    room = Room(models, tmp_path)
    folder = tmp_path / "model"
    shutil.copytree(marian_folder, folder)
    for name in ("config.json", "model.safetensors", "vocab.json", "source.spm"):
        check_refused(
            ["align", "--path", folder, "--cpu", *room.pair(), "-o", folder / name], "would replace it", room, capsys
        )


# -- any bytes in alignment files: a result or one line ---------------------------------------------------------------

PIECES = [
    b"0-0",
    b"1-1",
    b"2p3",
    b"12-7",
    b" ",
    b"\n",
    b"\n",
    b"\r\n",
    b"\t",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\0",
    b"\xe2\x80\xa8",
    b"0001 1 1 S\n",
    b"2 0 3 P 0.5\n",
    b"3 0 0\n",
    b"SENT: 1\n",
    b"SENT: 0\n",
    b"S 1 1\n",
    b"P 0 2\n",
    b"-1",
    b"99999999999-1",
    b"A-0\t0-0\n",
    b"A-1\t\n",
    b"A-1\t3-3 0-1\n",
    b"S-0\ta b\n",
    b"H-0\t-0.1\tc d\n",
    b"A-0\t0.1,0.2\n",
    b"x",
    b"1234567890123456789012-0",
]
CONTENT = st.lists(st.sampled_from(PIECES), max_size=10).map(b"".join)
OPTIONS = st.lists(
    st.sampled_from(
        "--reverse-hyp --gold-base=1 --hyp-base=0 --skip-goldless --source=gold --bootstrap=3 --allow-missing".split()
    ),
    max_size=3,
)


@settings(max_examples=300, deadline=None)
@hypothesis.given(gold=CONTENT, hyp=CONTENT, options=OPTIONS)
def test_any_bytes_in_alignments(tmp_path_factory, gold, hyp, options):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "gold").write_bytes(gold)
    (folder / "hyp").write_bytes(hyp)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["score", "gold", "hyp", *options]) in (0, 2)
        assert main(["symmetrize", "gold", "hyp", "-o", "out"]) in (0, 2)
        assert main(["convert", "hyp", "--to", "talp", "-o", "out"]) in (0, 2)
