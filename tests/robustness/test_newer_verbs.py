"""Bad input for project, lexicon, check, translate, try, and for folders of transformers.

A row: its name, the command as a function of a :class:`Case`, and what the one line of the refusal says.
"""

# ruff: noqa: E501 - a row of the table is a line

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from fairseq_normalign.cli import main
from tests.cli.tiny_pair import TinyPair

from .room import Room, make_models

GOOD = "w1 w2\nw3\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> TinyPair:
    return make_models(tmp_path_factory.mktemp("newer") / "models")


class Case(Room):
    """A room in which files are made from their content."""

    def file(self, content: bytes | str = GOOD, name: str = "") -> Path:
        return self.write(name or f"file{len(list(self.folder.iterdir()))}", content)

    def pair(self) -> list[object]:
        return ["--source", self.file(), "--target", self.file()]

    def copy(self) -> list[object]:
        """The model in a folder of its own."""
        for name in ("de-en.pt", "dict.de.txt", "dict.en.txt"):
            shutil.copy(self.models.folder / name, self.folder / name)
        return ["--path", self.folder / "de-en.pt", "--cpu"]

    def checkpoint(self, change: Callable[[dict], object]) -> Path:
        state = torch.load(self.models.path(), weights_only=False)
        change(state)
        torch.save(state, self.folder / "changed.pt")
        return self.folder / "changed.pt"


def labels(content: str, *options: object) -> Callable[[Case], list[object]]:
    return lambda case: [
        *("project", "--labels", case.file(content), "--target", case.file(), "--links", case.file("0-0\n0-0\n")),
        *("-o", case.outputs / "out", *options),
    ]


def span(start: str, end: str) -> str:
    return f'{{"text": "w1 w2", "spans": [{{"start": {start}, "end": {end}, "label": "A"}}]}}\n{{"text": "w3"}}\n'


REPLACED = "would replace it"
ROWS: list[tuple[str, Callable[[Case], list[object]], str]] = [
    ("labels: no spans anywhere", labels('{"text": "w1 w2", "entities": []}\n{"text": "w3"}\n'), "no line has 'spans'"),
    ("labels: outside", labels(span("-5", "99")), "outside the line"),
    ("labels: not numbers", labels(span("NaN", "1e999")), "not a span"),
    ("labels: half a letter", labels(span("0.5", "2")), "not a span"),
    ("labels: deep", labels('{"text": ' + "[" * 50_000 + "\n"), "not a line of JSON"),
    ("labels: a column before the first", labels("w1 O\nw2 O\n\nw3 O\n", "--label-column", -99), "2 columns"),
    ("labels: a column after the last", labels("w1 O\nw2 O\n\nw3 O\n", "--label-column", 99), "2 columns"),
    ("project: no spans to score", lambda case: ["project", "--evaluate", case.file("0-0\n0-0\n"), *case.pair(), "--links", case.file("0-0\n0-0\n"), "--longest", 0], "--longest is at least 1"),
    ("project: over its links", lambda case: ["project", "--markup", *case.pair(), "--links", case.file("0-0\n0-0\n", "links"), "-o", case.folder / "links"], REPLACED),
    ("project: scores missing", lambda case: ["project", "--markup", *case.pair(), "--links", case.file("0-0\n0-0\n"), "--link-scores", case.file("0.5\n"), "-o", case.outputs / "out"], "0 numbers for 1 links"),
    ("project: pairs without a partner", lambda case: ["project", "--markup", *case.model(), "--source", case.file("w1\n"), "--target", case.file(), "-o", case.outputs / "out"], "they must be parallel"),
    ("lexicon: not a number", lambda case: ["lexicon", *case.pair(), "--links", case.file("0-0\n0-0\n"), "--min-association", "nan"], "not nan"),
    ("lexicon: past the sentence", lambda case: ["lexicon", *case.pair(), "--links", case.file("0-9\n0-0\n")], "0-9"),
    ("lexicon: over its links", lambda case: ["lexicon", *case.pair(), "--links", case.file("0-0\n0-0\n", "links"), "-o", case.folder / "links"], REPLACED),
    ("check: kept over the text", lambda case: ["check", *case.model(), "--source", case.file(GOOD, "x.source"), "--target", case.file(), "--keep", "50%", "--keep-to", case.folder / "x", "-o", case.outputs / "out"], REPLACED),
    ("check: disk full", lambda case: ["check", *case.model(), *case.pair(), "-o", "/dev/full"], "no space left"),
    ("check: not UTF-8", lambda case: ["check", *case.model(), "--source", case.file(b"w1\n\xff\n"), "--target", case.file(), "-o", case.outputs / "out"], "not UTF-8"),
    ("align: words over the text", lambda case: ["align", *case.model(), "--source", case.file(GOOD, "x.source"), "--target", case.file(GOOD, "x.target"), "--write-words", case.folder / "x", "-o", case.outputs / "out"], REPLACED),
    ("align: over the links to vote", lambda case: ["align", *case.model(), *case.pair(), "--vote", case.file("0-0\n0-0\n", "votes"), "-o", case.folder / "votes"], REPLACED),
    ("align: over a dictionary", lambda case: ["align", *case.copy(), *case.pair(), "-o", case.folder / "dict.de.txt"], REPLACED),
    ("layers: a choice over the text", lambda case: ["layers", *case.model(), "--source", case.file(GOOD, "text"), "--target", case.file(), "--save", case.folder / "text"], REPLACED),
    ("translate: over the page", lambda case: ["translate", *case.model(), "--page", case.file("<p>w1</p>\n", "page"), "-o", case.folder / "page"], REPLACED),
    ("translate: disk full", lambda case: ["translate", *case.model(), "--source", case.file(), "--beam", 1, "-o", "/dev/full"], "no space left"),
    ("try: half a pair", lambda case: ["try", "Der Bürger"], "give both sentences"),
    ("try: no place", lambda case: ["try", "--html", case.folder / "no" / "page.html"], "there is no directory"),
    ("try: a folder with files", lambda case: ["try", "--copy", case.file().parent], "not empty"),
]  # fmt: skip


def refused(command: list[object], says: str, case: Case, capsys) -> None:
    before = {path: path.read_bytes() for path in case.folder.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main([*map(str, command)]) == 2
    seen = capsys.readouterr()
    assert says in seen.err.splitlines()[-1], seen.err
    assert seen.err.count("error:") == 1
    assert not seen.out
    assert {path: path.read_bytes() for path in case.folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("name", "command", "says"), ROWS, ids=[row[0] for row in ROWS])
def test_row(name, command, says, models, tmp_path, capsys):
    case = Case(models, tmp_path)
    refused(command(case), says, case, capsys)


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
    "more than all is dropped": (config(dropout=5), "from 0 to 1"),
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
    case = Case(models, tmp_path)
    folder = tmp_path / "model"
    shutil.copytree(marian_folder, folder)
    change(folder)
    command = ["align", "--path", folder, "--cpu", "--readings", "default", *case.pair(), "-o", case.outputs / "out"]
    refused(command, says, case, capsys)


def test_a_folder_is_not_written_over(marian_folder, models, tmp_path, capsys):
    case = Case(models, tmp_path)
    folder = tmp_path / "model"
    shutil.copytree(marian_folder, folder)
    for name in ("config.json", "model.safetensors", "vocab.json", "source.spm"):
        refused(["align", "--path", folder, "--cpu", *case.pair(), "-o", folder / name], REPLACED, case, capsys)
