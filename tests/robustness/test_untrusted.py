"""Files from strangers: nothing in them runs, nothing is written or read elsewhere, memory is bounded by their size."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import resource
import sys
import tarfile
import tracemalloc
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_normalign.cli import main
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.checkpoints import safe_load
from fairseq_normalign.hosts.fairseq.patches import register
from fairseq_normalign.links.dump import Dump, DumpWriter
from fairseq_normalign.links.pieces import Segmentation
from tests.cli.tiny_pair import make_tiny_pair
from tests.conftest import REPOSITORY

register()

# -- the source -------------------------------------------------------------------------------------------------------

SOURCES = sorted(path for room in ("fairseq_normalign", "recipes") for path in (REPOSITORY / room).rglob("*.py"))
FORBIDDEN = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads", "marshal.loads"),
    *("marshal.load", "shelve.open", "yaml.load", "yaml.unsafe_load", "dill.load", "joblib.load", "pickle.Unpickler"),
    *("tempfile.mktemp", "tarfile.TarFile.extractall", "shutil.unpack_archive"),
}

# An executor pickles what it sends to its workers. Our part of that is opened after the versions are compared.
ALLOWED = {"jobs.py: pickle.loads"}


def calls_of(path: Path) -> list[tuple[int, str, dict[str, ast.expr]]]:
    """(line, name as written, keyword arguments) of every call."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        (call.lineno, ast.unparse(call.func), {word.arg: word.value for word in call.keywords if word.arg})
        for call in calls
    ]


