"""Draws the pictures of the pages about uses: markup, labels, check, lexicon. Small SVG files.

    python docs/use_pictures.py --forward de-en.pt --backward en-de.pt --bpe-codes codes --out docs/images

Those in docs/images were drawn with the models of docs/pictures.py. Without --forward the toy draws.
"""

from __future__ import annotations

import argparse
import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from pictures import arguments

import fairseq_normalign
from fairseq_normalign import toy
from fairseq_normalign.projection.inserting import project_markup
from fairseq_normalign.projection.labels import Label, project_labels
from fairseq_normalign.projection.lexicon import Lexicon
from fairseq_normalign.projection.markup import OPEN, Marked, parse_markup
from fairseq_normalign.projection.spans import LinkedPair
from fairseq_normalign.text.words import space_words

MARKED = 'Das <b>Europäische Parlament</b> hat den <a href="x">Bericht von <i>Herrn Müller</i></a> angenommen .'
TARGET = "The European Parliament has adopted the report by Mr Müller ."
LABELS = (Label((1, 3), "ORG", 0), Label((8, 9), "PER", 1))
WRONG = "The European Parliament has adopted the report and will vote again in October ."
LETTER, GAP, SIDE = 8.45, 10, 14
"""Width of a letter, of the space between words and at the sides, in pixels: the font has letters of one width."""
TOP, BOTTOM = 58, 158
"""Baselines of the two sentences."""
STYLE = (
    "text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#24221e}"
    ".name{font-size:11px;fill:#1f4f94}.lone{fill:#b3401f}.link{stroke:#6d685e;stroke-width:1.3;fill:none}"
    ".box{fill:none;stroke:#1f4f94;stroke-width:1.4}.wave{fill:none;stroke:#b3401f;stroke-width:1.5}"
    ".bar{fill:#9db8dd}.ground{fill:#fff}.doubtful{stroke-dasharray:3 4;stroke:#b3401f}"
    "@media(prefers-color-scheme:dark){text{fill:#e9e5da}.name{fill:#9cc0f7}.lone{fill:#f0896a}.link{stroke:#a09a8c}"
    ".box{stroke:#9cc0f7}.wave,.doubtful{stroke:#f0896a}.bar{fill:#2f5288}.ground{fill:#1e2125}}"
)


@dataclass(frozen=True)
class Mark:
    """A range of words with a name beside it; ``depth``: how many marks are inside it."""

    name: str
    start: int
    stop: int
    depth: int = 0


class Row:
    """The words of one sentence with their places."""

    def __init__(self, words: Sequence[str], baseline: float, *, above: bool) -> None:
        self.words, self.baseline, self.above = words, baseline, above
        self.starts: list[float] = []
        at = float(SIDE)
        for word in words:
            self.starts.append(at)
            at += LETTER * len(word) + GAP
        self.width = at - GAP + SIDE

    def middle(self, word: int) -> float:
        return self.starts[word] + LETTER * len(self.words[word]) / 2

    def end(self, word: int) -> float:
        return self.starts[word] + LETTER * len(self.words[word])

    def drawn(self, lone: Sequence[int] = ()) -> list[str]:
        """The words; those without a partner with a wavy line and the sign ∅."""
        found = []
        for place, word in enumerate(self.words):
            kind = ' class="lone"' if place in lone else ""
            found.append(f'<text x="{self.starts[place]:.1f}" y="{self.baseline}"{kind}>{html.escape(word)}</text>')
            if place in lone:
                found += self._wave(place)
        return found

    def _wave(self, place: int) -> list[str]:
        y = self.baseline + 6
        steps = max(2, math.ceil((self.end(place) - self.starts[place]) / 6))
        path = f"M{self.starts[place]:.1f} {y}" + "q1.5 -3 3 0t3 0" * steps
        sign = self.baseline - 16 if self.above else self.baseline + 22
        x = self.middle(place)
        return [
            f'<path class="wave" d="{path}"/>',
            f'<text class="lone name" x="{x:.1f}" y="{sign}" text-anchor="middle">∅</text>',
        ]

    def boxes(self, marks: Sequence[Mark]) -> list[str]:
        found = []
        outside = 3 + 3 * max((mark.depth for mark in marks), default=0)
        for mark in marks:
            grow = 3 + 3 * mark.depth
            left, right = self.starts[mark.start] - grow, self.end(mark.stop - 1) + grow
            found.append(
                f'<rect class="box" rx="4" x="{left:.1f}" y="{self.baseline - 13 - grow}" '
                f'width="{right - left:.1f}" height="{18 + 2 * grow}"/>'
            )
            at = self.baseline - 17 - outside if self.above else self.baseline + 18 + outside
            found.append(f'<text class="name" x="{left:.1f}" y="{at}">{html.escape(mark.name)}</text>')
        return found


