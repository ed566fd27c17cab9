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


def write_list(path: Path, sha256: str = "-", size: str = "-", name: str = "a.tgz", where: str = "data") -> Path:
    path.write_text(f"# a comment\n{name}\t{sha256}\t{size}\thttps://example.org/{where}/a.tgz\n", encoding="utf-8")
    return path


def one_line(result) -> str:
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1, result.stderr
    return result.stderr


def test_a_file_comes_from_the_mirror_and_its_digest_is_noted(run_python: Steps, tmp_path: Path, mirror: str) -> None:
    listed = write_list(tmp_path / "files.tsv")
    assert run_python("download", listed, "--to", tmp_path / "got", "--mirror", mirror).returncode == 0
    assert (tmp_path / "got" / "a.tgz").read_bytes() == CONTENT
    noted = (tmp_path / "got" / "SHA256SUMS").read_text(encoding="utf-8")
    assert noted == f"{hashlib.sha256(CONTENT).hexdigest()}  a.tgz\n"


def test_an_interrupted_file_goes_on_and_a_whole_one_is_not_fetched_again(
    run_python: Steps, tmp_path: Path, mirror: str
) -> None:
    listed = write_list(tmp_path / "files.tsv", hashlib.sha256(CONTENT).hexdigest(), str(len(CONTENT)))
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "a.tgz.part").write_bytes(CONTENT[:1000])
    for _ in range(2):
        assert run_python("download", listed, "--to", tmp_path / "got", "--mirror", mirror).returncode == 0
    assert Handler.asked == ["bytes=1000-"]
    assert (tmp_path / "got" / "a.tgz").read_bytes() == CONTENT
    assert not (tmp_path / "got" / "a.tgz.part").exists()


def test_a_part_that_was_whole_already(run_python: Steps, tmp_path: Path, mirror: str) -> None:
    (tmp_path / "a.tgz.part").write_bytes(CONTENT)
    listed = write_list(tmp_path / "files.tsv")
    assert run_python("download", listed, "--to", tmp_path, "--mirror", mirror).returncode == 0
    assert (tmp_path / "a.tgz").read_bytes() == CONTENT


def test_a_wrong_digest_is_one_line_that_names_both(run_python: Steps, tmp_path: Path, mirror: str) -> None:
    listed = write_list(tmp_path / "files.tsv", "0" * 64)
    message = one_line(run_python("download", listed, "--to", tmp_path, "--mirror", mirror))
    assert "0" * 64 in message
    assert hashlib.sha256(CONTENT).hexdigest() in message


def test_a_published_sum_that_does_not_fit_says_whose_it_is_and_how_to_go_on(
    run_python: Steps, tmp_path: Path, mirror: str
) -> None:
    listed = tmp_path / "files.tsv"
    listed.write_text(f"a.tgz\t{'0' * 32}\t17\thttps://example.org/data/a.tgz\tsomebody's list\n", encoding="utf-8")
    arguments = ["download", listed, "--to", tmp_path, "--mirror", mirror]
    assert "17 were expected" in one_line(run_python(*arguments))
    (tmp_path / "a.tgz").write_bytes(CONTENT)
    message = one_line(run_python(*arguments))
    digest = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    assert f"its MD5 is {digest}, {'0' * 32} was expected by somebody's list" in message
    assert "ACCEPT=a.tgz" in message
    assert run_python(*arguments, "--accept", "b.tgz a.tgz").returncode == 0
    assert hashlib.sha256(CONTENT).hexdigest() in (tmp_path / "SHA256SUMS").read_text(encoding="utf-8")
    (tmp_path / "a.tgz").unlink()
    assert run_python(*arguments, "--accept", "a.tgz").returncode == 0


def test_how_much_is_to_come_is_said_beforehand(run_python: Steps, tmp_path: Path) -> None:
    listed = RECIPES / "wmt16_de_en" / "files.tsv"
    result = run_python("download", listed, "--to", tmp_path, "--mirror", "http://127.0.0.1:9")
    assert result.stdout == "to fetch: 3 files of 1.65 GB, and 2 of unknown size\n"


def test_a_file_that_changed_since_it_first_came_is_noticed(run_python: Steps, tmp_path: Path, mirror: str) -> None:
    listed = write_list(tmp_path / "files.tsv")
    assert run_python("download", listed, "--to", tmp_path, "--mirror", mirror).returncode == 0
    (tmp_path / "a.tgz").write_bytes(CONTENT + b"!")
    assert "was expected" in one_line(run_python("download", listed, "--to", tmp_path, "--mirror", mirror))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": "17"}, "17 were expected"),
        ({"where": "nowhere"}, "404"),
        ({"sha256": "abc"}, "64 hex digits"),
        ({"name": "../a"}, "not a file name"),
    ],
)
def test_other_troubles(run_python: Steps, tmp_path: Path, mirror: str, options: dict, said: str) -> None:
    listed = write_list(tmp_path / "files.tsv", **options)
    assert said in one_line(run_python("download", listed, "--to", tmp_path, "--mirror", mirror))


def test_no_server(run_python: Steps, tmp_path: Path) -> None:
    listed = write_list(tmp_path / "files.tsv")
    assert "refused" in one_line(run_python("download", listed, "--to", tmp_path, "--mirror", "http://127.0.0.1:9"))


def test_a_full_disk(run_python: Steps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "text"
    source.write_text("ein Satz .\n", encoding="utf-8")

    def no_space(*ignored: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("recipe_steps.tokenize.tokenized_lines", no_space)
    message = one_line(run_python("tokenize", source, tmp_path / "out", "--language", "de", "--tokenized"))
    assert "the disk is full" in message
    assert not (tmp_path / "out").exists()


def test_a_file_that_would_not_fit(
    run_python: Steps, tmp_path: Path, mirror: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recipe_steps.download.SPARE_BYTES", 1 << 60)
    listed = write_list(tmp_path / "files.tsv")
    assert "are free" in one_line(run_python("download", listed, "--to", tmp_path, "--mirror", mirror))


@pytest.mark.parametrize("recipe", ["wmt16_de_en", "europarl_de_en"])
def test_the_shipped_lists_are_well_formed(run_python: Steps, recipe: str, tmp_path: Path) -> None:
    # a mirror that refuses: the list is read before anything is fetched
    said = one_line(
        run_python("download", RECIPES / recipe / "files.tsv", "--to", tmp_path, "--mirror", "http://127.0.0.1:9")
    )
    assert "refused" in said
