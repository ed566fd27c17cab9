"""The gold alignments in whichever form they came, as gold.de, gold.en and gold.talp in UTF-8."""

from __future__ import annotations

import tarfile
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.files import open_output
from fairseq_normalign.links.formats import Lengths, Writer, in_step, open_alignment

ARCHIVE = "DeEnGoldAlignment.tar.gz"
LAYOUTS = (
    ("test.de", "test.en", "alignment.talp"),
    ("de", "en", "alignmentDeEn.talp"),
    ("de", "en", "alignmentDeEn"),
)
LARGEST_BYTES = 64 << 20
WHERE_FROM = "https://www-i6.informatik.rwth-aachen.de/goldAlignment/"


def write_gold(places: Sequence[Path], to: Path) -> None:
    """Find the gold below the first of ``places`` that has it, and write it to ``to``."""
    with tempfile.TemporaryDirectory() as unpacked:
        source, target, links = find_gold(places, Path(unpacked))
        write_aligned([source, target], links, to, "gold", ("de", "en"))


def write_aligned(texts: Sequence[Path], links: Path, to: Path, name: str, languages: Sequence[str]) -> None:
    """Write text with gold links as NAME.SOURCE, NAME.TARGET and NAME.talp."""
    for path in (*texts, links):
        if not path.is_file():
            raise NormalignError(f"{path}: no such file")
    source, target = texts
    with tempfile.TemporaryDirectory() as unpacked:
        sides = [[line for line in lines_of(path) if line.strip()] for path in (source, target)]
        if len(sides[0]) != len(sides[1]):
            raise NormalignError(f"{source} has {len(sides[0])} sentences, {target} {len(sides[1])}")
        written = [to / f"{name}.{language}" for language in languages]
        for path, side in zip(written, sides, strict=True):
            with open_output(path) as handle:
                handle.writelines(" ".join(line.split()) + "\n" for line in side)
        cleaned = Path(unpacked) / "links"
        cleaned.write_text("\n".join(link_lines(links, len(sides[0]))) + "\n", encoding="utf-8")
        write_talp(cleaned, links, written, to / f"{name}.talp")


def find_gold(places: Sequence[Path], unpacked: Path) -> tuple[Path, Path, Path]:
    """The two texts and the links; an archive is unpacked first."""
    for place in places:
        archive = place if place.is_file() else place / ARCHIVE
        folders = [place, place / "DeEn"]
        if archive.is_file():
            unpack(archive, unpacked)
            folders = [unpacked, unpacked / "DeEn"]
        for folder in folders:
            for layout in LAYOUTS:
                found = tuple(folder / name for name in layout)
                if all(path.is_file() for path in found):
                    return found  # type: ignore[return-value]
    looked = ", ".join(map(str, places)) or "no place"
    raise NormalignError(
        f"no gold alignments in {looked}: get {ARCHIVE} through the form at {WHERE_FROM} and put it there, or set GOLD="
    )


def unpack(archive: Path, to: Path) -> None:
    """Only the files that are looked for, by their bare names: nothing in an archive says where to write."""
    wanted = {name for layout in LAYOUTS for name in layout}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                name = Path(member.name).name
                content = tar.extractfile(member) if member.isfile() and name in wanted else None
                if content is not None:
                    if member.size > LARGEST_BYTES:
                        raise NormalignError(f"{archive}: {member.name} has {member.size} bytes; no gold is so large")
                    (to / name).write_bytes(content.read())
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise NormalignError(f"{archive}: cannot be unpacked ({first_line(error)}); is it complete?") from None


def first_line(error: Exception) -> str:
    """What an error says, without the details that tarfile adds a line each."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def lines_of(path: Path) -> list[str]:
    """RWTH's texts are Latin-1, copies of them often UTF-8: whichever it is."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def link_lines(path: Path, sentences: int) -> list[str]:
    """Lines of links; blank ones are left out where the texts' blank ones were."""
    lines = lines_of(path)
    if any(line.startswith("SENT:") for line in lines):
        return lines
    full = [line for line in lines if line.strip()]
    chosen = full if len(full) == sentences else lines
    if len(chosen) != sentences:
        raise NormalignError(f"{path}: {len(lines)} lines for {sentences} sentences")
    return chosen


def write_talp(cleaned: Path, original: Path, texts: Sequence[Path], to: Path) -> None:
    lengths = Lengths(*texts)
    with open_alignment(cleaned) as file, open_output(to) as handle:
        writer = Writer(handle, "talp")
        try:
            for (block,) in in_step([file], lengths, ids_in_order=True):
                for links in block.sentences():
                    writer.write(links)
        except NormalignError as error:
            raise NormalignError(str(error).replace(str(cleaned), str(original))) from None
