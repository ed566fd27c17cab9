"""Fetch the files of a list: resumed where they stopped, checked against their SHA-256, from a mirror if wanted.

The list has a line a file: name, SHA-256, bytes and URL, separated by tabs; '-' where nobody has checked the value yet.
Such a file is taken as it comes the first time, and its SHA-256 noted in SHA256SUMS beside it; from then on it has to
stay the same. Lines that begin with # are comments.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import re
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_output, read_lines

NOTED = "SHA256SUMS"
UNKNOWN = "-"
BLOCK = 1 << 20
SPARE_BYTES = 64 << 20
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Wanted:
    """A file of the list."""

    name: str
    sha256: str | None
    size: int | None
    url: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("list", type=Path, help="name, SHA-256, bytes, URL; tab-separated")
    parser.add_argument("--to", type=Path, required=True, help="directory of the files")
    parser.add_argument("--mirror", default="", help="takes the place of scheme and host of every URL")


def run(args: argparse.Namespace) -> None:
    args.to.mkdir(parents=True, exist_ok=True)
    noted = read_noted(args.to / NOTED)
    for wanted in read_list(args.list):
        path = args.to / wanted.name
        if not path.exists():
            fetch(mirrored(wanted.url, args.mirror), path, wanted)
        expected = wanted.sha256 or noted.get(wanted.name)
        found = sha256_of(path)
        if expected and found != expected:
            raise NormalignError(
                f"{path}: SHA-256 is {found}, {expected} was expected; remove the file and run again to fetch it anew"
            )
        noted[wanted.name] = found
        write_noted(args.to / NOTED, noted)


def read_list(path: Path) -> list[Wanted]:
    """The files a list asks for."""
    wanted = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 4:
            raise NormalignError.at(str(path), number, f"{len(fields)} fields; name, SHA-256, bytes and URL are four")
        name, sha256, size, url = fields
        if sha256 != UNKNOWN and not re.fullmatch("[0-9a-f]{64}", sha256):
            raise NormalignError.at(str(path), number, f"'{sha256}' is neither a SHA-256 (64 hex digits) nor '-'")
        if size != UNKNOWN and not size.isdecimal():
            raise NormalignError.at(str(path), number, f"'{size}' is neither a number of bytes nor '-'")
        if "/" in name or name in ("", ".", ".."):
            raise NormalignError.at(str(path), number, f"'{name}' is not a file name")
        known = (None if value == UNKNOWN else value for value in (sha256, size))
        digest, length = known
        wanted.append(Wanted(name, digest, int(length) if length else None, url))
    return wanted


def read_noted(path: Path) -> dict[str, str]:
    """The SHA-256 of the files fetched before, by name."""
    if not path.exists():
        return {}
    noted = {}
    for number, line in enumerate(read_lines(path), start=1):
        digest, sign, name = line.partition("  ")
        if line and not (sign and re.fullmatch("[0-9a-f]{64}", digest)):
            raise NormalignError.at(str(path), number, "not a SHA-256 and a file name; remove the file to go on")
        if line:
            noted[name] = digest
    return noted


def write_noted(path: Path, noted: dict[str, str]) -> None:
    """In the form that ``sha256sum --check`` reads."""
    with open_output(path) as handle:
        handle.writelines(f"{digest}  {name}\n" for name, digest in sorted(noted.items()))


def mirrored(url: str, mirror: str) -> str:
    """``url`` with its scheme and host replaced by ``mirror``, which may have a path of its own."""
    if not mirror:
        return url
    return mirror.rstrip("/") + urllib.parse.urlsplit(url).path


def fetch(url: str, path: Path, wanted: Wanted) -> None:
    """Into ``path``.part, from where an earlier try stopped; renamed when it is whole."""
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            resumed = getattr(answer, "status", None) == 206
            total = total_bytes(answer, have if resumed else 0)
            check_size(url, wanted.size, total)
            check_space(path, (total or 0) - (have if resumed else 0))
            with open(part, "ab" if resumed else "wb") as out:
                copy(answer, out, path.name, have if resumed else 0, total)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # asked for what comes after the end: the part was whole already
            raise NormalignError(f"{url}: the server answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise NormalignError(f"{url}: {error.reason}; run the step again to go on, or set MIRROR=") from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise NormalignError(f"{url}: the connection broke ({error}); run the step again to go on") from None
    got = part.stat().st_size
    check_size(url, wanted.size, got)
    part.rename(path)


def total_bytes(answer: http.client.HTTPResponse, have: int) -> int | None:
    """How long the whole file is, if the server says so."""
    length = answer.headers.get("Content-Length")
    return have + int(length) if length else None


def check_size(url: str, expected: int | None, found: int | None) -> None:
    if expected is not None and found is not None and expected != found:
        raise NormalignError(f"{url}: {found} bytes, {expected} were expected")


def check_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if needed + SPARE_BYTES > free:
        raise NormalignError(
            f"{path}: {needed / 1e9:.1f} GB are to come, {free / 1e9:.1f} GB are free; "
            "make room, or set WORK= to a larger disk"
        )


def copy(answer: http.client.HTTPResponse, out, name: str, have: int, total: int | None) -> None:
    """All of it, or an error: a connection that ends early is not the end of the file."""
    show = sys.stderr.isatty()
    while block := answer.read(BLOCK):
        out.write(block)
        have += len(block)
        if show:
            share = f" of {total / 1e6:.0f}" if total else ""
            print(f"\r  {name}: {have / 1e6:.0f}{share} MB", end="", file=sys.stderr)
    if show:
        print(file=sys.stderr)
    if total is not None and have < total:
        raise http.client.IncompleteRead(b"", total - have)


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
