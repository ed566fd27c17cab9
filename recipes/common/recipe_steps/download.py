"""Fetch the files of a list: resumed where they stopped, checked against published sums, from a mirror if wanted.

The list has a line for each file: name, check sum (SHA-256 or MD5), bytes, URL, and who published the sum, separated by
tabs; '-' where nobody has published a value, and the last column may be left out. The SHA-256 of every file is noted in
SHA256SUMS next to it when it first comes; from then on it has to stay the same. Lines that begin with # are comments.
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
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    sum: str | None
    """SHA-256 or MD5, as published."""
    size: int | None
    url: str
    publisher: str = "the list"

    @property
    def kind(self) -> str:
        """What the sum is."""
        return "MD5" if self.sum is not None and len(self.sum) == 32 else "SHA-256"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("list", type=Path, help="name, SHA-256 or MD5, bytes, URL, publisher; tab-separated")
    parser.add_argument("--to", type=Path, required=True, help="directory of the files")
    parser.add_argument("--mirror", default="", help="takes the place of scheme and host of every URL")
    parser.add_argument("--accept", default="", metavar="NAMES", help="files taken as they come, whatever their sum")


def run(args: argparse.Namespace) -> None:
    args.to.mkdir(parents=True, exist_ok=True)
    noted = read_noted(args.to / NOTED)
    listed = read_list(args.list)
    accepted = set(args.accept.split())
    announce(args.to, [wanted for wanted in listed if not (args.to / wanted.name).exists()])
    for wanted in listed:
        path = args.to / wanted.name
        if wanted.name in accepted:
            wanted = replace(wanted, sum=None, size=None)
            noted.pop(wanted.name, None)
        if not path.exists():
            fetch(mirrored(wanted.url, args.mirror), path, wanted)
        check(path, wanted, noted.get(wanted.name))
        noted[wanted.name] = digest_of(path, "SHA-256")
        write_noted(args.to / NOTED, noted)


def announce(folder: Path, missing: Sequence[Wanted]) -> None:
    """Say how much is to come, and fail now if the disk has no room for it."""
    known = [wanted.size for wanted in missing if wanted.size is not None]
    if not missing:
        return
    unknown = f", and {len(missing) - len(known)} of unknown size" if len(known) < len(missing) else ""
    print(f"to fetch: {len(known)} files of {sum(known) / 1e9:.2f} GB{unknown}", flush=True)
    check_space(folder / missing[0].name, sum(known))


def check(path: Path, wanted: Wanted, noted: str | None) -> None:
    """The file has to be what was published, and what it was when it first came."""
    kind, expected = (wanted.kind, wanted.sum) if wanted.sum else ("SHA-256", noted)
    found = digest_of(path, kind)
    if expected and found != expected:
        who = f"by {wanted.publisher}" if wanted.sum else f"by {path.parent / NOTED}, since it first came"
        raise NormalignError(
            f"{path}: its {kind} is {found}, {expected} was expected {who}; remove the file and run again to fetch it "
            f"anew, or, if it was packed again and you trust it, set ACCEPT={wanted.name} to take it as it is"
        )


def read_list(path: Path) -> list[Wanted]:
    """The files a list asks for."""
    wanted = []
    for number, line in enumerate(read_lines(path), start=1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) not in (4, 5):
            message = f"{len(fields)} fields; name, check sum, bytes and URL are four, and its publisher may follow"
            raise NormalignError.at(str(path), number, message)
        name, sum_, size, url, *publisher = fields
        if sum_ != UNKNOWN and not re.fullmatch("[0-9a-f]{64}|[0-9a-f]{32}", sum_):
            message = f"'{sum_}' is neither a SHA-256 (64 hex digits), an MD5 (32) nor '-'"
            raise NormalignError.at(str(path), number, message)
        if size != UNKNOWN and not size.isdecimal():
            raise NormalignError.at(str(path), number, f"'{size}' is neither a number of bytes nor '-'")
        if "/" in name or name in ("", ".", ".."):
            raise NormalignError.at(str(path), number, f"'{name}' is not a file name")
        known = None if sum_ == UNKNOWN else sum_, None if size == UNKNOWN else int(size)
        wanted.append(Wanted(name, *known, url, *publisher))
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
    """Into ``path``.part, from where an earlier try stopped; renamed when it is complete."""
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            resumed = getattr(answer, "status", None) == 206
            total = total_bytes(answer, have if resumed else 0)
            check_size(url, wanted, total)
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
    check_size(url, wanted, got)
    part.rename(path)


def total_bytes(answer: http.client.HTTPResponse, have: int) -> int | None:
    """How long the whole file is, if the server says so."""
    length = answer.headers.get("Content-Length")
    return have + int(length) if length else None


def check_size(url: str, wanted: Wanted, found: int | None) -> None:
    if wanted.size is not None and found is not None and wanted.size != found:
        raise NormalignError(
            f"{url}: {found} bytes, {wanted.size} were expected by {wanted.publisher}; "
            f"if it was packed again and you trust it, set ACCEPT={wanted.name} to take it as it is"
        )


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


def digest_of(path: Path, kind: str) -> str:
    """The SHA-256 or MD5 of a file."""
    digest = hashlib.sha256() if kind == "SHA-256" else hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as handle:
        while block := handle.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