def pair_picture(
    source: Sequence[str],
    target: Sequence[str],
    links: Sequence[tuple[int, int]],
    marks: tuple[Sequence[Mark], Sequence[Mark]] = ((), ()),
    lone: tuple[Sequence[int], Sequence[int]] = ((), ()),
    title: str = "",
) -> str:
    """Return two sentences with their links; ``marks`` and ``lone`` are of source and target words."""
    rows = Row(source, TOP, above=True), Row(target, BOTTOM, above=False)
    lines = []
    for s, t in links:
        kind = "link doubtful" if s in lone[0] or t in lone[1] else "link"
        one, other = rows[0].middle(s), rows[1].middle(t)
        bend = f"C{one:.1f} {TOP + 50} {other:.1f} {BOTTOM - 56} {other:.1f} {BOTTOM - 20}"
        lines.append(f'<path class="{kind}" d="M{one:.1f} {TOP + 12}{bend}"/>')
    parts = [
        part for row, own, bare in zip(rows, marks, lone, strict=True) for part in (*row.boxes(own), *row.drawn(bare))
    ]
    width, note = max(row.width for row in rows), ""
    if any(lone):
        note = "∅: the check found no partner for this word; an aligner may link it all the same (dashed)"
        parts.append(f'<text class="name" x="{SIDE}" y="{BOTTOM + 50}">{note}</text>')
    return svg(width, BOTTOM + (64 if note else 42), [*lines, *parts], title)


def svg(width: float, height: float, parts: Sequence[str], title: str) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><title>{html.escape(title)}</title>'
    return (
        f'{head}<style>{STYLE}</style><rect class="ground" width="100%" height="100%"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def marks_of(marked: Marked) -> list[Mark]:
    """The pairs of tags of a line, each with the words it encloses."""
    words = space_words(marked.text)
    found = []
    for tag in marked.tags:
        if tag.kind == OPEN:
            stop = marked.tags[tag.partner].at
            inside = [place for place, (start, end) in enumerate(words) if tag.at <= start and end <= stop]
            found.append(Mark(tag.raw, inside[0], inside[-1] + 1))
    nested = [sum(one.start <= other.start and other.stop <= one.stop for other in found) - 1 for one in found]
    return [Mark(one.name, one.start, one.stop, depth) for one, depth in zip(found, nested, strict=True)]


def lexicon_picture(pairs: Sequence[tuple[str, str, int, float]]) -> str:
    """Return a bar for each target word of some source words: how large its share of the links is."""
    parts = []
    left = SIDE + LETTER * (max(len(f"{source} → {target}") for source, target, _, _ in pairs) + 1)
    for row, (source, target, count, share) in enumerate(pairs):
        y = 30 + 24 * row
        parts.append(f'<text x="{SIDE}" y="{y}">{html.escape(f"{source} → {target}")}</text>')
        parts.append(f'<rect class="bar" x="{left:.0f}" y="{y - 12}" width="{220 * share:.1f}" height="16"/>')
        parts.append(f'<text class="name" x="{left + 220 * share + 6:.1f}" y="{y}">{share:.2f} ({count})</text>')
    return svg(left + 330, 24 * len(pairs) + 24, parts, "The targets of some source words and their shares")


def draw(args: argparse.Namespace) -> None:
    model = fairseq_normalign.load(args.forward, args.backward, bpe_codes=args.bpe_codes, lowercase=True)
    marked = parse_markup(args.source)
    aligned = model.align(marked.text, args.target)
    spans = space_words(marked.text), space_words(args.target)
    words = [
        [text[start:end] for start, end in one] for text, one in zip((marked.text, args.target), spans, strict=True)
    ]
    pair = LinkedPair(len(spans[0]), len(spans[1]), aligned.links)
    line = project_markup(marked, spans[0], args.target, spans[1], pair).line
    marks = marks_of(marked), marks_of(parse_markup(line))
    write(args, "markup", pair_picture(*words, aligned.links, marks, title="Tags carried to the translation"))
    labels, _ = project_labels(pair, list(LABELS))
    own = [Mark(label.name, *label.words) for label in LABELS]
    theirs = [Mark(label.name, *label.words) for label in labels]
    write(args, "labels", pair_picture(*words, aligned.links, (own, theirs), title="Labels carried to the translation"))
    wrong = WRONG.split(" ")
    found = model.check(marked.text, WRONG)
    title = f"Words without a source and without a target; score {found.score:.2f}"
    lone = found.without_target, found.without_source
    write(args, "check", pair_picture(words[0], wrong, found.links, lone=lone, title=title))


def draw_lexicon(args: argparse.Namespace) -> None:
    """The word pairs of the toy's text, aligned by the toy."""
    texts = [(toy.FOLDER / f"text.{side}").read_text(encoding="utf-8").splitlines() for side in ("de", "en")]
    options = {"bpe_codes": toy.FOLDER / "codes", "tokenizer": "moses", "lowercase": True}
    model = fairseq_normalign.load(*toy.paths(), **options)
    lexicon = Lexicon()
    for found in model.align_many(zip(*texts, strict=True)):
        lexicon.add((found.source[s], found.target[t]) for s, t in found.links)
    entries = [entry for entry in lexicon.entries() if entry.source[0].isalpha() and entry.count > 1]
    chosen = [entry for entry in entries if sum(one.source == entry.source for one in entries) > 1][:9]
    rows = [(one.source, one.target, one.count, one.target_given_source) for one in chosen]
    write(args, "lexicon", lexicon_picture(rows))


def write(args: argparse.Namespace, name: str, picture: str) -> None:
    (args.out / f"use-{name}.svg").write_text(picture, encoding="utf-8", newline="\n")


def main() -> None:
    args = arguments(__doc__, MARKED, TARGET)
    draw(args)
    draw_lexicon(args)


if __name__ == "__main__":
    main()
