"""The table of bad input: what is wrong with it, the commands it is given to, and what has to happen.

``refused(text)``: exit code 2, one line on standard error that holds ``text``, no file written or changed.
``accepted(check)``: exit code 0; ``check`` looks at what came out.
"""

# ruff: noqa: E501 - a row of the table is a line

from __future__ import annotations

import contextlib
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
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
from tests.cli.tiny_pair import LONGEST, WORDS, make_tiny_pair, write_text
from tests.conftest import run

from .room import FAIRSEQ_OPTIONS, make_lstm, make_sentencepiece_model, start

Damage = Callable[[Path], object]


@dataclass(frozen=True)
class Seen:
    """What a user sees, and the file that was written."""

    out: str
    err: str
    written: str
    """The text of the output file, or the A- lines of fairseq's commands in the order of their ids."""


@dataclass(frozen=True)
class Expected:
    code: int
    says: str = ""
    check: Callable[[Seen], bool] = lambda seen: True


@dataclass(frozen=True)
class Row:
    """``commands`` are separated by ';', each tried by itself in a folder with the files and a copy of the model."""

    what: str
    commands: str
    expected: Expected
    damage: Damage
    files: dict[str, bytes | str]


def row(what: str, commands: str, expected: Expected, damage: Damage = lambda folder: None, **files) -> Row:
    return Row(what, commands, expected, damage, files)


def refused(says: str) -> Expected:
    return Expected(2, says)


def accepted(check: Callable[[Seen], bool] = lambda seen: True, says: str = "") -> Expected:
    return Expected(0, says, check)


# -- what comes out ---------------------------------------------------------------------------------------------------


def linked(*pattern: int) -> Callable[[Seen], bool]:
    """A line per pair: with links where the pattern says 1, empty where it says 0."""
    return lambda seen: [bool(line) for line in seen.written.split("\n")[:-1]] == [bool(wanted) for wanted in pattern]


def targets(*counts: int) -> Callable[[Seen], bool]:
    """So many target words per line, each linked once."""
    return lambda seen: (
        [len({link.split("-")[1] for link in line.split()}) for line in seen.written.split("\n")[:-1]] == list(counts)
    )


def writes(text: str) -> Callable[[Seen], bool]:
    return lambda seen: seen.written == text


def shows(*texts: str, without: str = "") -> Callable[[Seen], bool]:
    return lambda seen: all(text in seen.out for text in texts) and not set(seen.out) & set(without)


# -- damages to the model ---------------------------------------------------------------------------------------------


def cut(share: float) -> Damage:
    def damage(folder: Path) -> None:
        content = (folder / "de-en.pt").read_bytes()
        (folder / "de-en.pt").write_bytes(content[: int(len(content) * share)])

    return damage


def flip_a_weight(folder: Path) -> None:
    """One bit of a parameter: torch.load alone would not see it."""
    content = bytearray((folder / "de-en.pt").read_bytes())
    with zipfile.ZipFile(folder / "de-en.pt") as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
    content[largest.header_offset + largest.file_size // 2] ^= 64
    (folder / "de-en.pt").write_bytes(bytes(content))


def entries(change: Callable[[list[bytes]], list[bytes]]) -> Damage:
    """Change the lines of both dictionaries."""

    def damage(folder: Path) -> None:
        for path in folder.glob("dict.*.txt"):
            path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))

    return damage


def in_state(change: Callable[[dict], object]) -> Damage:
    def damage(folder: Path) -> None:
        state = torch.load(folder / "de-en.pt", weights_only=False)
        change(state)
        torch.save(state, folder / "de-en.pt")

    return damage


def argument(name: str, value: object) -> Damage:
    def change(state: dict) -> None:
        assert hasattr(state["cfg"]["model"], name)
        setattr(state["cfg"]["model"], name, value)

    return in_state(change)


def config(name: str = "config.json", **values: object) -> Damage:
    def damage(folder: Path) -> None:
        found = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**found, **values}))

    return damage


def moved_pieces(folder: Path) -> None:
    pieces = json.loads((folder / "vocab.json").read_text())
    (folder / "vocab.json").write_text(json.dumps({piece: index + 10**6 for piece, index in pieces.items()}))


def a_directory(folder: Path) -> None:
    (folder / "dict.de.txt").unlink()
    (folder / "dict.de.txt").mkdir()


# -- the table --------------------------------------------------------------------------------------------------------

GAP = {"de": "w1 w2\n\nw3\n", "en": "w1\nw2\nw3\n"}
TEN = {"source": "w1 w2 w3\n" * 12, "target": "w1 w2 w3\n" * 12}
ONE_BASED = "1-1 2-2 3-3\n" * 12
LONG_LINE = "w1 " * 5000 + "\n"
LOG = "S-{0}\ta b\nH-{0}\t-0.5\tc d\nA-{0}\t0-0 1-1\n"
BEST_OF_TWO = (
    "S-1\ta\nH-1\t-1\tc\nA-1\t0-0\nH-1\t-2\tc d\nA-1\t0-1\nS-0\ta b\nH-0\t-1\tc\nA-0\t1-0\nH-0\t-2\tc d\nA-0\t0-0\n"
)
ODD_NAME = "hy\tp\n\x1b[2J\u202e\x7f"
EVERY_MODEL_VERB = "align MODEL TEXT -o OUT; compare MODEL TEXT --gold gold; layers MODEL TEXT; view MODEL TEXT; analyze heads MODEL TEXT; fairseq-generate RAW"


def span(start: str, end: str) -> str:
    return f'{{"text": "w1 w2", "spans": [{{"start": {start}, "end": {end}, "label": "A"}}]}}\n'