def is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def offences(path: Path) -> list[str]:
    found = []
    for line, name, words in calls_of(path):
        bare = name in FORBIDDEN or name.endswith((".extractall", ".extract"))
        unsafe_load = name in ("torch.load", "torch.jit.load") and not is_true(words.get("weights_only"))
        if f"{path.name}: {name}" in ALLOWED:
            continue
        if bare or unsafe_load or is_true(words.get("shell")) or is_true(words.get("allow_pickle")):
            found.append(f"{path.name}:{line}: {name}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_nothing_in_the_source_runs_what_it_reads(path):
    assert offences(path) == []


def test_the_search_sees_what_it_looks_for(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(
        "eval(x)\ntorch.load(f)\nsubprocess.run(c, shell=True)\nnp.load(f, allow_pickle=True)\ntar.extractall()\n"
    )
    assert len(offences(bad)) == 5
    bad.write_text("model.eval()\ntorch.load(f, weights_only=True)\nast.literal_eval(x)\nnp.load(f)\n")
    assert offences(bad) == []


def test_shell_scripts_evaluate_nothing():
    for script in REPOSITORY.glob("recipes/**/*.sh"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"^\s*eval\b|\bcurl\b[^\n]*\|\s*(ba)?sh", text, re.MULTILINE), script


# -- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return make_tiny_pair(tmp_path_factory.mktemp("untrusted"))


class RunsACommand:
    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self):
        return os.system, (f"touch {self.witness}",)


def changed(models, out: Path, change) -> Path:
    state = torch.load(models.path(), weights_only=False)
    change(state)
    torch.save(state, out)
    return out


@pytest.mark.parametrize(
    "verb", ["align", "compare --gold gold", "layers", "view", "view --html page --gold gold", "analyze dispersion"]
)
def test_a_pickled_command_does_not_run(models, tmp_path, capsys, monkeypatch, verb):
    changed(models, tmp_path / "bad.pt", lambda state: state.update(note=RunsACommand(tmp_path / "it-ran")))
    monkeypatch.chdir(tmp_path)
    for name, content in (("text", "w1\n"), ("gold", "0-0\n")):
        Path(name).write_text(content)
    given = ["--path", "bad.pt", "--data", str(models.folder), "--cpu", "--source", "text", "--target", "text"]
    assert main([*verb.split(), *given]) == 2
    assert "refused: the checkpoint holds the object" in capsys.readouterr().err
    assert not Path("it-ran").exists()


def test_a_packed_checkpoint_is_refused_before_it_is_unpacked(models, tmp_path):
    bomb = tmp_path / "bomb.pt"
    with zipfile.ZipFile(models.path()) as whole, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        for member in whole.infolist():
            content = bytes(30_000_000) if member.filename.endswith("/data/0") else whole.read(member)
            packed.writestr(member.filename, content)
    assert bomb.stat().st_size < 1_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(NormalignError, match=r"bomb\.pt: refused: its part .* is packed"):
        safe_load(bomb)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB


def test_a_parameter_larger_than_its_data_is_refused(models, tmp_path):
    def blow_up(state: dict) -> None:
        state["model"]["encoder.embed_tokens.weight"] = torch.zeros(1, 1).expand(10**6, 10**6)

    with pytest.raises(NormalignError, match="is larger than its data"):
        safe_load(changed(models, tmp_path / "large.pt", blow_up))


def test_a_checkpoint_names_no_files(models, tmp_path):
    """Where its embeddings came from is not looked at; a language is no path."""
    import fairseq_normalign

    trap = tmp_path / "trap"
    os.mkfifo(trap)  # opening it would wait for ever

    def names_embeddings(state: dict) -> None:
        state["cfg"]["model"].encoder_embed_path = str(trap)

    path = changed(models, tmp_path / "embeddings.pt", names_embeddings)
    assert fairseq_normalign.load(path, data=models.folder).align("w1", "w2").links == [(0, 0)]

    def names_a_path(state: dict) -> None:
        state["cfg"]["task"]["source_lang"] = "../../etc/passwd"

    path = changed(models, tmp_path / "language.pt", names_a_path)
    with pytest.raises(NormalignError, match="is no name of a language"):
        fairseq_normalign.load(path, data=models.folder)


# -- dumps ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def dump(tmp_path) -> Path:
    one = Segmentation(("a",), ((0, 1),), ())
    layers = np.ones((1, 2, 1), dtype=np.float32)
    with DumpWriter(tmp_path / "dump", method="norms") as writer:
        writer.add(0, source_pieces=["a"], target_pieces=["a"], source=one, target=one, layers=layers)
    return tmp_path / "dump"


def change_line(dump: Path, **fields: object) -> None:
    line = json.loads((dump / "index.jsonl").read_text())
    (dump / "index.jsonl").write_text(json.dumps({**line, **fields}) + "\n")


HOSTILE_LINES = {
    "another place": {"shard": "../../x"},
    "a shard before the first": {"shard": -1},
    "a sentence before the first": {"id": -1},
    "a span without end": {"source": {"words": ["a"], "spans": [[0, 10**15]], "specials": []}},
    "spans out of order": {"target": {"words": ["a", "b"], "spans": [[1, 2], [0, 1]], "specials": []}},
    "half a letter": {"source_pieces": ["\ud800"]},
    "a number for a text": {"source_pieces": [1]},
    "infinite": {"id": float("inf")},
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE_LINES)
def test_lines_of_a_dump(dump, what):
    change_line(dump, **HOSTILE_LINES[what])
    tracemalloc.start()
    try:
        with pytest.raises(NormalignError, match=r"index\.jsonl:1: "):
            Dump(dump)[0]
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [2**63, 2**40, 10**9, 7])
def test_a_shard_that_claims_any_size(dump, size):
    shard = dump / "shard-00000.safetensors"
    shard.write_bytes(size.to_bytes(8, "little") + shard.read_bytes()[8:])
    with pytest.raises(NormalignError, match="shard-00000"):
        Dump(dump)[0]


# -- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["convert", "symmetrize", "score"])
def test_memory_follows_the_size_of_the_file_not_its_numbers(tmp_path, verb):
    links = tmp_path / "links"
    links.write_text("0-0 999999-999999\n" * 20)
    arguments = {"convert": ["--to", "talp"], "symmetrize": [str(links)], "score": [str(links)]}[verb]
    tracemalloc.start()
    try:
        assert main([verb, str(links), *arguments, "-o", str(tmp_path / "out")]) == 0
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


# -- pages ------------------------------------------------------------------------------------------------------------

