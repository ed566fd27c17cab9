"""Folders of transformers as --path: every verb that reads a model, and translate with both hosts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_normalign import load
from fairseq_normalign.cli import main
from fairseq_normalign.links.dump import Dump
from tests.hosts.transformers.folders import LANGUAGES, MAKERS, lines


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """Folders of some families, and a text of 12 pairs with a gold."""
    folder = tmp_path_factory.mktemp("room")
    (folder / "text.de").write_text("\n".join(lines(1)[:12]) + "\n", encoding="utf-8")
    (folder / "text.en").write_text("\n".join(lines(2)[:12]) + "\n", encoding="utf-8")
    (folder / "gold.talp").write_text("1-1 2-2\n" * 12, encoding="utf-8")
    for name in ("marian", "m2m100", "t5"):
        (folder / name).mkdir()
        MAKERS[name](folder / name)
    return folder


def model(room: Path, name: str) -> list[str]:
    source, target = LANGUAGES.get(name, (None, None))
    languages = ["--source-lang", source, "--target-lang", target] if source else []
    return ["--cpu", "--path", str(room / name), *languages]


def text(room: Path) -> list[str]:
    return ["--source", str(room / "text.de"), "--target", str(room / "text.en")]


def pairs(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize("name", ["marian", "m2m100", "t5"])
def test_align_and_dump(room, tmp_path, name):
    out, dump = tmp_path / "links", tmp_path / "dump"
    arguments = ["--layer", "2", "--step", "awi", "--self-test", "-o", str(out), "--dump", str(dump)]
    assert main(["align", *model(room, name), *text(room), *arguments]) == 0
    assert len(pairs(out)) == 12
    targets = [len(line.split(" ")) for line in lines(2)[:12]]
    linked = [{int(link.split("-")[1]) for link in line.split()} for line in pairs(out)]
    assert [len(found) for found in linked] == targets
    assert len(list(Dump(dump))) == 12


def test_one_checkpoint_both_ways(room, tmp_path):
    out = tmp_path / "links"
    assert main(["align", *model(room, "m2m100"), "--reverse", *text(room), "-o", str(out)]) == 0
    assert len(pairs(out)) == 12


def test_natural_text(room, tmp_path):
    out = tmp_path / "links"
    assert main(["align", *model(room, "marian"), *text(room), "--tokenizer", "moses", "-o", str(out)]) == 0
    assert max(int(link.split("-")[1]) for line in pairs(out) for link in line.split()) > 5


@pytest.mark.parametrize(
    "verb",
    [
        ["layers"],
        ["compare", "--gold", "GOLD", "--methods", "norms,weights"],
        ["view", "--gold", "GOLD", "--report", "FOLDER"],
        ["analyze", "heads"],
        ["analyze", "categories", "--attention", "decoder"],
        ["analyze", "singular", "--attention", "encoder"],
        ["view", "--sentences", "1"],
    ],
    ids=lambda verb: " ".join(verb[:2]),
)
@pytest.mark.parametrize("name", ["marian", "t5"])
def test_other_verbs(room, tmp_path, verb, name, capsys):
    given = {"GOLD": str(room / "gold.talp"), "FOLDER": str(tmp_path / "report")}
    rest = [given.get(argument, argument) for argument in verb[1:]]
    assert main([verb[0], *rest, *model(room, name), *text(room)]) == 0
    assert capsys.readouterr().out or (tmp_path / "report" / "index.html").is_file()


def test_python_load(room):
    import fairseq_normalign

    loaded = fairseq_normalign.load(room / "m2m100", room / "m2m100", source_lang="de", target_lang="en")
    alignment = loaded.align(lines(1)[0], lines(2)[0])
    assert alignment.source == tuple(lines(1)[0].split(" "))
    best = loaded.translate(lines(1)[0], beam=2)[0]
    assert best.score < 0
    assert all(0 <= source < len(best.source) and 0 <= target < len(best.target) for source, target in best.links)


def test_translations_with_links(room, tmp_path):
    out, links = tmp_path / "out", tmp_path / "out.links"
    source = tmp_path / "in"
    source.write_text(f"{lines(1)[0]}\n\n{lines(1)[1]}\n", encoding="utf-8")
    arguments = ["--source", str(source), "--beam", "2", "--nbest", "2"]
    assert main(["translate", *model(room, "marian"), *arguments, "-o", str(out), "--write-links", str(links)]) == 0
    assert len(pairs(out)) == len(pairs(links)) == 6
    assert pairs(out)[2:4] == pairs(links)[2:4] == ["", ""]
    for line, found in zip(pairs(out), pairs(links), strict=True):
        assert all(int(link.split("-")[1]) < len(line.split(" ")) for link in found.split())
    jsonl = tmp_path / "out.jsonl"
    assert main(["translate", *model(room, "marian"), *arguments, "--json", "-o", str(jsonl)]) == 0
    entries = [json.loads(line) for line in pairs(jsonl)]
    assert [(entry["line"], entry["rank"]) for entry in entries] == [(1, 1), (1, 2), (3, 1), (3, 2)]
    assert [" ".join(entry["target"]) for entry in entries] == [line for line in pairs(out) if line]
    written = [" ".join(f"{source}-{target}" for source, target in entry["links"]) for entry in entries]
    assert written == [line for number, line in enumerate(pairs(links)) if number not in (2, 3)]
    assert all(len(entry["links"]) == len(entry["confidence"]) and entry["score"] < 0 for entry in entries)


def test_translations_of_fairseq_are_those_that_python_gives(tiny_pair, tmp_path):
    import fairseq_normalign

    out, links = tmp_path / "out", tmp_path / "out.links"
    checkpoint = tiny_pair.path()
    source = tiny_pair.folder / "text.de"
    data = ["--path", str(checkpoint), "--data", str(tiny_pair.folder), "--cpu"]
    assert main(["translate", *data, "--source", str(source), "-o", str(out), "--write-links", str(links)]) == 0
    loaded = fairseq_normalign.load(checkpoint, data=tiny_pair.folder)
    first = source.read_text(encoding="utf-8").split("\n")[0]
    best = loaded.translate(first)[0]
    assert pairs(out)[0] == " ".join(best.target)
    assert pairs(links)[0] == best.pharaoh()


def test_the_command_without_fairseq(room, tmp_path):
    """fairseq is neither imported nor needed."""
    script = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("fairseq", "omegaconf"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from fairseq_normalign import load
from fairseq_normalign.cli import main
sys.exit(main(sys.argv[1:]))
"""
    arguments = [*model(room, "marian"), *text(room), "--layer", "1", "-o", str(tmp_path / "links")]
    subprocess.run([sys.executable, "-c", script, "align", *arguments], check=True, capture_output=True)
    assert len(pairs(tmp_path / "links")) == 12