TABLE = [
    # -- lines of text
    row("empty line", "align MODEL TEXT -o OUT", accepted(linked(1, 0, 1), "1 empty on one side"), **GAP),
    row("empty line", "compare MODEL TEXT --gold gold", accepted(), **GAP, gold="0-0\n\n0-0\n"),
    row("empty line", "layers MODEL TEXT", accepted(shows("chosen")), **GAP),
    row("empty line", "analyze dispersion MODEL TEXT", accepted(says="1 lines left out"), **GAP),
    row("empty line", "view TEXT --links links --sentences 2", accepted(), de="w1\n\n", en="w1\nw2\n", links="0-0\n\n"),
    row("empty line", "view MODEL TEXT --sentences 1,2", accepted(says="sentence 2 is left out"), de="w1\n\n", en="w1\nw2\n"),
    row("empty line", "score gold hyp", accepted(shows("0.0")), gold="0-0\n\n0-0\n", hyp="0-0\n\n0-0\n"),
    row("empty line", "fairseq-generate RAW; fairseq-interactive TYPED", accepted(linked(1, 0, 1)), **GAP),
    row("blank file", "align MODEL TEXT -o OUT", accepted(writes("")), de="", en=""),
    row("blank file", "compare MODEL TEXT --gold gold", refused("gold: the file is empty"), de="", en="", gold=""),
    row("blank file", "layers MODEL TEXT", refused("no sentence pair to choose readings by"), de="", en=""),
    row("blank file", "analyze dispersion MODEL TEXT", refused("none of its lines can be read"), de="", en=""),
    row("blank file", "view MODEL TEXT", refused("no sentence to show"), de="", en=""),
    row("blank file", "view MODEL TEXT --gold gold --report OUT", refused("there is no sentence to show"), de="", en=""),
    row("blank file", "score gold hyp; symmetrize hyp gold -o OUT; convert gold --to talp -o OUT", refused("gold: the file is empty"), gold=""),
    row("blank lines only", "align MODEL TEXT -o OUT", accepted(linked(0, 0)), de="\n \n", en="\n\t\n"),
    row("blank lines only", "score gold hyp", refused("no sentence has a link"), gold="\n\n", hyp="\n\n"),
    row("line counts differ", "align MODEL TEXT -o OUT; compare MODEL TEXT --gold gold; baseline fast_align TEXT --programs programs -o OUT", refused("de:2: no line of"), de="w1\nw2\n", gold="0-0\n0-0\n"),
    row("line counts differ", "fairseq-generate RAW", refused("same number of examples"), de="w1\nw2\n"),
    row("line counts differ", "layers MODEL TEXT; analyze heads MODEL TEXT; view MODEL TEXT --sentences 1-2; view MODEL TEXT --gold gold --report OUT", refused("en:2: no line of"), de="w1\n", en="w1\nw2\n"),
    row("line counts differ", "compare MODEL TEXT --gold gold", refused("2 sentences, but"), de="w1\n", en="w1\n", gold="0-0\n0-0\n"),
    row("line counts differ", "score gold hyp; symmetrize gold hyp -o OUT", refused(" has 2 sentences"), gold="0-0\n0-0\n", hyp="0-0\n"),
    row("CRLF", "align MODEL TEXT -o OUT", accepted(targets(1, 1)), de="w1 w2\r\nw3\r\n", en="w1\r\nw2\r\n"),
    row("CRLF", "score gold hyp", accepted(shows(" 0.0")), gold="0-0 1-1\r\n0-0\r\n", hyp="0-0 1-1\n0-0\n"),
    row("CRLF", "convert links --to pharaoh --possible keep --from-base 1 -o OUT", accepted(writes("0-0 1-1\n")), links="1-1 2p2\r\n"),
    row("BOM", "align MODEL TEXT -o OUT", accepted(targets(1)), de="\ufeffw1 w2\n", en="\ufeffw1\n"),
    row("BOM", "align MODEL TEXT -o OUT", accepted(targets(1)), entries(lambda rows: [b"\xef\xbb\xbf" + rows[0], *rows[1:]])),
    row("BOM", "score gold hyp", accepted(shows(" 0.0")), gold="\ufeff0-0\n"),
    row("NBSP", "align MODEL TEXT -o OUT", accepted(targets(1), "are not in the dictionary"), de="w1\u00a0w2 w3\n", en="w1\u00a0w2\n"),
    row("NBSP", "convert links --to talp --from pharaoh -o OUT", refused(r"'0-0\xa01-1' is neither"), links="0-0\u00a01-1\n"),
    row("U+2028 in a line", "align MODEL TEXT -o OUT", accepted(targets(2, 1)), de="w1\u2028w2 w3\nw1\n", en="w1 w2\nw1\n"),
    row("U+2028 in a line", "convert links --to talp -o OUT", refused(r"'0-0\u20281-1' is neither"), links="0-0\n0-0\u20281-1\n"),
    row("U+0085 in a line", "align MODEL TEXT -o OUT", accepted(targets(2, 1)), de="w1\u0085w2 w3\nw1\n", en="w1 w2\nw1\n"),
    row("U+0085 in a line", "score gold hyp", refused(r"'0-0\x85' is neither"), gold="0-0\n0-0\u0085\n", hyp="0-0\n0-0\n"),
    row("odd lines in fairseq", "fairseq-generate RAW", accepted(linked(1, 1, 1, 1, 1, 1)), de="w1 w2\r\nw3\nw1\u00a0w2 w3\nw1\u2028w2 w3\nw1 \0 w2\naa bb\n", en="w1\r\n" + "w1\n" * 5),
    row("NUL byte", "align MODEL TEXT -o OUT", refused("de:2: a NUL byte"), de="w1\nw\0\n", en="w1\nw1\n"),
    row("NUL byte", "compare MODEL TEXT --gold gold", refused("en:1: a NUL byte"), de="w1\n", en="w1\0\n"),
    row("NUL byte", "view TEXT --links links; baseline fast_align TEXT --programs programs -o OUT", refused("de:1: a NUL byte"), de="w1\0\n"),
    row("NUL byte", "score gold hyp", refused("gold:2: a NUL byte"), gold="0-0\n0-0\0\n", hyp="0-0\n0-0\n"),
    row("invalid UTF-8", "align MODEL TEXT -o OUT; layers MODEL TEXT; analyze mixing MODEL TEXT", refused("de:2: byte 0xff at column 4"), de=b"w1\nw1 \xff\n", en="w1\nw2\n"),
    row("invalid UTF-8", "check MODEL TEXT -o OUT", refused("not UTF-8"), de=b"w1\nw1 \xff\n", en="w1\nw2\n"),
    row("invalid UTF-8", "convert links --to talp -o OUT", refused("links:1: byte 0xff"), links=b"0-0 \xff\n"),
    row("invalid UTF-8", "symmetrize hyp links -o OUT", refused("links: no known format"), links=b"\xff-1\n"),
    row("invalid UTF-8", "fairseq-generate RAW", refused("can't decode byte 0xff"), de=b"w1\xff\n", en="w1\n"),
    row("invalid UTF-8", "fairseq-interactive TYPED", refused("byte 0xff is not utf-8 text"), de=b"w1\xff\n"),
    row("5,000 words", "align MODEL TEXT -o OUT", accepted(linked(0, 1), "1 longer than"), de=LONG_LINE + "w1\n", en="w1\nw1\n"),
    row("5,000 words", "compare MODEL TEXT --gold gold", refused("none of the pairs can be aligned"), de=LONG_LINE),
    row("5,000 words", "view MODEL TEXT", refused("no sentence to show"), de=LONG_LINE),
    row("5,000 words", "view TEXT --links links --html -", accepted(shows("<!doctype html>")), de=LONG_LINE),
    row("5,000 words", "view TEXT --links links -o outputs/figure.png", refused("too many for a figure"), de=LONG_LINE, en=LONG_LINE),
    row("5,000 words", "symmetrize links links -o OUT", accepted(targets(5000)), links=" ".join(f"{n}-{n}" for n in range(5000)) + "\n"),
    row("5,000 words", "fairseq-generate RAW", refused("sentence 1 has 5001 and 2 pieces"), de=LONG_LINE),
    row("5,000 words", "fairseq-interactive TYPED", refused("sentence 1 has"), de=LONG_LINE),
    row("5,000 letters in a word", "align MODEL TEXT -o OUT", accepted(targets(1)), de="x" * 5000 + "\n"),
    row("one word", "align MODEL TEXT -o OUT", accepted(writes("0-0\n")), de="w1\n"),
    row("one word", "compare MODEL TEXT --gold gold", accepted(shows("0.0")), de="w1\n"),
    row("one word", "layers MODEL TEXT", accepted(shows("unsure")), de="w1\n"),
    row("one word", "view MODEL TEXT --gold gold --report OUT", accepted(), de="w1\n"),
    row("one word", "fairseq-generate RAW", accepted(linked(1)), de="w1\n"),
    # -- pieces
    row("@@ at the end", "align MODEL TEXT -o OUT; fairseq-generate RAW --score-reference", accepted(targets(2)), de="w1 w5@@\n", en="w2 w5@@\n"),
    row("@@ at the end", "compare MODEL TEXT --gold gold", accepted(), de="w1 w5@@\n", en="w2 w5@@\n", gold="0-0 1-1\n"),
    row("@@ alone", "align MODEL TEXT -o OUT", accepted(targets(2)), de="@@ w1\n", en="w2 @@\n"),
    row("lone ▁", "align MODEL TEXT -o OUT", accepted(linked(0, 1)), make_sentencepiece_model, de="▁\n▁a ▁\n", en="▁a c\n▁b ▁ ▁e\n"),
    row("unknown words only", "align MODEL TEXT -o OUT", accepted(targets(2), "2 of 2 source pieces are not in"), de="aa bb\n", en="cc dd\n"),
    row("unknown words only", "compare MODEL TEXT --gold gold", accepted(says="1 of 1 source pieces"), de="aa\n", en="bb\n"),
    # -- gold and links
    row("gold out of range", "score gold hyp --source de --target en", refused("gold:1: link 5-0 is out of range"), gold="0-0 5-0\n"),
    row("gold out of range", "compare MODEL TEXT --gold gold --gold-base 0", refused("links word 8"), gold="0-0 7-0\n"),
    row("gold out of range", "view MODEL TEXT --gold gold; view TEXT --links gold", refused("out of range"), gold="0-9\n"),
    row("gold out of range", "analyze heads MODEL TEXT --gold gold", refused("links word 1 to word 10"), gold="0-9\n"),
    row("gold out of range", "lexicon TEXT --links gold", refused("0-9"), gold="0-9\n"),
    row("index past any sentence", "convert links --to talp -o OUT", refused("is past any sentence"), links="0-99999999\n"),
    row("1-based gold read as 0-based", "score gold hyp --source source --target target", accepted(shows(" 0.0", "base:1")), gold=ONE_BASED, hyp="0-0 1-1 2-2\n" * 12, **TEN),
    row("1-based gold read as 0-based", "score gold hyp --source source --target target --gold-base=0", refused("link 3-3 is out of range"), gold=ONE_BASED, hyp="0-0\n" * 12, **TEN),
    row("1-based gold read as 0-based", "score gold hyp", refused("does it count words from 0 or 1?"), gold="1-1\n"),
    row("1-based gold read as 0-based", "compare MODEL --source source --target target --gold gold --gold-base 0", refused("links word 4"), gold=ONE_BASED, **TEN),
    row("reversed direction", "score gold hyp --source de --target en", accepted(shows("target-source")), gold="0-2 0-1 1-0\n", de="a b c\n", en="d e\n"),
    row("reversed direction", "score gold hyp --source de --target en --no-reverse-gold", refused("out of range"), gold="0-2\n", de="a b c\n", en="d e\n"),
    row("reversed direction", "symmetrize links hyp -o OUT", refused("reverse-second"), links="0-2 1-3\n" * 20, hyp="2-0 3-1\n" * 20),
    row("possible without sure", "score gold hyp", accepted(shows("gold: 1 sure links, 2 only possible")), gold="0p0 1p1\n0-0\n", hyp="0-0\n0-0\n"),
    row("possible without sure", "score gold hyp", accepted(shows("gold: 0 sure links, 1 only possible")), gold="0p0\n"),
    row("possible without sure", "convert links --to pharaoh -o OUT", refused("is only possible"), links="0p0\n"),
    row("duplicate links", "score gold hyp", accepted(shows("gold: 2 sure links, 0 only possible")), gold="0-0 0-0 1-1\n", hyp="1-1 1-1 0-0\n"),
    row("duplicate links", "convert links --to talp --to-base 0 -o OUT; symmetrize links hyp -o OUT", accepted(writes("0-0\n")), links="0-0 0-0\n"),
    row("duplicate links", "convert links --to talp --to-base 0 -o OUT", accepted(writes("0-0\n")), links="0-0 0p0 0-0\n"),
    row("n-best log out of order", "convert links --to pharaoh -o OUT", accepted(writes("1-0\n0-0\n")), links=BEST_OF_TWO),
    row("n-best log out of order", "convert links --to pharaoh --nth 2 -o OUT", accepted(writes("0-0\n0-1\n")), links=BEST_OF_TWO),
    row("n-best log out of order", "convert links --to pharaoh --nth 3 -o OUT", refused("no alignment number 3"), links=BEST_OF_TWO),
    row("log with a gap", "convert links --to pharaoh -o OUT", refused("no alignment number 1 for sentence 1"), links=LOG.format(0) + LOG.format(2)),
    row("ids up to the sky", "convert links --to pharaoh -o OUT", refused("are they line numbers?"), links="A-999999999\t0-0\n"),
    row("ids up to the sky", "convert links --to talp -o OUT", refused("are they line numbers?"), links="SENT: 99999999\nS 1 1\n"),
    row("letters that steer a terminal", "convert links --to talp -o OUT", refused(r"'\x1b[2J' is neither"), links="0-0 \x1b[2J\n"),
    row("letters that steer a terminal", "view TEXT --links links", accepted(shows(r"c\u200dd", without="\x1b\u202e\u200b\u2066\u200d")), de="\x1b[2Ja\u202eb\u200b\u2066\n", en="c\u200dd\n"),
    row("letters that steer a terminal", "score gold ODD_NAME; score gold ODD_NAME --style tsv; score gold ODD_NAME --json; score gold ODD_NAME --style latex", accepted(shows(without="\x1b\u202e\x7f")), **{ODD_NAME: "0-0\n"}),
    # -- models
    row("wrong dictionary", "align MODEL TEXT -o OUT", accepted(targets(1), "2 of 2 source pieces are not"), entries(lambda rows: [b"x" + line for line in rows])),
    row("dictionary of another size", "align MODEL TEXT -o OUT; view MODEL TEXT; layers MODEL TEXT; analyze singular MODEL TEXT; fairseq-generate RAW", refused(f"has {WORDS + 4} embeddings, the source dictionary"), entries(lambda rows: rows[:-3])),
    row("dictionary line without a count", "align MODEL TEXT -o OUT; fairseq-generate RAW", refused("dict.de.txt:41: 'broken' is not a symbol"), entries(lambda rows: [*rows, b"broken\n"])),
    row("dictionary entry twice", "align MODEL TEXT -o OUT", refused("'w0@@' is there twice"), entries(lambda rows: [*rows, rows[0]])),
    row("dictionary not UTF-8", "align MODEL TEXT -o OUT", refused("dict.de.txt:1: byte 0xff"), entries(lambda rows: [b"\xff 1\n", *rows[1:]])),
    row("wrong BPE codes", "align MODEL TEXT --bpe-codes codes -o OUT", accepted(says="are text, codes and dictionary those"), codes="#version: 0.2\nq z</w>\n"),
    row("no BPE codes", "align MODEL TEXT --bpe-codes codes -o OUT", refused("codes:1: 'this is just text' is not a merge"), codes="this is just text\n"),
    row("no BPE codes", "view MODEL TEXT --bpe-codes codes", refused("codes: the file is empty"), codes=""),
    row("no counts", "analyze frequency MODEL TEXT --counts codes", refused("codes:2: 'b x' is not a piece and its count"), codes="a 10\nb x\n"),
    row("no SentencePiece model", "align MODEL TEXT --sentencepiece-model codes -o OUT", refused("codes"), codes="text"),
    row("truncated checkpoint", EVERY_MODEL_VERB, refused("de-en.pt: not a whole checkpoint"), cut(0.5)),
    row("truncated checkpoint", "compare MODEL TEXT --gold gold", refused("de-en.pt: not a whole checkpoint"), cut(0.99)),
    row("truncated checkpoint", "layers MODEL TEXT", refused("de-en.pt: not a whole checkpoint"), cut(0.01)),
    row("truncated checkpoint", "view MODEL TEXT; view MODEL TEXT --gold gold --report OUT", refused("de-en.pt: not a whole checkpoint"), cut(0)),
    row("one bit of a weight", "align MODEL TEXT -o OUT; fairseq-generate RAW", refused("not a whole checkpoint: Bad CRC-32"), flip_a_weight),
    row("another architecture", "align MODEL TEXT -o OUT; view MODEL TEXT; analyze singular MODEL TEXT; fairseq-generate RAW", refused("LSTMModel cannot be read"), make_lstm),
    row("parameters missing", "align MODEL TEXT -o OUT", refused("its parameters do not fit"), in_state(lambda state: state["model"].popitem())),
    row("parameters missing", "fairseq-generate RAW", refused("Missing key"), in_state(lambda state: state["model"].popitem())),
    row("no arguments", "align MODEL TEXT -o OUT", refused("neither 'args' nor 'cfg'"), in_state(lambda state: state.pop("cfg"))),
    row("no parameters", "align MODEL TEXT -o OUT", refused("cannot be made into a model"), in_state(lambda state: state.pop("model"))),
    row("arguments that fill the memory", "align MODEL TEXT -o OUT", refused("it asks for max_source_positions"), argument("max_source_positions", 10**12)),
    row("arguments that fill the memory", "align MODEL TEXT -o OUT", refused("its parameters have room for"), argument("decoder_ffn_embed_dim", 10**9)),
    row("arguments that fill the memory", "fairseq-generate RAW", refused("it asks for encoder_layers"), argument("encoder_layers", 10**9)),
    row("arguments that make no sense", "align MODEL TEXT -o OUT", refused("it asks for decoder_attention_heads -4"), argument("decoder_attention_heads", -4)),
    row("arguments that make no sense", "align MODEL TEXT -o OUT", refused("it asks for decoder_attention_heads 0"), argument("decoder_attention_heads", 0)),
    row("arguments that look around", "align MODEL TEXT -o OUT", refused("asks for something outside of the file"), argument("arch", "${oc.env:HOME}")),
    row("numbers without bounds", "align MODEL TEXT --threads 100000 -o OUT", refused("'100000' is not a whole number from 1 to 1024")),
    row("numbers without bounds", "align MODEL TEXT --method smoothgrad:n=999999999 -o OUT; align MODEL TEXT --method integrated-gradients:n=999999999 -o OUT", refused("from 1 to 10000")),
    row("numbers without bounds", "align MODEL TEXT --method smoothgrad:seed=99999999999999999999 -o OUT", refused("from 0 to 2^63 - 1")),
    # -- folders of transformers
    row("no heads", "align FOLDER TEXT -o OUT", refused("1 is the least"), config(decoder_attention_heads=0)),
    row("heads below zero", "align FOLDER TEXT -o OUT", refused("1 is the least"), config(decoder_attention_heads=-4)),
    row("a million layers", "align FOLDER TEXT -o OUT", refused("1000 is the most"), config(decoder_layers=10**6)),
    row("no layers", "align FOLDER TEXT -o OUT", refused("1 is the least"), config(encoder_layers=0)),
    row("a dictionary larger than the file", "align FOLDER TEXT -o OUT", refused("its weights have"), config(vocab_size=10**10)),
    row("positions for the whole memory", "align FOLDER TEXT -o OUT", refused("131072 is the most"), config(max_position_embeddings=10**10)),
    row("more than all is dropped", "align FOLDER TEXT -o OUT", refused("1 is the most"), config(dropout=5)),
    row("no end", "align FOLDER TEXT -o OUT", refused("which piece ends a sentence"), config(eos_token_id=None)),
    row("a start that is no piece", "align FOLDER TEXT -o OUT", refused("belong together"), config("generation_config.json", decoder_start_token_id=10**6)),
    row("pieces of another model", "align FOLDER TEXT -o OUT", refused("belong together"), moved_pieces),
    row("weights cut", "align FOLDER TEXT -o OUT", refused("its weights have 8 bytes"), lambda folder: (folder / "model.safetensors").write_bytes(b"\xff" * 8)),
    row("configuration cut", "align FOLDER TEXT -o OUT", refused("not a JSON file"), lambda folder: (folder / "config.json").write_text("{")),
    # -- files that cannot be read
    row("missing file", "align MODEL --source /nowhere --target /nowhere -o OUT; score /nowhere /nowhere", refused("/nowhere: no such file")),
    row("missing file", "view /nowhere", refused("/nowhere: not a dump")),
    row("missing file", "fairseq-generate RAW", refused("Model file not found"), lambda folder: (folder / "de-en.pt").unlink()),
    row("missing file", "fairseq-generate RAW", refused("dict.de.txt: no such file"), lambda folder: (folder / "dict.de.txt").unlink()),
    row("missing file", "fairseq-generate RAW", refused("the split 'test' cannot be read"), lambda folder: (folder / "test.de-en.de").unlink()),
    row("a directory for a file", "align MODEL TEXT -o OUT", refused("dict.de.txt: no such dictionary"), a_directory),
    row("a directory for a file", "align MODEL --source . --target . -o OUT; score . .; symmetrize . . -o OUT; convert . --to talp; baseline fast_align --source . --target . --programs programs -o OUT", refused("is a directory")),
    # -- places that cannot be written
    row("output directory missing", "align MODEL TEXT -o NO; compare MODEL TEXT --gold gold -o NO; layers MODEL TEXT -o NO; analyze singular MODEL TEXT -o NO; view TEXT --links links -o NO; view MODEL TEXT --gold gold --report NO; try --html NO", refused("there is no directory")),
    row("output directory missing", "score gold hyp -o NO; symmetrize links hyp -o NO; convert links --to talp -o NO; baseline fast_align TEXT --programs programs -o NO", refused("there is no directory")),
    row("output directory not writable", "align MODEL TEXT -o /proc/file; compare MODEL TEXT --gold gold -o /proc/file; convert links --to talp -o /proc/file", refused("/proc/file")),
    row("output is an input", "align MODEL TEXT -o de; layers MODEL TEXT -o ./en; layers MODEL TEXT --save de; align MODEL TEXT -o model/dict.de.txt; align MODEL TEXT --scores de -o OUT; align MODEL TEXT --vote gold -o gold", refused("would replace it")),
    row("output is an input", "compare MODEL TEXT --gold gold -o gold; view TEXT --links links --html links; score gold hyp -o hyp; symmetrize links hyp -o hyp; convert links --to talp -o links; lexicon TEXT --links links -o links; project --markup TEXT --links links -o links", refused("would replace it")),
    row("output is an input", "align MODEL --source x.parts --target en -o x; align MODEL --source x.source --target x.target --write-words x -o OUT; check MODEL --source x.source --target en --keep 50% --keep-to x -o OUT; translate MODEL --page x.source -o x.source", refused("would replace it"), **{"x.parts": "w1 w2\n", "x.source": "w1\n", "x.target": "w1\n"}),
    row("output is an input", "align FOLDER TEXT -o folder/config.json; align FOLDER TEXT -o folder/model.safetensors; align FOLDER TEXT -o folder/vocab.json; align FOLDER TEXT -o folder/source.spm", refused("would replace it")),
    row("output without a name", "align MODEL TEXT -o ''; align MODEL TEXT --scores '' -o OUT; view TEXT --links links -o ''; view MODEL TEXT --gold gold --report ''; score gold hyp -o ''; convert links --to talp -o ''", refused("an output needs a name")),
    row("output is a device", "align MODEL TEXT -o /dev/stdout", accepted(lambda seen: seen.out == "0-0\n"), de="w1\n"),
    row("output is a device", "score gold hyp -o /dev/fd/1", accepted(shows("AER"))),
    row("output is a device", "align MODEL TEXT -o /dev/null", accepted(lambda seen: not seen.out)),
    row("output is a device", "align MODEL TEXT -o /dev/stdout --scores /dev/fd/1", refused("--scores: only --output can go to standard output")),
    row("output is a directory", "align MODEL TEXT -o outputs; score gold hyp -o outputs", refused("is a directory")),
    row("disk full", "align MODEL TEXT -o /dev/full; compare MODEL TEXT --gold gold -o /dev/full; layers MODEL TEXT -o /dev/full; check MODEL TEXT -o /dev/full; translate MODEL --source de --beam 1 -o /dev/full; score gold hyp -o /dev/full; symmetrize links hyp -o /dev/full; convert links --to talp -o /dev/full", refused("no space left")),
    # -- labels, markup, lexicon, the toy
    row("labels no spans anywhere", "project LABELS", refused("no line has 'spans'"), labels='{"text": "w1 w2", "entities": []}\n'),
    row("labels outside", "project LABELS", refused("outside the line"), labels=span("-5", "99")),
    row("labels not numbers", "project LABELS", refused("not a span"), labels=span("NaN", "1e999")),
    row("labels half a letter", "project LABELS", refused("not a span"), labels=span("0.5", "2")),
    row("labels deep", "project LABELS", refused("not a line of JSON"), labels='{"text": ' + "[" * 50_000 + "\n"),
    row("labels a column that is not there", "project LABELS --label-column -99; project LABELS --label-column 99", refused("2 columns"), labels="w1 O\nw2 O\n"),
    row("no spans to score", "project --evaluate gold TEXT --links links --longest 0", refused("is not a whole number from 1 on")),
    row("scores missing", "project --markup TEXT --links links --link-scores scores -o OUT", refused("0 numbers for 1 links"), scores="\n"),
    row("pairs without a partner", "project --markup MODEL TEXT -o OUT", refused("they must be parallel"), en="w1 w2\nw3\n"),
    row("not a number", "lexicon TEXT --links links --min-association nan", refused("'nan' is not a number")),
    row("half a pair", "try 'Der Bürger'", refused("give both sentences")),
    row("a folder with files", "try --copy model", refused("not empty")),
]  # fmt: skip
CASES = [(one, command.strip()) for one in TABLE for command in one.commands.split(";")]

