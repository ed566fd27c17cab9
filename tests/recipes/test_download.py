"""Downloading: resumed, checked, from a mirror; every trouble in one line."""

from __future__ import annotations

import errno
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import RECIPES, Steps

CONTENT = b"words and words " * 500
SHA = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT at /data/*.tgz, ranges too; keeps what was asked for."""

    asked: list[str | None] = []  # noqa: RUF012

    def do_GET(self) -> None:
        """A whole file, the rest of one, or no such file."""
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        if not self.path.startswith("/data/"):
            self.send_error(404, "Not Found")
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start:])

    def log_message(self, *ignored: object) -> None:
        """Nothing on the screen."""


@pytest.fixture
def mirror() -> Iterator[str]:
    Handler.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def write_list(path: Path, name="a.tgz", sha256="-", size="-", where="data", publisher="") -> Path:
    line = f"{name}\t{sha256}\t{size}\thttps://example.org/{where}/a.tgz{publisher}"
    path.write_text(f"# a comment\n{line}\n", encoding="utf-8")
    return path


@pytest.fixture
def download(run_python: Steps, tmp_path: Path, mirror: str):
    """download(...): fetch the list of ``write_list(...)`` from the mirror, or of a recipe, with further arguments."""

    def fetch(*more: object, listed: Path | None = None, **columns: str):
        given = listed or write_list(tmp_path / "files.tsv", **columns)
        return run_python("download", given, "--to", tmp_path / "got", "--mirror", mirror, *more)

    return fetch


def one_line(result) -> str:
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_a_file_comes_from_the_mirror_and_is_noticed_when_it_changes(download, tmp_path: Path) -> None:
    assert download().returncode == 0
    assert (tmp_path / "got" / "a.tgz").read_bytes() == CONTENT
    assert (tmp_path / "got" / "SHA256SUMS").read_text(encoding="utf-8") == f"{SHA}  a.tgz\n"
    (tmp_path / "got" / "a.tgz").write_bytes(CONTENT + b"!")
    assert "was expected" in one_line(download())


@pytest.mark.parametrize("there", [1000, len(CONTENT)])
def test_an_interrupted_file_goes_on_and_a_complete_one_is_not_fetched_again(download, tmp_path, there) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "a.tgz.part").write_bytes(CONTENT[:there])
    for _ in range(2):
        assert download(sha256=SHA, size=str(len(CONTENT))).returncode == 0
    assert Handler.asked == [f"bytes={there}-"]
    assert (tmp_path / "got" / "a.tgz").read_bytes() == CONTENT
    assert not (tmp_path / "got" / "a.tgz.part").exists()


def test_a_published_sum_that_does_not_fit_says_whose_it_is_and_how_to_go_on(download, tmp_path: Path) -> None:
    columns = {"sha256": "0" * 32, "size": "17", "publisher": "\tsomebody's list"}
    assert "17 were expected" in one_line(download(**columns))
    (tmp_path / "got" / "a.tgz").write_bytes(CONTENT)
    message = one_line(download(**columns))
    digest = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert f"its MD5 is {digest}, {'0' * 32} was expected by somebody's list" in message
    assert "ACCEPT=a.tgz" in message
    assert download("--accept", "b.tgz a.tgz", **columns).returncode == 0
    assert SHA in (tmp_path / "got" / "SHA256SUMS").read_text(encoding="utf-8")
    (tmp_path / "got" / "a.tgz").unlink()
    assert download("--accept", "a.tgz", **columns).returncode == 0


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"sha256": "0" * 64}, f"its SHA-256 is {SHA}, {'0' * 64} was expected"),
        ({"size": "17"}, "17 were expected"),
        ({"where": "nowhere"}, "404"),
        ({"sha256": "abc"}, "64 hex digits"),
        ({"name": "../a"}, "not a file name"),
    ],
)
def test_trouble_is_one_line(download, columns: dict, said: str) -> None:
    assert said in one_line(download(**columns))


@pytest.mark.parametrize("recipe", ["wmt16_de_en", "europarl_de_en"])
def test_the_shipped_lists_are_read_and_how_much_is_to_come_is_said(download, recipe: str) -> None:
    result = download("--mirror", "http://127.0.0.1:9", listed=RECIPES / recipe / "files.tsv")
    assert "refused" in one_line(result)
    assert result.stdout.startswith("to fetch: ")
    assert recipe != "wmt16_de_en" or result.stdout == "to fetch: 3 files of 1.65 GB, and 2 of unknown size\n"


def test_a_file_that_would_not_fit(download, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recipe_steps.download.SPARE_BYTES", 1 << 60)
    assert "are free" in one_line(download())


def test_a_full_disk(run_python: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*ignored: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("recipe_steps.tokenize.tokenized_lines", no_space)
    (tmp_path / "text").write_text("ein Satz .\n", encoding="utf-8")
    message = one_line(run_python("tokenize", tmp_path / "text", tmp_path / "out", "--language", "de", "--tokenized"))
    assert "the disk is full" in message
    assert not (tmp_path / "out").exists()
