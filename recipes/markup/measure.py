"""How well markup is carried on real software documentation: a table with a row per language.

The corpus is the one of `salesforce/localization-xml-mt` on GitHub (its dev sets). The tags of each English line that
has any are put into the human translation without its tags, and the result is compared with the translation.

    python recipes/markup/measure.py localization-xml-mt OUT [--programs DIR]

OUT gets the texts, the links and the marked translations of each language.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from fairseq_normalign.projection.markup import strip_markup
from fairseq_normalign.text.words import find_words, words_at

LANGUAGES = ("de", "fi", "fr", "ja", "nl", "ru", "zh")
TAG = re.compile(r"<[^>]*>")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="folder of the repository")
    parser.add_argument("out", type=Path, help="folder of the results")
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=LANGUAGES)
    parser.add_argument("--aligner", default="fast_align", help="fast_align, eflomal or giza (fast_align)")
    parser.add_argument("--programs", metavar="DIR", help="where the aligner's programs are (PATH)")
    parser.add_argument("options", nargs="*", help="options of 'normalign project', after --")
    args = parser.parse_args()
    columns = ("language", "lines with tags", "complete", "text kept", "well-formed", "other nesting", "same in itself")
    print(*columns, sep="\t")
    for language in args.languages:
        folder = args.out / language
        folder.mkdir(parents=True, exist_ok=True)
        references = prepare(args.corpus, language, folder)
        if not (folder / "links.grow-diag").exists():
            programs = ["--programs", args.programs] if args.programs else []
            sides = ["--source", folder / "source.words", "--target", folder / "target.words"]
            normalign("baseline", args.aligner, *sides, "--lowercase", *programs, "-o", folder / "links")
        texts = ["--source", folder / "source.marked", "--target", folder / "target", "--words", "unicode"]
        normalign(
            "project", "--markup", *texts, "--links", folder / "links.grow-diag", "-o", folder / "marked", *args.options
        )
        print(language, *figures(folder, references), sep="\t", flush=True)


def prepare(corpus: Path, language: str, folder: Path) -> list[str]:
    """Write the marked source, the bare target and the words of both; return the target lines with their tags."""
    start = corpus / "data" / f"en{language}"
    sides = [
        list(json.loads((start / f"en{language}_{side}_dev.json").read_text("utf-8"))["text"].values())
        for side in ("en", language)
    ]
    source, target = ([" ".join(line.split()) for line in side] for side in sides)
    write(folder / "source.marked", source)
    write(folder / "target", [TAG.sub("", line) for line in target])
    normalign("project", "--strip", "--source", folder / "source.marked", "-o", folder / "source")
    for side in ("source", "target"):
        lines = (folder / side).read_text("utf-8").splitlines()
        write(folder / f"{side}.words", [" ".join(words_at(line, find_words(line, "unicode"))) for line in lines])
    return target


def figures(folder: Path, references: list[str]) -> list[str]:
    """The columns of the table, over the lines whose source has tags."""
    sources, bare, found = (
        (folder / name).read_text("utf-8").splitlines() for name in ("source.marked", "target", "marked")
    )
    counts: Counter[str] = Counter()
    for source, text, line, reference in zip(sources, bare, found, references, strict=True):
        if not TAG.search(source):
            continue
        counts["lines"] += 1
        counts["complete"] += line == reference
        counts["text"] += TAG.sub("", line) == text or strip_markup(line) == strip_markup(text)  # lost placeholders
        try:
            ElementTree.fromstring(f"<line>{line}</line>")
            counts["well-formed"] += 1
        except ElementTree.ParseError:
            pass
        there, before = nesting(line), nesting(source)
        counts["other nesting"] += there != before
        counts["in itself"] += any(path.split("/").count(path.split("/")[-1]) > 1 for path in (there - before))
    total = counts["lines"]
    shares = [f"{100 * counts[name] / total:.1f}" for name in ("complete", "text", "well-formed")]
    return [str(total), *shares, str(counts["other nesting"]), str(counts["in itself"])]


def nesting(line: str) -> Counter[str]:
    """Every element as the names of all elements around it and its own."""
    found: Counter[str] = Counter()
    around: list[str] = []
    for tag in TAG.findall(line):
        name = tag.strip("</>").split(" ")[0]
        if tag.startswith("</"):
            del around[-1:]
        else:
            found["/".join([*around, name])] += 1
            around += [] if tag.endswith("/>") else [name]
    return found


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def normalign(*arguments: object) -> None:
    subprocess.run(
        [sys.executable, "-m", "fairseq_normalign.cli", *map(str, arguments)], check=True, stderr=subprocess.DEVNULL
    )


if __name__ == "__main__":
    main()
