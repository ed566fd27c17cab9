"""The HTML page of alignments: one file that needs no network, with everything inside, drawn on demand."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

import numpy as np

from ..analysis.decisions import PairDecisions, decisions_of, pair_counts, readings_of
from ..errors import NormalignError
from ..files import check_writable, open_output
from ..links.pieces import Sentence
from ..links.read_pair import ReadPair
from ..links.readings import Reading, ReadingShape
from ..links.score import COUNTS, metrics_of

LEVELS, SIGNED_LEVELS = 4095, 2047
"""Values are stored as whole multiples of the largest value of their matrix divided by LEVELS; where values below zero
occur, by SIGNED_LEVELS, and shifted by as much."""
_COUNTED = [COUNTS.index(name) for name in ("links", "sure_hits", "possible_hits")]


def write_page(
    path: str | Path,
    pairs: Iterable[ReadPair],
    *,
    title: str = "Word alignments",
    start: Reading | None = None,
    beside: Reading | None = None,
    notes: str = "",
) -> tuple[int, int]:
    """Write the page of some pairs, all read by the same methods; return how many there are, and the size in bytes.

    Memory does not grow with their soft alignments. ``start`` is what the page shows first (None: what has the lowest
    AER, or the last method where there is no gold), ``beside`` what it shows next to it; ``notes`` is a line under the
    title.
    """
    if str(path) != "-":
        check_writable(path)
    script, style = asset("page.js"), asset("page.css")
    policy = f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}"
    template = asset("page.html").replace("{{CSP}}", f"{policy}; base-uri 'none'; form-action 'none'")
    head, tail = template.replace("{{STYLE}}", style).split("<!-- data -->")
    shapes: dict[str, ReadingShape] = {}
    sentences: list[dict[str, object]] = []
    counts: list[np.ndarray] = []
    readings: list[Reading] = []
    with open_output(path) as out:
        out.write(head)
        for pair in pairs:
            found = {name: reading.shape for name, reading in pair.readings.items()}
            if sentences and found != shapes:
                raise NormalignError(f"sentence {pair.id + 1} has other methods, layers or heads than those before it")
            shapes, readings = found, readings or readings_of(pair)
            decided = decisions_of(pair)
            numbers, scales, zeros = _numbers(pair, readings, decided)
            out.write(f'<script type="text/plain" id="d{len(sentences)}">{pack(numbers)}</script>\n')
            sentences.append({**_sentence(pair), "z": scales, **({"o": zeros} if any(zeros) else {})})
            counts.append(pair_counts(pair, decided))
        if not sentences:
            raise NormalignError("there is no sentence to show")

        whole = [place for place, reading in enumerate(readings) if reading.head is None]
        if start is None and whole:
            rates = metrics_of(np.sum(counts, axis=0))["aer"]
            last = next(place for place in whole if readings[place].method == readings[-1].method)
            start = readings[min(whole, key=lambda place: rates[place]) if np.any(counts) else last]
        data = {
            "title": title,
            "notes": notes,
            "start": None if start is None else asdict(start),
            "beside": None if beside is None else asdict(beside),
            "methods": [{"name": name, **asdict(shape)} for name, shape in shapes.items()],
            "gold": any("g" in sentence for sentence in sentences),
            "check": any("c" in sentence for sentence in sentences),
            "sentences": sentences,
            "counts": base64.b64encode(np.stack(counts)[..., _COUNTED].astype("<u2").tobytes()).decode("ascii"),
        }
        inert = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        for (
            letter
        ) in "<>&\u2028\u2029":  # text from a corpus is data, never markup: it cannot end the element around it
            inert = inert.replace(letter, f"\\u{ord(letter):04x}")
        out.write(f'<script type="application/json" id="data">{inert}</script>')
        out.write(tail.replace("{{SCRIPT}}", script))
    return len(sentences), Path(path).stat().st_size if str(path) != "-" else 0


def _numbers(
    pair: ReadPair, readings: Sequence[Reading], decided: PairDecisions
) -> tuple[list[np.ndarray], list[float], list[int]]:
    """Return the rounded soft alignments of a pair with the links of its readings, and scale and zero of each matrix.

    First the layers, then the heads of each method; after all of them, for each reading without links of its own, the
    source word of each target word, counted from 1, 0 for none. The links are stored because rounding can change which
    value of a row is the largest.
    """
    arrays: list[np.ndarray] = []
    scales: list[float] = []
    zeros: list[int] = []
    for found in pair.readings.values():
        for soft in (found.steps, found.words, found.heads):
            if soft is None:
                continue
            exact = np.asarray(soft, dtype=np.float64)
            zero = SIGNED_LEVELS if (exact < 0).any() else 0
            scale = np.abs(exact).max(axis=(-1, -2), initial=0.0) / (zero or LEVELS)
            arrays.append(np.rint(exact / np.where(scale > 0, scale, 1.0)[..., None, None]).astype(np.int64) + zero)
            zeros += [zero] * scale.size
            scales += [float(f"{value:.7g}") for value in np.ravel(scale)]
    arrays += [decided.of(reading) + 1 for reading in readings if pair.readings[reading.method].links is None]
    return arrays, scales, zeros


def pack(arrays: Sequence[np.ndarray]) -> str:
    """Return whole numbers up to 65535 as base64 of deflated bytes: first all low bytes, then all high bytes."""
    flat = np.concatenate([np.zeros(0, dtype="<u2"), *(array.ravel().astype("<u2") for array in arrays)])
    return base64.b64encode(zlib.compress(flat.view(np.uint8).reshape(-1, 2).T.tobytes(), 6)).decode("ascii")


def _sentence(pair: ReadPair) -> dict[str, object]:
    fields: dict[str, object] = {"id": pair.id, "s": _side(pair.source), "t": _side(pair.target)}
    if pair.gold is not None:
        possible = pair.gold.possible - pair.gold.sure
        fields["g"] = {"s": sorted(map(list, pair.gold.sure)), "p": sorted(map(list, possible))}
    links = {name: sorted(map(list, r.links)) for name, r in pair.readings.items() if r.links is not None}
    if links:
        fields["k"] = links
    if pair.notes:
        fields["n"] = list(pair.notes)
    if pair.flags is not None:
        flags = pair.flags  # score, positions of words without a partner, and what each word gains where that is known
        gains = {"sg": flags.source_gains, "tg": flags.target_gains}
        rounded = {name: [round(gain, 2) for gain in found] for name, found in gains.items() if found}
        fields["c"] = {"v": flags.score, "s": list(flags.without_target), "t": list(flags.without_source), **rounded}
    return fields


def _side(side: Sentence) -> dict[str, object]:
    """Return the words and, where they are known, the pieces, each with the word it belongs to (-1 for none)."""
    if [piece.lower() for piece in side.pieces] == [word.lower() for word in side.words]:
        return {"w": list(side.words)}
    owners = [-1] * len(side.pieces)
    for word, (start, stop) in enumerate(side.by_word.spans):
        owners[start:stop] = [word] * (stop - start)
    return {"w": list(side.words), "p": list(side.pieces), "o": owners}


def digest(text: str) -> str:
    """Return how a page's policy names a script or style that may be used."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def asset(name: str) -> str:
    """Return the text of a file that comes with the package."""
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