FILES = {"de": "w1 w2\n", "en": "w2\n", "gold": "0-0\n", "hyp": "0-0\n", "links": "0-0\n"}
WORDS_OF = {
    "MODEL": "--path HERE/model/de-en.pt --cpu",
    "FOLDER": "--path HERE/folder --cpu --readings default",
    "TEXT": "--source de --target en",
    "OUT": "outputs/out",
    "NO": "outputs/no/file.png",
    "RAW": "model --path model/de-en.pt --dataset-impl raw",
    "TYPED": "model --path model/de-en.pt --input de --buffer-size 4",
    "LABELS": "--labels labels --target en --links links -o outputs/out",
}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory):
    return make_tiny_pair(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def marian_folder(tmp_path_factory) -> Path:
    pytest.importorskip("transformers")
    from tests.hosts.transformers.folders import marian

    return marian(tmp_path_factory.mktemp("marian"))


@pytest.fixture
def room(models, tmp_path, monkeypatch) -> Path:
    """The current folder, with a copy of the model, the usual files and a place for outputs."""
    for name in ("model", "outputs", "programs"):
        (tmp_path / name).mkdir()
    for name in ("de-en.pt", "dict.de.txt", "dict.en.txt"):
        shutil.copy(models.folder / name, tmp_path / "model" / name)
    (tmp_path / "programs" / "fast_align").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "programs" / "fast_align").chmod(0o755)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words_of(command: str) -> list[str]:
    found = " ".join(WORDS_OF.get(word, shlex.quote(word)) for word in shlex.split(command))
    return [ODD_NAME if word == "ODD_NAME" else word for word in shlex.split(found.replace("HERE", str(Path.cwd())))]


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(("case", "command"), CASES, ids=[f"{case.what}: {command}" for case, command in CASES])
def test_row(case, command, room, request, capsys):
    for name, content in case.files.items():
        (room / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    verb, *arguments = words_of(command)
    if "FOLDER" in command:
        shutil.copytree(request.getfixturevalue("marian_folder"), room / "folder")
    for language in ("de", "en"):
        shutil.copy(room / language, room / "model" / f"test.de-en.{language}")
    case.damage(room / ("folder" if "FOLDER" in command else "model"))
    before = contents(room)
    capsys.readouterr()
    if verb.startswith("fairseq-"):
        result = run(verb, *arguments, *FAIRSEQ_OPTIONS, cwd=room)
        code, err = result.returncode, result.stderr.splitlines()[-1] if result.stderr else ""
        rows = sorted(line[2:].split("\t") for line in result.stdout.split("\n") if line.startswith("A-"))
        seen = Seen("" if code else result.stdout, err, "".join(f"{links}\n" for _, links in rows))
    else:
        code = main([verb, *arguments])
        out = room / "outputs" / "out"
        seen = Seen(*capsys.readouterr(), out.read_text(encoding="utf-8") if out.is_file() else "")
    assert code == case.expected.code, seen
    assert case.expected.says in seen.err, seen
    assert "Traceback" not in seen.err
    if code == 2:
        assert seen.err.count("error:") == 1, seen  # notes on single sentences may stand before it
        assert "error:" in seen.err.splitlines()[-1]
        assert not seen.out
        assert contents(room) == before
    else:
        assert case.expected.check(seen), seen


def test_the_table_has_every_kind_of_bad_input():
    """What issue after issue has listed; processes that are interrupted are below."""
    listed = """empty line|blank file|line counts differ|CRLF|BOM|NBSP|U+2028 in a line|U+0085 in a line|NUL byte|invalid UTF-8
5,000 words|one word|@@ at the end|lone ▁|unknown words only|gold out of range|1-based gold read as 0-based|reversed direction
possible without sure|duplicate links|n-best log out of order|wrong dictionary|wrong BPE codes|dictionary of another size
truncated checkpoint|another architecture|a directory for a file|output directory missing|output directory not writable|disk full
output is an input|output without a name|output is a device|letters that steer a terminal"""
    assert not set(listed.replace("\n", "|").split("|")) - {case.what for case in TABLE}
    assert LONGEST < 5000


# -- processes --------------------------------------------------------------------------------------------------------


def test_the_command_itself_refuses_in_one_line(room):
    """The rows above call the same function in this process; here it is the program."""
    (room / "de").write_bytes(b"w1\n\xff\n")
    (room / "en").write_text("w1\nw2\n")
    process = start(words_of("align MODEL TEXT -o OUT"))
    out, errors = process.communicate(timeout=300)
    assert (process.returncode, out) == (2, b"")
    assert errors.decode().count("\n") == 1
    assert "de:2: byte 0xff" in errors.decode()
    assert not list((room / "outputs").iterdir())


def test_a_file_that_may_not_be_read(room, capsys):
    (room / "links").chmod(0)
    if os.access("links", os.R_OK):
        pytest.skip("this user may read everything; a directory in the place of a file is in the table")
    assert main(["convert", "links", "--to", "talp"]) == 2
    assert "permission denied" in capsys.readouterr().err


def test_standard_output_full(room):
    (room / "links").write_text("0-0 1-1\n" * 5000)
    with open("/dev/full", "wb") as full:
        process = start(["convert", "links", "--to", "naacl"], stdout=full)
        _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert errors.decode().splitlines() == ["normalign convert: error: standard output: no space left on device"]


def test_disk_full_in_the_middle_of_a_file(room):
    """A limit on the size of files stands for the disk: writing fails after some of it is written."""
    write_text(room, 400, "many")
    command = words_of("align MODEL --source many.de --target many.en --readings default -o OUT")
    process = start(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "file too large" in errors.decode().splitlines()[-1]
    assert b"Traceback" not in errors
    assert not (room / "outputs" / "out").exists()


def test_the_null_device_as_an_ordinary_user():
    if os.geteuid() != 0:
        pytest.skip("the rows of the table run as an ordinary user already")
    with tempfile.TemporaryDirectory() as place:  # pytest's own are closed to other users
        os.chmod(place, 0o755)
        (Path(place) / "links").write_text("0-0\n")
        code = "import os, sys; from fairseq_normalign.cli import main; main(); os.setresuid(65534, 65534, 65534); sys.exit(main())"
        result = run("python", "-c", code, "convert", Path(place) / "links", "--to", "talp", "-o", "/dev/null")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("command", ["convert links --to naacl", "score links links --per-sentence /dev/stdout"])
def test_a_pipe_closed_early(room, command):
    (room / "links").write_text("0-0 1-1\n" * 60_000)
    process = start(command.split())
    assert process.stdout.readline()
    process.stdout.close()
    assert process.wait(300) == 141
    assert process.stderr.read() == b""


def start_fairseq(room: Path, *more: object, **options) -> subprocess.Popen:
    for language in ("de", "en"):
        (room / "model" / f"test.de-en.{language}").write_text("w1 w2 w3\n" * 480)
    return start([*words_of("fairseq-generate RAW")[1:], *FAIRSEQ_OPTIONS, *more], ["fairseq-generate"], **options)


def test_fairseq_generate_into_a_closed_pipe(room):
    process = start_fairseq(room, "--max-tokens", 60)
    assert process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read().decode()
    assert process.wait(300) == 141
    assert "Traceback" not in errors


def interrupt_when(process: subprocess.Popen, ready: Callable[[], bool]) -> tuple[int, list[str]]:
    """SIGINT as soon as ``ready``; -> the exit code and what was said."""
    for _ in range(4000):
        if ready():
            break
        time.sleep(0.025)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors.decode().splitlines()


def test_ctrl_c_in_fairseq_generate(room):
    process = start_fairseq(room, "--max-tokens", 30, "--normalign-dump", "outputs/dump", stdout=subprocess.DEVNULL)
    code, said = interrupt_when(process, lambda: any((room / "outputs").iterdir()))
    assert code == 130, said
    assert "fairseq_normalign: interrupted" in said  # a loading thread may still have its say
    assert not [line for line in said if "Traceback" in line]
    assert not list((room / "outputs").iterdir())


def test_ctrl_c_while_aligning(room):
    write_text(room, 20_000, "many")
    process = start(words_of("align MODEL --source many.de --target many.en --readings default -o OUT"))
    code, said = interrupt_when(process, lambda: len(list((room / "outputs").glob("out.parts/0*"))) > 0)
    assert code == 130
    assert said[-1] == "normalign align: interrupted"
    assert len(said) == 2
    assert "the same command continues" in said[0]
    assert not (room / "outputs" / "out").exists()


def test_ctrl_c_while_converting_leaves_nothing(room):
    (room / "links").write_text("0-0 1-1 2-2 3-3\n" * 100_000)
    process = start(words_of("convert links --to naacl -o OUT"))
    assert interrupt_when(process, lambda: any((room / "outputs").iterdir())) == (
        130,
        ["normalign convert: interrupted"],
    )
    assert not list((room / "outputs").iterdir())


@pytest.mark.slow
def test_ctrl_c_at_any_moment(room):
    """Also while Python and torch are being loaded."""
    write_text(room, 30, "some")
    for tenths in range(1, 40, 3):
        out = room / "outputs" / f"out{tenths}"
        process = start([*words_of("align MODEL --source some.de --target some.en"), "-o", out])
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(tenths / 10)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
        python_had_not_started = process.returncode == 1 and b"init_import_site" in errors  # on a slow machine
        assert python_had_not_started or process.returncode in (0, 130, -signal.SIGINT), errors
        if process.returncode == 0 or out.exists():  # it may be interrupted when all is written
            assert out.read_text().count("\n") == 30


# -- other ------------------------------------------------------------------------------------------------------------


def test_tables_of_odd_names_keep_their_columns(room, capsys):
    (room / ODD_NAME).write_text("0-0\n")
    assert main(["score", "gold", ODD_NAME, "--style", "tsv", "--per-sentence", "each"]) == 0
    printed = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    each = [line.split("\t") for line in (room / "each").read_text().splitlines()]
    for head, line in (printed, each):
        assert len(head) == len(line)
    assert printed[1][0].endswith(r"hy\tp\n\x1b[2J\u202e\x7f")


def test_the_dump_of_a_good_run_is_there(room):
    assert main(words_of("align MODEL TEXT -o OUT --dump outputs/dump")) == 0
    assert len(Dump(room / "outputs" / "dump")) == 1


# -- any bytes in alignment files: a result or one line ---------------------------------------------------------------

PIECES = [
    *(b"0-0", b"1-1", b"2p3", b"12-7", b" ", b"\n", b"\n", b"\r\n", b"\t", b"\xef\xbb\xbf", b"\xff", b"\0"),
    *(b"\xe2\x80\xa8", b"0001 1 1 S\n", b"2 0 3 P 0.5\n", b"3 0 0\n", b"SENT: 1\n", b"SENT: 0\n", b"S 1 1\n"),
    *(b"P 0 2\n", b"-1", b"99999999999-1", b"A-0\t0-0\n", b"A-1\t\n", b"A-1\t3-3 0-1\n", b"S-0\ta b\n"),
    *(b"H-0\t-0.1\tc d\n", b"A-0\t0.1,0.2\n", b"x", b"1234567890123456789012-0"),
]
CONTENT = st.lists(st.sampled_from(PIECES), max_size=10).map(b"".join)
FLAGS = "--reverse-hyp --gold-base=1 --hyp-base=0 --skip-goldless --source=gold --bootstrap=3 --allow-missing".split()


@settings(max_examples=300, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(gold=CONTENT, hyp=CONTENT, options=st.lists(st.sampled_from(FLAGS), max_size=3))
def test_any_bytes_in_alignments(room, gold, hyp, options):
    (room / "gold").write_bytes(gold)
    (room / "hyp").write_bytes(hyp)
    assert main(["score", "gold", "hyp", *options]) in (0, 2)
    assert main(["symmetrize", "gold", "hyp", "-o", "out"]) in (0, 2)
    assert main(["convert", "hyp", "--to", "talp", "-o", "out"]) in (0, 2)
