"""One file a split and language out of archives, or out of a local corpus; and the gold alignments, as talp in UTF-8.

``--part train=ARCHIVE:NAME.de,NAME.en`` adds the two members that end in these names (.sgm ones are freed of their
marks); ``--local train=PREFIX`` adds PREFIX.SOURCE and PREFIX.TARGET, plain or .xz; ``--aligned gold=PREFIX:LINKS``
adds text with gold links; ``--corpus DIR`` takes europarl-deen/{train,valid}.{de,en}[.xz] and deen-gold/ instead.
"""

from __future__ import annotations

import argparse
import html
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import decode_line, open_output

from .gold import first_line, write_aligned, write_gold

SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=Path, required=True, help="directory of the raw text")
    parser.add_argument("--gold", type=Path, nargs="+", default=[], help="where the gold may be; the first one counts")
    parser.add_argument("--part", action="append", default=[], metavar="SPLIT=ARCHIVE:DE,EN")
    parser.add_argument("--languages", nargs=2, default=("de", "en"), metavar=("SOURCE", "TARGET"))
    parser.add_argument("--local", action="append", default=[], metavar="SPLIT=PREFIX")
    parser.add_argument("--aligned", action="append", default=[], metavar="NAME=PREFIX:LINKS")
    parser.add_argument("--corpus", type=Path, help="a local corpus instead of archives")
    parser.add_argument("--limit", type=int, help="the first N pairs of train only")
    parser.add_argument("--hold-out", type=int, default=0, help="take the last N pairs of train as valid")


def run(args: argparse.Namespace) -> None:
    args.to.mkdir(parents=True, exist_ok=True)
    languages = tuple(args.languages)
    for given in args.aligned:
        name, _, place = given.partition("=")
        prefix, _, links = place.partition(":")
        write_aligned([Path(f"{prefix}.{language}") for language in languages], Path(links), args.to, name, languages)
    if args.corpus or not args.aligned:
        write_gold([args.corpus / "deen-gold"] if args.corpus else args.gold, args.to)
    splits = archive_splits(args.part)
    if args.corpus:
        args.local = [f"{split}={args.corpus / 'europarl-deen' / split}" for split in ("train", "valid")]
    for given in args.local:
        split, _, prefix = given.partition("=")
        sides = [local_lines(Path(f"{prefix}.{language}")) for language in languages]
        splits.setdefault(split, []).append((f"{prefix}.{{{','.join(languages)}}}", *sides))
    for split, sources in splits.items():
        write_split(args, split, sources)


def write_split(args: argparse.Namespace, split: str, sources: list[tuple]) -> None:
    """The pairs of all sources in order; with --hold-out the last ones of train make valid."""
    pairs = (pair for source in sources for pair in pairs_of(*source))
    if split == "train" and args.limit:
        pairs = islice(pairs, args.limit)
    if split == "train" and args.hold_out:
        write_holding_out(pairs, args.to, args.hold_out, args.languages)
    else:
        write_pairs(pairs, args.to, split, args.languages)


def write_pairs(pairs: Iterable[tuple[str, str]], to: Path, split: str, languages: Sequence[str]) -> None:
    source_path, target_path = (to / f"{split}.{language}" for language in languages)
    with open_output(source_path) as source, open_output(target_path) as target:
        for source_line, target_line in pairs:
            source.write(source_line + "\n")
            target.write(target_line + "\n")


def write_holding_out(pairs: Iterable[tuple[str, str]], to: Path, size: int, languages: Sequence[str]) -> None:
    """All but the last ``size`` pairs to train, those to valid."""
    held: list[tuple[str, str]] = []

    def all_but_last() -> Iterator[tuple[str, str]]:
        for pair in pairs:
            held.append(pair)
            if len(held) > 2 * size:
                yield from held[:-size]
                del held[:-size]
        yield from held[:-size]
        del held[:-size]

    write_pairs(all_but_last(), to, "train", languages)
    write_pairs(held, to, "valid", languages)


def pairs_of(name: str, source: Iterable[str], target: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Line by line; a side that ends before the other is an error."""
    iterator = iter(target)
    count = 0
    for count, line in enumerate(source, start=1):
        partner = next(iterator, None)
        if partner is None:
            raise NormalignError(f"{name}: the source side has more lines than the target side ({count - 1})")
        yield tidy(line), tidy(partner)
    if next(iterator, None) is not None:
        raise NormalignError(f"{name}: the target side has more lines than the source side ({count})")


def tidy(line: str) -> str:
    """One line of single spaces: control characters and exotic line ends would split it later on."""
    return " ".join(line.split())


def local_lines(plain: Path) -> Iterator[str]:
    packed = plain.with_name(f"{plain.name}.xz")
    if plain.exists():
        return text_lines(open(plain, "rb"), plain)
    if packed.exists():
        return text_lines(lzma.open(packed, "rb"), packed)
    raise NormalignError(f"neither {plain} nor {packed} is there")


def text_lines(handle, name: Path | str) -> Iterator[str]:
    with handle:
        try:
            for number, raw in enumerate(handle, start=1):
                yield decode_line(raw, name, number)
        except (lzma.LZMAError, EOFError, tarfile.TarError, OSError, zlib.error) as error:
            raise NormalignError(f"{name}: cannot be unpacked ({first_line(error)}); is it complete?") from None


def archive_splits(parts: list[str]) -> dict[str, list[tuple]]:
    """From ``SPLIT=ARCHIVE:DE,EN`` to split -> (name, German lines, English lines)."""
    splits: dict[str, list[tuple]] = {}
    for part in parts:
        split, _, rest = part.partition("=")
        archive, _, members = rest.rpartition(":")
        source, target = (member_lines(Path(archive), member) for member in members.split(","))
        splits.setdefault(split, []).append((archive, source, target))
    return splits


def member_lines(archive: Path, ending: str) -> Iterator[str]:
    """The lines of the one member of a .tgz whose path ends so."""
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and ("/" + member.name).endswith("/" + ending):
                    extracted = tar.extractfile(member)
                    if extracted is None:
                        break
                    lines = text_lines(extracted, f"{archive}:{member.name}")
                    yield from segments(lines) if ending.endswith(".sgm") else lines
                    return
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise NormalignError(
            f"{archive}: cannot be unpacked ({first_line(error)}); remove and download it again"
        ) from None
    raise NormalignError(f"{archive}: holds no {ending}")


def segments(lines: Iterable[str]) -> Iterator[str]:
    """The text between <seg> and </seg>."""
    text = io.StringIO()
    text.writelines(line + "\n" for line in lines)
    return (html.unescape(found) for found in SEGMENT.findall(text.getvalue()))
