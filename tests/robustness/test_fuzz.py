"""Damaged files for every reader: taken whole or refused in one line, in bounded time and memory, and nothing else.

A reader refuses with NormalignError. What it takes has to come through a second time: written and read again it is the
same, and no index is outside of what it points into.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import re
import signal
import tarfile
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import omegaconf
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairseq_normalign import load
from fairseq_normalign.analysis.check_lines import read_checked
from fairseq_normalign.analysis.choose_readings import RatedReading, ReadingChoice, read_choice, write_choice
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import read_lines, words_of
from fairseq_normalign.hosts.fairseq.checkpoints import literal
from fairseq_normalign.hosts.fairseq.loading import load_dictionary
from fairseq_normalign.jobs import Part, Parts
from fairseq_normalign.links.dump import Dump, DumpWriter
from fairseq_normalign.links.experts import parse_expert
from fairseq_normalign.links.formats import Writer, in_step, open_alignment
from fairseq_normalign.links.formats.files import LONGEST_SENTENCE
from fairseq_normalign.links.gold import read_gold
from fairseq_normalign.links.pieces import Segmentation
from fairseq_normalign.models.transformer_normalign import read_heads
from fairseq_normalign.projection.inserting import project_markup
from fairseq_normalign.projection.labels import read_conll, read_json_labels, write_conll
from fairseq_normalign.projection.markup import parse_markup
from fairseq_normalign.projection.spans import LinkedPair
from fairseq_normalign.show.sources import read_soft
from fairseq_normalign.text.subwords import SubwordNmt
from fairseq_normalign.text.words import space_words
from tests.cli.tiny_pair import make_tiny_pair
from tests.hosts.marian.damaged import damaged as damaged_model
from tests.hosts.marian.damaged import published_readers
from tests.recipes import conftest  # noqa: F401  (puts the recipes' steps on the path)

from .room import bounded_memory

Take = Callable[[bytes, Path], object]
"""Reads a file's content in a folder and checks what was read."""


def _file(folder: Path, content: bytes, name: str = "input") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


# -- alignments -------------------------------------------------------------------------------------------------------

Sentences = list[list[tuple[int, int, bool]]]


def _sentences(path: Path, **options: Any) -> Sentences:
    with open_alignment(path, **options) as file:
        return [list(links) for (block,) in in_step([file]) for links in block.sentences()]


def _alignment(format: str, **options: Any) -> Callable[[bytes, Path], object]:
    def take(content: bytes, folder: Path) -> None:
        found = _sentences(_file(folder, content), format=format, **options)
        for links in found:
            assert links == sorted(set(links))
            assert all(0 <= index < LONGEST_SENTENCE for link in links for index in link[:2])
        again = io.StringIO()
        writer = Writer(again, "talp", base=0)
        for links in found:
            writer.write(links)
        if found:
            path = _file(folder, again.getvalue().encode(), "again")
            assert _sentences(path, format="talp", base=0, reverse=False) == found

    return take


GIZA = (
    b"# Sentence pair (1) source length 2 target length 2 alignment score : 0.1\nx y\nNULL ({ 2 }) a ({ 1 }) b ({ }) \n"
    b"# Sentence pair (2) source length 1 target length 1 alignment score : 1e-5\nz\nNULL ({ }) c ({ 1 }) \n"
)
CZENALI = (
    b'<?xml version="1.0"?>\n<s id="1">\n<english>a b</english>\n<sure>1-1</sure>\n<possible>2-1</possible>\n</s>\n'
    b'<s id="2">\n<sure></sure>\n<possible></possible>\n</s>\n'
)
SOFT_LOG = b"S-0\ta b\nH-0\t-0.1\tx y\nA-0\t0.1,0.2,0.7 0.5,0.1,0.4 0.1,0.1,0.8\nS-1\ta\nH-1\t-1\tx\nA-1\t0.5\n"
SOURCE = b"a b c\nd e\nf\n"
TARGET = b"x y\nz w v\nu\n"


