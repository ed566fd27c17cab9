"""Packed input, places of output, files and directories that appear whole or not at all."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import sys

import pytest

from fairseq_normalign import files
from fairseq_normalign.errors import NormalignError, one_line
from fairseq_normalign.files import (
    NewDirectory,
    check_distinct,
    check_writable,
    is_stream,
    open_output,
    read_lines,
    read_parallel,
    read_text,
)
from fairseq_normalign.jobs import Parts
from fairseq_normalign.links.gold import read_links

TEXT = "eins\nzwei ä\n" * 3000


def zstd():
    return pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


PACKERS = {"gzip": gzip.compress, "xz": lzma.compress, "zstd": lambda text: zstd().compress(text)}


@pytest.mark.parametrize("kind", PACKERS)
def test_packed_input_reads_like_plain(tmp_path, kind):
    path = tmp_path / "text"  # the content decides, not the name
    path.write_bytes(PACKERS[kind](TEXT.encode()))
    assert "".join(f"{line}\n" for line in read_lines(path)) == TEXT
    path.write_bytes(PACKERS[kind](b"0-0\n1-1\n"))
    assert read_links(path, base=0) == [[(0, 0)], [(1, 1)]]


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_packed_input_is_refused(tmp_path, kind):
    whole = PACKERS[kind](os.urandom(2000).hex().encode())
    flipped = whole[:500] + b"????" + whole[504:]
    for damaged in (whole[:-10], whole[: len(whole) // 2], *([] if kind == "zstd" else [flipped])):  # it has no sum
        (tmp_path / "text").write_bytes(damaged)
        with pytest.raises(NormalignError, match=f"text: its {kind} packing is damaged or cut off"):
            list(read_lines(tmp_path / "text"))


def test_a_packed_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    (tmp_path / "text").write_bytes(gzip.compress(b"a\n" + b"x" * (2 << 20)))
    with pytest.raises(NormalignError, match="a packed line of more than 1 MB"):
        list(read_lines(tmp_path / "text"))


def test_a_text_read_as_one_is_limited(tmp_path):
    (tmp_path / "bomb").write_bytes(lzma.compress(b"x\n" * 3_000_000))
    assert len((tmp_path / "bomb").read_bytes()) < 2000
    with pytest.raises(NormalignError, match="bomb: more than 4 million characters in one text"):
        read_text(tmp_path / "bomb", 4 << 20)
    assert len(read_text(tmp_path / "bomb")) == 6_000_000


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_utf_16_is_converted(tmp_path, encoding, pack):
    (tmp_path / "text").write_bytes(pack(("\ufeff" + "a\u0a0aß\r\n\U0001f600\n" * 20_000).encode(encoding)))
    assert list(read_lines(tmp_path / "text")) == ["a\u0a0aß", "\U0001f600"] * 20_000
    (tmp_path / "text").write_bytes("\ufeffab".encode(encoding)[:-1])
    with pytest.raises(NormalignError, match="text: its UTF-16 text is damaged or cut off"):
        list(read_lines(tmp_path / "text"))


def test_packed_standard_input(monkeypatch):
    content = io.BufferedReader(io.BytesIO(gzip.compress(b"a b\nc\n")))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content))
    assert list(read_lines("-")) == ["a b", "c"]


def test_zstd_without_its_package(tmp_path, monkeypatch):
    for name in ("compression", "compression.zstd", "backports.zstd", "backports"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "text").write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(NormalignError, match=r"needs the package 'backports.zstd': pip install"):
        list(read_lines(tmp_path / "text"))


def test_one_message_for_files_that_are_not_parallel(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(NormalignError, match=r"/s:2: no line of .*/t to go with it; that file has 1"):
        list(read_parallel(tmp_path / "s", tmp_path / "t"))


def test_a_symbolic_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "file", tmp_path / "link"
    target.write_text("before\n")
    target.chmod(0o600)
    link.symlink_to("real/file")
    with open_output(link) as out:
        out.write("after\n")
        assert target.read_text() == "before\n"
    assert link.is_symlink()
    assert target.read_text() == "after\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list((tmp_path / "real").iterdir()) == [target]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("no/file")
    places = {"loop": "leads back to itself", "nowhere": "there is no directory", ".": "is a directory"}
    for name, said in places.items():
        with pytest.raises(NormalignError, match=said):
            check_writable(tmp_path / name)
    with pytest.raises(NormalignError, match="needs a name"), open_output(""):
        pass


def test_standard_output_by_its_device_name(tmp_path, capsys):
    (tmp_path / "out").symlink_to("/dev/stdout")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", tmp_path / "out"):
        assert is_stream(name)
        with open_output(name) as out:
            out.write("seen\n")
    assert capsys.readouterr().out == "seen\n" * 4
    assert (tmp_path / "out").is_symlink()


def test_a_numbered_descriptor_keeps_what_it_has(tmp_path):
    with open(tmp_path / "log", "w") as log:
        log.write("first\n")
        log.flush()
        with open_output(f"/dev/fd/{log.fileno()}") as out:
            out.write("second\n")
    assert (tmp_path / "log").read_text() == "first\nsecond\n"


def test_devices_need_no_writable_directory(monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not os.path.isdir(path))
    check_writable("/dev/null")
    with open_output("/dev/null") as out:
        out.write("gone\n")


def test_outputs_and_inputs_are_different_files(tmp_path):
    source, out = tmp_path / "source", tmp_path / "out"
    source.write_text("a\n")
    os.link(source, tmp_path / "same")
    (tmp_path / "link").symlink_to("source")
    check_distinct([out, "/dev/null", "/dev/null", "-"], [source, "-"])
    for written, read in (("source", "source"), ("link", "source"), ("same", "source"), ("out", "out.parts")):
        (tmp_path / "out.parts").write_text("a\n")
        with pytest.raises(NormalignError, match="would replace it"):
            check_distinct([tmp_path / written], [tmp_path / read])
    with pytest.raises(NormalignError, match="two outputs to the same file"):
        check_distinct([out, tmp_path / "." / "out"])


def test_a_directory_appears_whole_or_not_at_all(tmp_path):
    interrupted = NewDirectory(tmp_path / "d", "a dump")
    (interrupted.beside / "file").write_text("half")
    interrupted.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NormalignError, match="d: no space left"), NewDirectory(tmp_path / "d", "a dump"):
        raise OSError(28, "No space left on device")
    with NewDirectory(tmp_path / "d", "a dump") as beside:
        (beside / "file").write_text("whole")
        assert not (tmp_path / "d").exists()
    assert (tmp_path / "d" / "file").read_text() == "whole"
    with pytest.raises(NormalignError, match="exists already; a dump is written to a new directory"):
        NewDirectory(tmp_path / "d", "a dump")


def test_letters_that_steer_a_terminal_are_escaped():
    assert one_line("a\tb\n\x1b[2J\u202ec\u200bd\ufeff ä 你") == r"a\tb\n\x1b[2J\u202ec\u200bd\ufeff ä 你"


def test_finished_parts_follow_no_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out.parts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NormalignError, match="is needed as a folder for finished parts"):
        Parts(tmp_path / "out")


def test_an_output_follows_no_link_that_waits_beside_it(tmp_path):
    """The names of unfinished files cannot be foreseen; a link with the end of such a name stays as it is."""
    (tmp_path / "precious").write_text("kept")
    for name in ("out.part", ".out.part", "out.tmp"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    with open_output(tmp_path / "out") as handle:
        handle.write("new")
    assert [(tmp_path / name).read_text() for name in ("out", "precious")] == ["new", "kept"]
