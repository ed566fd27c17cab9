"""The HTML page: one file without a network, everything inside, drawn on demand."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TextIO

import numpy as np

from ..analysis.pair_counts import pair_counts, readings_of
from ..errors import NormalignError
from ..files import check_writable, open_output
from ..links.pieces import Segmentation, Sentence
from ..links.read_pair import PairFlags, ReadPair
from ..links.readings import MethodReading, Reading, ReadingShape
from ..links.score import COUNTS, Counts, metrics_of
from ..links.words import STEPS
from .quantize import QUANTIZATION_STEPS, SIGNED_STEPS, keep_argmax, pack, quantize

_ROUNDS = 4
_COUNTED = [COUNTS.index(name) for name in ("links", "sure_hits", "possible_hits")]


@dataclass(frozen=True)
class PageSummary:
    """The size of a page that was written."""

    sentences: int
    bytes: int


def write_page(
    path: str | Path,
    pairs: Iterable[ReadPair],
    *,
    title: str = "Word alignments",
    start: Reading | None = None,
    beside: Reading | None = None,
    notes: str = "",
) -> PageSummary:
    """Write the page of some pairs, all read by the same methods; memory does not grow with their soft alignments.

    ``start`` is what the page shows first (None: what has the lowest AER, or the last method where there is no gold),
    ``beside`` what it shows next to it; ``notes`` is a line under the title.
    """
    if str(path) != "-":
        check_writable(path)
    template = asset("page.html")
    head, body, tail = _split(template, "<!-- blobs -->", "<!-- data -->")
    script, style = asset("page.js"), asset("page.css")
    fill = {"CSP": _policy(script, style), "STYLE": style, "SCRIPT": script}
    with open_output(path) as out:
        out.write(_filled(head, fill))
        data, best, sentences = _write_blobs(out, pairs)
        data |= {"title": title, "notes": notes, "beside": None if beside is None else asdict(beside)}
        start = best if start is None else start
        data["start"] = None if start is None else asdict(start)
        out.write(_filled(body, fill))
        out.write(f'<script type="application/json" id="data">{_inert(data)}</script>')
        out.write(_filled(tail, fill))
    size = Path(path).stat().st_size if str(path) != "-" else 0
    return PageSummary(sentences, size)


def _write_blobs(out: TextIO, pairs: Iterable[ReadPair]) -> tuple[dict[str, object], Reading | None, int]:
    """Write the numbers of each pair; return what all pairs share, the best reading, and how many pairs there are."""
    shapes: dict[str, ReadingShape] = {}
    readings: list[Reading] = []
    sentences: list[dict[str, object]] = []
    counts: list[np.ndarray] = []
    for pair in pairs:
        found = {name: reading.shape for name, reading in pair.readings.items()}
        if sentences and found != shapes:
            raise NormalignError(f"sentence {pair.id + 1} has other methods, layers or heads than those before it")
        shapes = found
        arrays, scales, zeros = _levels(pair)
        out.write(f'<script type="text/plain" id="d{len(sentences)}">{pack(arrays)}</script>\n')
        sentences.append({**_sentence(pair), "z": scales, **({"o": zeros} if any(zeros) else {})})
        counts.append(pair_counts(pair))
        readings = readings or readings_of(pair)
    if not sentences:
        raise NormalignError("there is no sentence to show")
    data: dict[str, object] = {
        "methods": [{"name": name, **asdict(shape)} for name, shape in shapes.items()],
        "levels": QUANTIZATION_STEPS,
        "gold": any("g" in sentence for sentence in sentences),
        "check": any("c" in sentence for sentence in sentences),
        "sentences": sentences,
        "counts": base64.b64encode(np.stack(counts)[..., _COUNTED].astype("<u2").tobytes()).decode("ascii"),
    }
    return data, _best(readings, np.sum(counts, axis=0)), len(sentences)


def _best(readings: Sequence[Reading], counts: Counts) -> Reading | None:
    """The reading of all heads together with the lowest AER; without gold the last method's first."""
    whole = [place for place, reading in enumerate(readings) if reading.head is None]
    if not whole:
        return None
    if counts.any():
        rates = metrics_of(counts)["aer"]
        return readings[min(whole, key=lambda place: rates[place])]
    return next(reading for reading in readings if reading.method == readings[-1].method)