JSON_LINE = (
    b'{"normalign": 1, "source": "a b", "target": "c", "source_words": [[0, 1], [2, 3]], "target_words": [[0, 1]], '
    b'"links": [{"source": 1, "target": 0, "confidence": 0.5}, {"source": 0, "target": 0, "sure": false}]}\n'
)
JSON_LABELS = b'{"text": "Anna sings", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n{"text": "", "spans": []}\n'
MARKED = b'See <a href="x">the <b>page</b></a>.<br/>\n<!-- c -->a &amp; b<script>x</script>\n'


def _json_labels(content: bytes, folder: Path) -> None:
    for side in read_json_labels(_file(folder, content), None, space_words):
        assert all(0 <= label.words[0] <= label.words[1] <= len(side.words) for label in side.labels)


def _conll(content: bytes, folder: Path) -> None:
    sides = list(read_conll(_file(folder, content)))
    again = io.StringIO()
    for side in sides:
        assert not write_conll(again, side, side.labels)
    written = list(read_conll(_file(folder, again.getvalue().encode(), "again")))
    assert [side.labels for side in written] == [side.labels for side in sides]


def _markup(content: bytes, folder: Path) -> None:
    """Through an identity alignment a line becomes itself, unless a tag is inside a word."""
    for line in read_lines(_file(folder, content)):
        marked = parse_markup(line)
        words = space_words(marked.text)
        pair = LinkedPair(len(words), len(words), [(n, n) for n in range(len(words))])
        result = project_markup(marked, words, marked.text, words, pair)
        there = any(note.what in ("widened", "already there") for note in result.notes)
        assert there or result.line == line


def _gold(content: bytes, folder: Path) -> None:
    texts = {"source": _file(folder, SOURCE, "s"), "target": _file(folder, TARGET, "t")}
    golds = read_gold(_file(folder, content), **texts)
    sizes = [(len(s.split()), len(t.split())) for s, t in zip(SOURCE.splitlines(), TARGET.splitlines(), strict=True)]
    assert len(golds) == len(sizes)
    for gold, (sources, targets) in zip(golds, sizes, strict=True):
        assert gold.sure <= gold.possible
        assert all(0 <= s < sources and 0 <= t < targets for s, t in gold.possible)


def _soft(content: bytes, folder: Path) -> None:
    found = read_soft(_file(folder, content))
    for array in found:
        assert array.ndim == 3
        assert np.isfinite(array).all()
        assert (array >= 0).all()
    again = "".join(json.dumps(array.tolist() if array.size else []) + "\n" for array in found)
    for one, other in zip(found, read_soft(_file(folder, again.encode(), "again")), strict=True):
        np.testing.assert_array_equal(one, other)


CHECKED = (
    b'{"line": 1, "score": -1.5, "source": ["a", "b"], "target": ["c"], "links": [[1, 0]], "without_source": [0], '
    b'"without_target": [], "target_gains": [0.5]}\n{"line": 2, "score": null, "skipped": "empty"}\n'
)


def _checked(content: bytes, folder: Path) -> None:
    for pair in read_checked(_file(folder, content)):
        assert np.isfinite([pair.flags.score, *pair.flags.target_gains, *pair.flags.source_gains]).all()
        for places, words in ((pair.flags.without_source, pair.target), (pair.flags.without_target, pair.source)):
            assert all(0 <= place < len(words) for place in places)
        assert all(s < len(pair.source) and t < len(pair.target) for s, t in pair.links)


def _text(content: bytes, folder: Path) -> None:
    found = list(read_lines(_file(folder, content)))
    for line in found:
        assert "\n" not in line
        assert "\0" not in line
        assert all(word and " " not in word and "\t" not in word for word in words_of(line))
    if found and not any(line.endswith("\r") or line.startswith("\ufeff") for line in found):
        again = _file(folder, "".join(f"{line}\n" for line in found).encode(), "again")
        assert list(read_lines(again)) == found