@pytest.mark.parametrize("name", ["marian", "m2m100", "t5"])
def test_check(room, tmp_path, name):
    out = tmp_path / "scores"
    arguments = [*model(room, name), *(["--reverse"] if name == "m2m100" else []), *text(room), "--full", "--by-word"]
    assert main(["check", *arguments, "--json", "-o", str(out)]) == 0
    entries = [json.loads(line) for line in pairs(out)]
    assert [entry["target"] for entry in entries] == [line.split(" ") for line in lines(2)[:12]]
    for entry in entries:
        assert -20 < entry["logprob"] < 0
        assert ("source_gains" in entry) == (name == "m2m100")
        assert len(entry["source_shares"]) == len(entry["target_gains"]) == len(entry["target"])
        assert all(0 <= share <= 1 for share in entry["source_shares"])


def test_pieces_of_two_models_cannot_be_combined(room, tmp_path, capsys):
    """Marian splits German as a source and German as a target by different models."""
    back = tmp_path / "back"  # the same model under the name of the other direction
    shutil.copytree(room / "marian", back)
    config = json.loads((back / "tokenizer_config.json").read_text(encoding="utf-8"))
    config["source_lang"], config["target_lang"] = config["target_lang"], config["source_lang"]
    (back / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    both = [*model(room, "marian"), "--reverse-path", str(back), *text(room)]
    assert main(["align", *both, "--level", "piece", "-o", str(tmp_path / "links")]) == 2
    assert "into different pieces" in capsys.readouterr().err
    assert main(["align", *both, "-o", str(tmp_path / "links")]) == 0


def test_a_translation_whose_words_the_other_direction_splits_otherwise(room):
    """A tokenizer may split the words of a translation once more: it is then left without links, and said."""
    source, target = LANGUAGES["m2m100"]
    languages = {"source_lang": source, "target_lang": target}
    aligner = load(room / "m2m100", reverse="", device="cpu", **languages).aligner
    pair = aligner.forward.lines((lines(1)[0], lines(2)[0]))
    assert not isinstance(aligner.encode_lines([pair]).forward[0], str)
    backward = aligner.backward.host
    whole = backward.source
    backward.source = lambda text, places: whole(f"{text} more")
    assert aligner.encode_lines([pair]).forward == ["different words"]