def _levels(pair: ReadPair) -> tuple[list[np.ndarray], list[float], list[int]]:
    """The quantized arrays of a pair (layers, then heads, of each method), and scale and zero of each matrix."""
    arrays: list[np.ndarray] = []
    scales: list[float] = []
    zeros: list[int] = []
    for reading in pair.readings.values():
        for soft in (reading.steps, reading.words, reading.heads):
            if soft is None:
                continue
            levels, scale = quantize(soft)
            _keep_words(pair, reading, levels, soft)
            zero = SIGNED_STEPS if (levels < 0).any() else 0
            arrays.append(levels + zero)
            zeros += [zero] * scale.size
            scales += [float(f"{value:.7g}") for value in np.ravel(scale)]
    return arrays, scales, zeros


def _keep_words(pair: ReadPair, reading: MethodReading, levels: np.ndarray, soft: np.ndarray) -> None:
    if reading.words is not None:
        words = [tuple((n, n + 1) for n in range(size)) for size in soft.shape[-2:]]
        keep_argmax(levels, soft, words[0], words[1], "")
        return
    spans = pair.target.by_word.spans, pair.source.by_word.spans
    for _ in range(_ROUNDS):  # each step serves two steps: what is corrected for one can change the other
        corrected = [keep_argmax(levels, soft, *spans, step) for step in STEPS]
        if not any(corrected):
            return


def _sentence(pair: ReadPair) -> dict[str, object]:
    fields: dict[str, object] = {"id": pair.id, "s": _side(pair.source), "t": _side(pair.target)}
    if pair.gold is not None:
        fields["g"] = {
            "s": sorted(map(list, pair.gold.sure)),
            "p": sorted(map(list, pair.gold.possible - pair.gold.sure)),
        }
    links = {name: sorted(map(list, r.links)) for name, r in pair.readings.items() if r.links is not None}
    if links:
        fields["k"] = links
    if pair.notes:
        fields["n"] = list(pair.notes)
    if pair.flags is not None:
        fields["c"] = _flags(pair.flags)
    return fields


def _flags(flags: PairFlags) -> dict[str, object]:
    """Score, positions of source and target words without a partner, and how much each word gains."""
    gains = {name: [round(gain, 2) for gain in found] for name, found in _gains(flags).items() if found}
    return {"v": flags.score, "s": list(flags.without_target), "t": list(flags.without_source), **gains}


def _gains(flags: PairFlags) -> dict[str, tuple[float, ...]]:
    return {"sg": flags.source_gains, "tg": flags.target_gains}


def _side(side: Sentence) -> dict[str, object]:
    if side.pieces == side.words:
        return {"w": list(side.words)}
    return {"w": list(side.words), "p": list(side.pieces), "o": _owners(side.by_word, len(side.pieces))}


def _owners(words: Segmentation, length: int) -> list[int]:
    """Return the word that each piece belongs to, -1 for none."""
    owners = [-1] * length
    for word, (start, stop) in enumerate(words.spans):
        owners[start:stop] = [word] * (stop - start)
    return owners


def _inert(data: object) -> str:
    """Return JSON that cannot end the HTML element around it: text from a corpus is data, never markup."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _policy(script: str, style: str) -> str:
    """Only our own script and style may run, known by their digests; nothing may be loaded or sent."""

    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _split(template: str, *marks: str) -> list[str]:
    parts, rest = [], template
    for mark in marks:
        part, rest = rest.split(mark)
        parts.append(part)
    return [*parts, rest]


def _filled(text: str, fill: Mapping[str, str]) -> str:
    for name, value in fill.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def asset(name: str) -> str:
    """The text of a file that comes with the package."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
