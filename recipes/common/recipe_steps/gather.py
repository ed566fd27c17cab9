"""One file a split and language out of archives, or out of a local corpus; and the gold alignments, as talp in UTF-8.

``--part train=ARCHIVE:NAME.de,NAME.en`` adds the two members that end in these names (.sgm ones are freed of their
marks); ``--corpus DIR`` takes europarl-deen/{train,valid}.{de,en}[.xz] and deen-gold/ instead.
"""

from __future__ import annotations

import argparse
import html
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import decode_line, open_output

from .gold import first_line, write_gold

LANGUAGES = ("de", "en")
SEGMENT = re.compile(r"<seg[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=Path, required=True, help="directory of the raw text")
    parser.add_argument("--gold", type=Path, nargs="+", default=[], help="where the gold may be; the first one counts")
    parser.add_argument("--part", action="append", default=[], metavar="SPLIT=ARCHIVE:DE,EN")
    parser.add_argument("--corpus", type=Path, help="a local corpus instead of archives")
    parser.add_argument("--limit", type=int, help="the first N pairs of train only")
    parser.add_argument("--hold-out", type=int, default=0, help="take the last N pairs of train as valid")


def run(args: argparse.Namespace) -> None:
    args.to.mkdir(parents=True, exist_ok=True)
    golds = [args.corpus / "deen-gold"] if args.corpus else args.gold
    write_gold(golds, args.to)
    if args.corpus:
        splits = {split: [local_pair(args.corpus, split)] for split in ("train", "valid")}
    else:
        splits = archive_splits(args.part)
    for split, sources in splits.items():
        write_split(args, split, sources)


def write_split(args: argparse.Namespace, split: str, sources: list[tuple]) -> None:
    """The pairs of all sources in order; with --hold-out the last ones of train make valid."""
    pairs = (pair for source in sources for pair in pairs_of(*source))
    if split == "train" and args.limit:
        pairs = islice(pairs, args.limit)
    if split == "train" and args.hold_out:
        write_holding_out(pairs, args.to, args.hold_out)
    else:
        write_pairs(pairs, args.to, split)


def write_pairs(pairs: Iterable[tuple[str, str]], to: Path, split: str) -> None:
    with open_output(to / f"{split}.de") as source, open_output(to / f"{split}.en") as target:
        for de, en in pairs:
            source.write(de + "\n")
            target.write(en + "\n")


def write_holding_out(pairs: Iterable[tuple[str, str]], to: Path, size: int) -> None:
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

    write_pairs(all_but_last(), to, "train")
    write_pairs(held, to, "valid")


def pairs_of(name: str, source: Iterable[str], target: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Line by line; a side that ends before the other is an error."""
    iterator = iter(target)
    count = 0
    for count, de in enumerate(source, start=1):
        en = next(iterator, None)
        if en is None:
            raise NormalignError(f"{name}: the German side has more lines than the English ({count - 1})")
        yield tidy(de), tidy(en)
    if next(iterator, None) is not None:
        raise NormalignError(f"{name}: the English side has more lines than the German ({count})")


def tidy(line: str) -> str:
    """One line of single spaces: control characters and exotic line ends would split it later on."""
    return " ".join(line.split())


def local_pair(corpus: Path, split: str) -> tuple[str, Iterable[str], Iterable[str]]:
    folder = corpus / "europarl-deen"
    return (f"{folder / split}.{{de,en}}", *(local_lines(folder, f"{split}.{language}") for language in LANGUAGES))


def local_lines(folder: Path, name: str) -> Iterator[str]:
    plain, packed = folder / name, folder / f"{name}.xz"
    if plain.exists():
        return text_lines(open(plain, "rb"), plain)
    if packed.exists():
        return text_lines(lzma.open(packed, "rb"), packed)
    raise NormalignError(f"CORPUS: neither {plain} nor {packed} is there")


def text_lines(handle, name: Path | str) -> Iterator[str]:
    with handle:
        try:
            for number, raw in enumerate(handle, start=1):
                yield decode_line(raw, name, number)
        except (lzma.LZMAError, EOFError, tarfile.TarError, OSError, zlib.error) as error:
            raise NormalignError(f"{name}: cannot be unpacked ({first_line(error)}); is it whole?") from None


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