HOSTILE = (
    '<script>alert(1)</script> </script><img/src=x/onerror=alert(1)> "&lt; {{SCRIPT}} <!-- blobs --> \u2028 \x1b[2J $x$'
)


class Elements(HTMLParser):
    """What a browser would see: elements, and attributes that run something or fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, int] = {}
        self.active: list[str] = []
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.found[tag] = self.found.get(tag, 0) + 1
        for name, value in attributes:
            text = str(value or "").strip().lower()
            elsewhere = name in ("src", "href") and not text.startswith(("data:image/png", "#")) and ":" in text
            if name.startswith("on") or elsewhere:
                self.active.append(f"{tag} {name}")
        if ("http-equiv", "Content-Security-Policy") in attributes:
            self.policy = dict(attributes)["content"]


def page(words: str, title: str) -> Elements:
    for name, content in (("s", words), ("t", words), ("links", "0-0")):
        Path(name).write_text(content + "\n")
    given = ["--source", "s", "--target", "t", "--links", f"{title.replace('/', '')}=links"]
    assert main(["view", *given, "--html", "page.html", "--title", title]) == 0
    return Elements(Path("page.html").read_text(encoding="utf-8"))


def test_hostile_words_are_words_in_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile, plain = page(HOSTILE, HOSTILE.replace("=", "")), page("a b c", "title")
    assert hostile.found == plain.found
    assert hostile.active == plain.active == []
    for element in (hostile, plain):
        assert "default-src 'none'" in element.policy
        assert "unsafe" not in element.policy


def test_hostile_words_are_words_in_the_report(tmp_path, models):
    soft = json.dumps([[1 / len(HOSTILE.split(" "))] * len(HOSTILE.split(" "))] * len(HOSTILE.split(" ")))
    for name, content in (("s", HOSTILE), ("t", HOSTILE), ("soft", soft), ("gold", "0-0")):
        (tmp_path / name).write_text(content + "\n")
    given = ["--source", tmp_path / "s", "--target", tmp_path / "t", "--soft-file", f"<b>={tmp_path / 'soft'}"]
    more = ["--gold", tmp_path / "gold", "--report", tmp_path / "report", "--title", HOSTILE]
    assert main([*map(str, ["view", *given, *more])]) == 0
    for name in ("index.html", "examples.html"):
        seen = Elements((tmp_path / "report" / name).read_text(encoding="utf-8"))
        assert seen.active == []
        assert "b" not in seen.found or name == "index.html"  # the index sets the lowest AER in bold
        assert "default-src 'none'" in seen.policy
    assert Elements((tmp_path / "report" / "index.html").read_text(encoding="utf-8")).found.get("script", 0) == 0


# -- recipes ----------------------------------------------------------------------------------------------------------

sys.path.insert(0, str(REPOSITORY / "recipes" / "common"))


def test_an_archive_writes_only_where_it_is_told(tmp_path):
    from recipe_steps.gold import unpack

    archive = tmp_path / "gold.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in ("../../../de", "/etc/en", "x/../../alignmentDeEn", "../outside"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"a\n"))
        link = tarfile.TarInfo("test.de")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    to = tmp_path / "deep" / "er"
    to.mkdir(parents=True)
    unpack(archive, to)
    assert sorted(path.name for path in to.iterdir()) == ["alignmentDeEn", "de", "en"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "gold.tgz"]


def test_an_archive_with_a_huge_member_is_refused(tmp_path):
    from recipe_steps.gold import unpack

    archive = tmp_path / "gold.tgz"
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        member = tarfile.TarInfo("de")
        member.size = (64 << 20) + 1
        tar.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(NormalignError, match="no gold is so large"):
        unpack(archive, tmp_path)


@pytest.mark.parametrize("name", ["../x", "/etc/x", "..", ".", "a/b", ""])
def test_a_list_of_files_names_files(tmp_path, name):
    from recipe_steps.download import read_list

    (tmp_path / "list").write_text(f"{name}\t-\t-\thttp://example.org/x\n")
    with pytest.raises(NormalignError, match="is not a file name"):
        read_list(tmp_path / "list")