# -- what comes with a model ------------------------------------------------------------------------------------------


def _codes(content: bytes, folder: Path) -> None:
    split = SubwordNmt(_file(folder, content))
    for word in ("haus", "ab", "x", "löwe"):
        pieces = split([word])
        assert "".join(piece.removesuffix("@@") for piece in pieces) == word
        assert all(piece.endswith("@@") for piece in pieces[:-1])


def _dictionary(content: bytes, folder: Path) -> None:
    found = load_dictionary(_file(folder, content))
    assert len(set(found.symbols)) == len(found.symbols) or b"#fairseq:overwrite" in content
    assert all(count >= 0 for count in found.count)
    assert found.symbols[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    if b"#fairseq:overwrite" not in content:
        found.save(str(folder / "again"))
        again = load_dictionary(folder / "again")
        assert (again.symbols, again.count) == (found.symbols, found.count)


def _literal(content: bytes, folder: Path) -> None:
    value = literal(content.decode("utf-8", errors="replace"))
    if value == value:  # not NaN
        assert literal(repr(value)) == value or "inf" in repr(value) or "nan" in repr(value)


def _heads(content: bytes, folder: Path) -> None:
    found = read_heads(content.decode("utf-8", errors="replace"))
    assert all(count >= 0 for counts in found.values() for count in counts)


VALUES = (None, -1, 0, 3, 10**12, 0.5, float("nan"), "", "x", "__import__('os').abort()", "../x", [], {}, True, ())


class Checkpoints:
    """Tiny checkpoints in both forms that torch writes, and with other content."""

    def __init__(self) -> None:
        self._keep = tempfile.TemporaryDirectory()
        self.folder = Path(self._keep.name)
        path = make_tiny_pair(self.folder, 1).path()
        self._state = torch.load(path, weights_only=False)
        old = io.BytesIO()
        torch.save(self._state, old, _use_new_zipfile_serialization=False)
        self.seeds = [path.read_bytes(), old.getvalue()]

    def changed(self, seed: int) -> bytes:
        """A checkpoint with another value, another or no parameter, or another argument, chosen by the seed."""
        chance = random.Random(seed)
        state = copy.deepcopy(self._state)
        model, what = state["model"], chance.randrange(5)
        if what == 0:
            state[chance.choice(list(state))] = chance.choice(VALUES)
        elif what == 1:
            shapes = (torch.zeros(0), torch.zeros(1, 1), torch.full((8, 8), float("nan")), torch.zeros(1).expand(10**7))
            model[chance.choice(list(model))] = chance.choice([*shapes, 3])
        elif what == 2:
            model.pop(chance.choice(list(model)))
        else:
            holder = state["cfg"][chance.choice(("model", "task"))]
            if isinstance(holder, Namespace):
                setattr(holder, chance.choice(sorted(vars(holder))), chance.choice(VALUES))
            else:
                with omegaconf.open_dict(holder):
                    holder[chance.choice(sorted(map(str, holder.keys())))] = chance.choice(VALUES[:10])
        out = io.BytesIO()
        torch.save(state, out)
        return out.getvalue()

    def take(self, content: bytes, folder: Path) -> None:
        model = load(_file(folder, content, "model.pt"), data=self.folder, source_lang="de", target_lang="en")
        found = model.align("w1 w2 w3", "w1 w2")
        assert found.source == ("w1", "w2", "w3")
        assert np.isfinite(found.soft).all()
        assert all(0 <= s < 3 and 0 <= t < 2 for s, t in found.links)


# -- our own files ----------------------------------------------------------------------------------------------------

PARTS = ("meta.json", "index.jsonl", "shard-00000.safetensors")
SPLIT = b"\n=====\n"


def _dump_seed() -> bytes:
    """The three files of a dump, one after the other."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "dump"
        with DumpWriter(path, method="norms", heads=True) as writer:
            for number in range(3):
                source = Segmentation(("ab", "c"), ((0, 2), (2, 3)), (3,))
                target = Segmentation(("x", "ä"), ((0, 1), (1, 2)), ())
                layers = np.random.default_rng(number).random((2, 3, 4), dtype=np.float32)
                pieces = {"source_pieces": ["a@@", "b", "c", "</s>"], "target_pieces": ["x", "ä"]}
                heads = layers[:, None].repeat(2, axis=1)
                writer.add(number, **pieces, source=source, target=target, layers=layers, heads=heads, score=-0.5)
        return SPLIT.join((path / part).read_bytes() for part in PARTS)


def _dump(content: bytes, folder: Path) -> None:
    place = folder / "dump"
    place.mkdir()
    for name, part in zip(PARTS, content.split(SPLIT), strict=False):
        (place / name).write_bytes(part)
    dump = Dump(place)
    pairs = list(dump)
    assert dump.ids() == [(pair.id, pair.rank) for pair in pairs]
    with DumpWriter(folder / "again", method="norms", heads=True) as writer:
        for pair in pairs:
            assert pair.layers.shape[1:] == (len(pair.target_pieces) + 1, len(pair.source_pieces))
            assert np.isfinite(pair.layers).all()
            for side, pieces in ((pair.source, pair.source_pieces), (pair.target, pair.target_pieces)):
                covered = [n for span in side.spans for n in range(*span)] + list(side.specials)
                assert sorted(covered) == list(range(len(pieces)))
            sides = {name: getattr(pair, name) for name in ("source_pieces", "target_pieces", "source", "target")}
            writer.add(pair.id, **sides, layers=pair.layers, heads=pair.heads, score=pair.score)
    for one, other in zip(pairs, Dump(folder / "again"), strict=True):
        np.testing.assert_array_equal(one.layers.astype(np.float32), other.layers)
        assert (one.id, one.source, one.target_pieces) == (other.id, other.source, other.target_pieces)


def _choice_seed() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        expert = parse_expert("norms:1.2:awi,norms:3:awo^0.5")
        ranked = tuple(RatedReading(reading, 0.5, 0.25) for reading in expert.readings)
        write_choice(Path(place) / "choice", ReadingChoice(expert, (1.0, 0.5), ranked, 0.25, 500, ("few pairs",)))
        return (Path(place) / "choice").read_bytes()


def _choice(content: bytes, folder: Path) -> None:
    found = read_choice(_file(folder, content))
    write_choice(folder / "again", ReadingChoice(found, (), (), 0.0, 0, ()))
    assert read_choice(folder / "again") == found


def _part_seed() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        Parts(Path(place) / "out").write("0-part", Part(["0-0\n1-1\n"], {"empty": 1}, {"x": np.arange(3)}))
        return (Path(place) / "out.parts" / "0-part").read_bytes()


def _part(content: bytes, folder: Path) -> None:
    parts = Parts(folder / "out")
    parts.folder.mkdir(exist_ok=True)
    (parts.folder / "0-part").write_bytes(content)
    if parts.read("0-part") is None:
        raise NormalignError("not read: the window is computed again")
    assert content == _part_seed()


# -- recipes ----------------------------------------------------------------------------------------------------------


def _download_list(content: bytes, folder: Path) -> None:
    from recipe_steps.download import read_list

    for wanted in read_list(_file(folder, content)):
        assert (folder / wanted.name).parent == folder
        assert wanted.name not in ("", ".", "..")
        assert wanted.size is None or wanted.size >= 0
        assert wanted.sum is None or len(bytes.fromhex(wanted.sum)) in (16, 32)


def _noted(content: bytes, folder: Path) -> None:
    from recipe_steps.download import read_noted, write_noted

    found = read_noted(_file(folder, content))
    write_noted(folder / "again", found)
    assert read_noted(folder / "again") == found


def _hypotheses(content: bytes, folder: Path) -> None:
    from recipe_steps.hypotheses import run

    run(Namespace(log=_file(folder, content), output=folder / "out", detokenize=None, count=None))
    assert (folder / "out").read_bytes().endswith(b"\n")


def _expand(content: bytes, folder: Path) -> None:
    from recipe_steps.expand import run

    pieces = [_file(folder, SOURCE, "s"), _file(folder, TARGET, "t")]
    run(Namespace(links=_file(folder, content), pieces=pieces, scheme="subword_nmt", turn=False, output=folder / "out"))
    texts = zip(SOURCE.splitlines(), TARGET.splitlines(), strict=True)
    for line, sides in zip((folder / "out").read_text().splitlines(), texts, strict=True):
        sizes = [len(side.split()) for side in sides]
        assert all(int(s) < sizes[0] and int(t) < sizes[1] for s, t in (link.split("-") for link in line.split()))


def _gold_archive_seed() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in (("DeEn/de", SOURCE), ("DeEn/en", TARGET), ("DeEn/alignmentDeEn", b"SENT: 1\nS 1 1\n")):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _gold_archive(content: bytes, folder: Path) -> None:
    from recipe_steps.gold import unpack

    to = folder / "unpacked"
    to.mkdir()
    unpack(_file(folder, content, "archive"), to)
    allowed = {"de", "en", "alignmentDeEn", "alignmentDeEn.talp", "test.de", "test.en", "alignment.talp"}
    assert {path.name for path in to.iterdir()} <= allowed
    assert {path.name for path in folder.iterdir()} == {"archive", "unpacked"}


LOG = b"S-1\ta b\nH-1\t-0.5\tc d\nA-1\t0-0 1-1\nP-1\t-1 -2\nS-0\ta\nH-0\t-1\tc d\nA-0\t0-0 0-1\n| Generate test\n"
DIGEST = b"0123456789abcdef" * 4
TALP = b"1-1 2-2 3p3\n\n1-2 2p1 10-12\n"
NAACL = b"0001 1 1 S\n0001 2 2 P 0.5\n2 1 3\n0003 0 1 S\n"
RWTH = b"SENT: 1\nS 1 1\nP 2 3\n\nSENT: 2\nS 4 4\n"
PHARAOH = b"0-0 1-1 2-2\n\n3-1 0-2\n"
ODD_TALP = b"1?1 2-1-P 1-2S\nNULL-1 1-1:0.5:0.25\n1-2 ||| -3.5\n"
LIST = b"# files\na.tgz\t" + DIGEST + b"\t100\thttp://x/a.tgz\nb\t-\t-\thttp://x/b\n"
CHECKPOINTS = Checkpoints()
PUBLISHED = published_readers()
READERS: dict[str, tuple[list[bytes], Take]] = {
    "pharaoh": ([PHARAOH, b"0-0\r\n1-1\r\n"], _alignment("pharaoh")),
    "talp": ([TALP, b"1-1\n2p2\n", ODD_TALP], _alignment("talp", base=1)),
    "ids": ([b"1\t0-0 1p0\n2\t\n3\t0-0\n"], _alignment("ids", base=0)),
    "Tsinghua": ([b"1:1/1 2:1/0\n\n2:2/1\n"], _alignment("tsinghua", base=1)),
    "GIZA++": ([GIZA], _alignment("giza")),
    "CzEnAli": ([CZENALI], _alignment("czenali")),
    "fairseq log, soft": ([SOFT_LOG], _alignment("fairseq", allow_missing=True)),
    "UTF-16": ([TALP.decode().encode("utf-16")], _alignment("talp", base=1)),
    "naacl": ([NAACL], _alignment("naacl")),
    "rwth": ([RWTH], _alignment("rwth", base=1)),
    "fairseq log": ([LOG], _alignment("fairseq", allow_missing=True)),
    "JSON lines": ([JSON_LINE, JSON_LINE * 2], _alignment("jsonl")),
    "JSON labels": ([JSON_LABELS], _json_labels),
    "CoNLL": ([b"Anna\tB-PER\nsings\tO\n\nRome S-LOC\n", b"# x\na NN I-A\nb NN E-A\n"], _conll),
    "markup": ([MARKED, b"a {0} %1$s <x/> {{b}}\n<b><i></b></i>\n"], _markup),
    "any format": ([PHARAOH, TALP + b"0-0\n", NAACL, RWTH + b"S 0 0\n", LOG], _alignment("auto", allow_missing=True)),
    "gold with texts": ([b"1-1 2p2\n1-3\n1-1\n", b"0-0 2-1\n1-2\n0-0\n"], _gold),
    "checked pairs": ([CHECKED], _checked),
    "soft text": ([b"0.9,0.1 0.2,0.8\n1.0\n", b"[[0.5, 0.5]]\n[[[1, 0]], [[0, 1]]]\n\n"], _soft),
    "text": ([SOURCE, "ein Löwe\u00a0x\n\n▁b @@\n".encode(), b"\xef\xbb\xbfa\r\nb\r\n"], _text),
    "BPE codes": ([b"#version: 0.2\nh a\na u</w>\nha us</w>\n", b"a b</w>\nx y\n"], _codes),
    "dictionary": ([b"a 10\nb@@ 5\n\xc3\xa4 1\n", b"x 1\nx 2 #fairseq:overwrite\n"], _dictionary),
    "argument literal": ([b"(0.9, 0.98)", b"[(512, 3)] * 2 + [(2048, 1)]", b"{'a': 1}", b"-1e-4"], _literal),
    "numbers of heads": ([b"encoder:4,2;cross:1,0", b"decoder:8"], _heads),
    "dump": ([_dump_seed()], _dump),
    "choice of readings": ([_choice_seed()], _choice),
    "part": ([_part_seed()], _part),
    "recipe: list": ([LIST], _download_list),
    "recipe: sums": ([DIGEST + b"  a.tgz\n" + DIGEST + b"  b\n"], _noted),
    "recipe: log": ([LOG], _hypotheses),
    "recipe: links": ([b"0-0 2-1\n1-2\n0-0\n"], _expand),
    "recipe: archive": ([_gold_archive_seed()], _gold_archive),
    "checkpoint": (CHECKPOINTS.seeds, CHECKPOINTS.take),
    **PUBLISHED,
}

# -- damaged files ----------------------------------------------------------------------------------------------------

NUMBERS = [b"0", b"-1", b"1", b"7", b"255", b"65536", b"2147483648", b"9223372036854775808", b"1" + b"0" * 30, b"1e999"]
NUMBERS += [b"-1e999", b"NaN", b"Infinity", b"0.5", b"1" * 400, b"00", b"+1", b"1_0", "١".encode(), b"null"]
TOKENS = (
    rb"- p 0-0 1-1 3p4 S P SENT: #version: 0.2 @@ </w> [ ] { } , : ../x /etc/passwd \ud800 <script> <unk> true".split()
)
TOKENS += [b"A-0\t", b"H-0\t-1\t", b"S-0\t", b"\xe2\x96\x81", b'"', b"[" * 3000, b"\x1b[2J", b"#fairseq:overwrite"]
TOKENS += [b"__import__('os')", b"\n", b"\r\n", b"\r", b"\t", b" ", b"  ", b"\0", b"\xff", b"\xef\xbb\xbf"]
TOKENS += [b"\xe2\x80\xa8", b"\xc2\x85", b"\xc2\xa0"]
DAMAGES = ("flip", "cut", "remove", "repeat", "insert", "number", "lines")


@st.composite
def damaged(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """One of the seeds after one to four damages: to bytes, to lines or to a number."""
    content = draw(st.sampled_from(seeds))
    for kind in draw(st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=4)):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.sampled_from((1, 2, 4, 16, 200))))
        numbers = list(re.finditer(rb"[0-9]+(\.[0-9]+)?", content[:20_000]))
        if kind == "flip" and start < len(content):
            content = content[:start] + bytes([content[start] ^ 1 << draw(st.integers(0, 7))]) + content[start + 1 :]
        elif kind == "cut":
            content = content[:start]
        elif kind == "remove":
            content = content[:start] + content[stop:]
        elif kind == "repeat":
            content = content[:stop] + content[start:stop] * draw(st.sampled_from((1, 2, 50))) + content[stop:]
        elif kind == "number" and numbers:
            found = draw(st.sampled_from(numbers))
            content = content[: found.start()] + draw(st.sampled_from(NUMBERS)) + content[found.end() :]
        elif kind == "lines":
            lines = content.split(b"\n")
            one = draw(st.integers(0, len(lines) - 1))
            other = draw(st.sampled_from(([], [lines[one]] * 3, [lines[-1], lines[one]])))
            content = b"\n".join([*lines[:one], *other, *lines[one + 1 :]])
        else:
            noise = draw(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=40)))
            content = content[:start] + noise + content[start:]
    return content


def files_for(name: str) -> st.SearchStrategy[bytes]:
    """Damaged files of a reader, and files put together from the words, numbers and signs of its format."""
    seeds, _ = READERS[name]
    if name == "checkpoint":
        return st.one_of(damaged(seeds), st.integers(0, 2**32).map(CHECKPOINTS.changed))
    if name in PUBLISHED:
        return st.integers(0, 2**32).map(lambda seed: damaged_model(seeds, seed))
    own = sorted({part for seed in seeds for part in re.findall(rb"\w+|\W", seed[:2000])})
    part = st.one_of(st.sampled_from(own), st.sampled_from(TOKENS), st.sampled_from(NUMBERS), st.binary(max_size=4))
    return st.one_of(damaged(seeds), damaged(seeds), st.lists(part, max_size=25).map(b"".join))


SECONDS = 10.0
"""Of CPU that one case may take."""


@contextlib.contextmanager
def bounded_time() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError(f"a case took more than {SECONDS} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def is_taken(take: Take, content: bytes) -> bool:
    """Give one case to a reader. Anything but a NormalignError goes through."""
    with tempfile.TemporaryDirectory(prefix="normalign-case-") as folder, bounded_memory(), bounded_time():
        try:
            take(content, Path(folder))
        except NormalignError:
            return False
    return True


def attack(name: str, examples: int) -> None:
    seeds, take = READERS[name]
    assert all(is_taken(take, content) for content in seeds), "a sound file was refused"
    taken = []

    @settings(max_examples=examples, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(content=files_for(name))
    def holds(content: bytes) -> None:
        taken.append(is_taken(take, content))

    holds()
    assert not all(taken), "it takes everything"
    assert any(taken) or examples < 1000, "it takes nothing"


@pytest.mark.parametrize("name", READERS)
def test_damaged_files(name):
    attack(name, 10 if name == "checkpoint" else 30 if name in PUBLISHED else 70)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_hundred_thousand_damaged_files(name):
    """CASES=10000 in the environment for more."""
    attack(name, int(os.environ.get("CASES", 1000 if name == "checkpoint" else 3000)))


@pytest.mark.parametrize("fault", ["raise KeyError", "assert not content", "while True: pass"])
def test_the_attack_finds_a_bug_nonsense_and_what_hangs(monkeypatch, fault):
    monkeypatch.setattr("tests.robustness.test_fuzz.SECONDS", 0.2)
    names: dict[str, Take] = {}
    exec(f"def take(content, folder):\n    {fault}", names)
    with pytest.raises((KeyError, AssertionError)):
        is_taken(names["take"], b"x")
