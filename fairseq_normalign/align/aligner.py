"""The engine: encoded pairs through the model of one direction or the models of both, to alignments."""

from __future__ import annotations

import contextlib
import copy
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import torch

from .. import jobs
from ..alignment import Alignment
from ..errors import NormalignError
from ..files import words_of
from ..hosts import load_host
from ..hosts.options import ModelOptions
from ..hosts.protocol import Pair
from ..jobs import Count, Part, TextPair, Window, nobody
from ..links.decide import Link, decide
from ..links.dump import DumpWriter
from ..links.experts import AGREEMENT_FLOOR, VOTE, Expert, vote, with_posterior
from ..links.formats import pharaoh
from ..links.pieces import Segmentation, Span
from ..links.symmetrize import SOFT_SYMMETRIZATIONS, symmetrize
from ..options import input_files, paths, result_options
from ..text.options import TextOptions
from ..text.vocabulary import check_words_known
from .model import Decided, Model
from .options import ALIKE, LoadOptions

Votes = Sequence[Sequence[Link]]
"""The links of another aligner for one pair, (source, target): of one direction, or forward and backward."""
Posteriors = Sequence[tuple[np.ndarray, np.ndarray]]
"""For each pair, how probable a statistical aligner finds each pair of words: [T, S] and [S, T]."""
DIFFERENT = "different words"
"""Why a translation is left unaligned: the model of the other direction splits it into other words."""


@dataclass(frozen=True)
class Setup:
    """What the models of one direction or of both are loaded from, as plain data that can be sent to a worker."""

    options: LoadOptions
    vote: float = VOTE
    """How many times the share of a word counts that another aligner linked."""

    def files(self) -> list[str]:
        """Return every file and folder that results depend on."""
        found = input_files(self.options)
        for path, data in (
            (self.options.path, self.options.data),
            (self.options.reverse or self.options.path, self.options.reverse_data),
        ):
            folder = Path(data) if data is not None else Path(str(path).split(":")[0]).parent
            found += map(str, folder.glob("dict.*.txt"))
        folders = {str(data) for data in (self.options.data, self.options.reverse_data)}
        return sorted({path for path in found if os.path.exists(path) and path not in folders})

    def describe(self) -> object:
        """Return every option that results depend on."""
        return result_options(self.options), self.vote

    def load(self) -> Aligner:
        """Load the models, with the readings that were given."""
        options = self.options
        warnings.filterwarnings("ignore", category=UserWarning, module="torch")  # on how fairseq calls it
        import_user_code(options)
        options.check_choice()
        forward = self._model(model_options(options), options.text())
        backward = None
        if options.reverse is not None:
            model = model_options(options, reverse=True)
            same = forward if model.path == str(options.path) else None
            backward = self._model(model, options.text(reverse=True), same)
            one, other = forward.host.languages, backward.host.languages
            if all((*one, *other)) and one != other[::-1]:
                raise NormalignError(
                    f"the models translate {one[0]}-{one[1]} and {other[0]}-{other[1]}; the second one has to "
                    f"translate {one[1]}-{one[0]}: give the model of the other direction"
                )
        floor = AGREEMENT_FLOOR if options.floor is None else options.floor
        aligner = Aligner(forward, backward, options.symmetrize or ALIKE, floor=floor, vote=self.vote, setup=self)
        return aligner.reading(options.given_readings())

    def _model(self, model: ModelOptions, text: TextOptions, forward: Model | None = None) -> Model:
        """Load one model; ``forward``: the same model, loaded for the other direction."""
        options, reading = self.options, self.options.alignment()
        with torch.inference_mode(False):  # what is loaded there cannot be used where gradients are needed
            same = None if forward is None else forward.host
            host = load_host(model, text, tags=reading.tags, forward=same)
        if options.level == "word":
            for side in (host.source, host.target):
                check_words_known(side.scheme)
        return Model(host, reading, max_tokens=options.max_tokens, level=options.level)


def load_aligner(options: LoadOptions) -> Aligner:
    """Load the models that ``options`` name, with the readings that were given."""
    return Setup(options).load()


def model_options(options: LoadOptions, *, reverse: bool = False) -> ModelOptions:
    """Return what a host has to know of the model; ``reverse``: of that of the other direction."""
    own = f"cuda:{jobs.WORKER % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu"
    replaced = {name: getattr(options, name) for name in ("fixed_dictionary", "lang_dict", "lang_pairs")}
    model = ModelOptions(
        path=str(options.path),
        data=None if options.data is None else str(options.data),
        source_lang=options.source_lang,
        target_lang=options.target_lang,
        device=options.device or own,
        precision=options.precision,
        task_options={name: str(value) for name, value in replaced.items() if value is not None},
    )
    if not reverse:
        return model
    data = None if options.reverse_data is None else str(options.reverse_data)
    same = not options.reverse or (str(options.reverse) == model.path and data is None)
    return model.reversed() if same else model.reversed(str(options.reverse), data)


def import_user_code(options: LoadOptions) -> None:
    """Import the code that the user has for fairseq."""
    if options.user_dir:
        from ..hosts.fairseq.patches import import_user_dirs

        import_user_dirs(paths(options.user_dir))


@dataclass(frozen=True)
class Encoded:
    """Pairs as the models read them."""

    lines: list[Pair]
    """Both sides as the forward model reads them."""
    forward: list[Pair | str]
    """The same, or why a pair cannot be aligned."""
    backward: list[Pair | str] | None
    """As the backward model reads them, target first; None without one."""


class Aligner:
    """Aligns pairs in one direction, or in both with what they say combined."""

    def __init__(
        self,
        forward: Model,
        backward: Model | None = None,
        combine: str = "agreed-grow-diag",
        *,
        floor: float = AGREEMENT_FLOOR,
        vote: float = VOTE,
        setup: Setup | None = None,
    ) -> None:
        """``backward``: the model of the other direction; ``combine``: a name of :mod:`..links.symmetrize`.

        ``floor``: the agreement that a link must exceed where soft alignments are multiplied; ``vote``: how many times
        the share of a word counts that another aligner linked; ``setup``: what the models were loaded from.
        """
        self.forward = forward
        self.backward = backward
        self.combine = combine
        self.floor = floor
        self.vote = vote
        self.setup = setup

    @property
    def directions(self) -> list[Model]:
        """The models, the forward one first."""
        return [self.forward] if self.backward is None else [self.forward, self.backward]

    def reading(self, experts: Sequence[Expert | None], combine: str | None = None) -> Aligner:
        """Return the same models that decide by other readings, one for each direction; None leaves one as it is."""
        other = copy.copy(self)
        other.combine = combine or self.combine
        forward, backward = [*experts, None, None][:2]
        other.forward = self.forward.reading(forward)
        other.backward = None if self.backward is None else self.backward.reading(backward)
        return other

    def encode(self, pairs: Sequence[TextPair]) -> Encoded:
        """Return the pairs as each direction reads them; what one of them cannot align, neither does."""
        backward = self.backward
        turned = None if backward is None else [backward.lines((target, source)) for source, target in pairs]
        found = self._encoded([self.forward.lines(pair) for pair in pairs], turned)
        for (source, _), pair in zip(pairs, found.forward, strict=True):
            if pair == DIFFERENT:
                raise NormalignError(
                    f"'{source[:60]}': the models of the two directions split this pair into different "
                    f"{self.forward.level}s, so their links cannot be combined; align each direction by itself"
                )
        return found

    def encode_lines(self, lines: Sequence[Pair]) -> Encoded:
        """Return pairs that the forward model has read; the backward model reads the same words of their text."""
        if self.backward is None:
            return self._encoded(lines, None)
        host = self.backward.host
        return self._encoded(
            lines,
            [
                (host.source(target.text, target.places), host.target(source.text, source.places))
                for source, target in lines
            ],
        )

    def _encoded(self, lines: Sequence[Pair], turned: Sequence[Pair] | None) -> Encoded:
        """``turned``: the same pairs as the backward model reads them."""
        forward = [self.forward.checked(pair) for pair in lines]
        if self.backward is None or turned is None:
            return Encoded(list(lines), forward, None)
        backward = [self.backward.checked(pair) for pair in turned]
        level = self.forward.level
        for number, (one, other) in enumerate(zip(forward, backward, strict=True)):
            if isinstance(one, str) or isinstance(other, str):
                forward[number] = backward[number] = one if isinstance(one, str) else other
            else:
                counts, others = ([len(line.sentence.at(level).words) for line in pair] for pair in (one, other))
                if counts != others[::-1]:
                    forward[number] = backward[number] = DIFFERENT
        return Encoded(list(lines), forward, backward)

    def encode_placed(self, pairs: Sequence[tuple[tuple[str, Sequence[Span]], tuple[str, Sequence[Span]]]]) -> Encoded:
        """Return pairs of lines of which the places of the words are known: links count those."""
        lines = [(self.forward.host.source(*source), self.forward.host.target(*target)) for source, target in pairs]
        for given, made in zip(pairs, lines, strict=True):
            for (text, places), line in zip(given, made, strict=True):
                if tuple(places) != line.places:
                    raise NormalignError(
                        f"'{text[:60]}' has {len(places)} words, and {len(line.places)} to the model; is it in pieces, "
                        "or does it begin with a language tag? Give natural text, and codes that make pieces of it"
                    )
        return self.encode_lines(lines)

    def align(
        self,
        pairs: Encoded | Sequence[TextPair],
        *,
        soft: bool = False,
        read: bool = False,
        every_layer: bool = False,
        first: int = 0,
        votes: Sequence[Votes] = (),
        posteriors: Posteriors | None = None,
        done: Count = nobody,
    ) -> list[Alignment]:
        """Align pairs, in their order, the first of them number ``first`` of the bitext.

        ``soft``, ``read``, ``every_layer``: what is kept beside links and confidence; ``votes``: the links of another
        aligner for each pair; ``done`` is told how many pairs after each batch.
        """
        encoded = pairs if isinstance(pairs, Encoded) else self.encode(pairs)
        is_soft = self.backward is None or self.combine in SOFT_SYMMETRIZATIONS
        alone = self.backward is None and posteriors is None and not votes
        decision = None if alone else "argmax" if is_soft else self.forward.options.decision or "argmax"
        needs_soft = soft or (is_soft and not alone)
        decided = [
            self.forward.decide(
                encoded.forward,
                soft=needs_soft,
                read=read,
                every_layer=every_layer,
                first=first,
                decision=decision,
                done=done,
            )
        ]
        if self.backward is not None and encoded.backward is not None:
            decided.append(self.backward.decide(encoded.backward, soft=needs_soft, first=first, decision=decision))
        results = []
        for number, (lines, *found) in enumerate(zip(encoded.lines, *decided, strict=True)):
            sides = [one for one in found if not isinstance(one, str)]
            if len(sides) < len(found):
                results.append(Alignment.of(lines, skipped=next(one for one in found if isinstance(one, str))))
                continue
            links, confidence, shares = sides[0].links, sides[0].confidence, sides[0].soft
            if not alone and is_soft:
                learned = posteriors[number] if posteriors else None
                links, confidence, shares = self._agreed(sides, votes[number] if votes else None, learned)
            elif not alone:
                links, confidence = self._symmetrized(*sides)
                shares = None
            result = Alignment.of(lines, links, confidence, read=sides[0].read)
            if soft:
                directions = tuple(one.soft for one in sides if one.soft is not None)
                result = replace(result, soft=shares, directions=directions)
            results.append(result)
        return results

    def _agreed(
        self, sides: Sequence[Decided], votes: Votes | None, learned: tuple[np.ndarray, np.ndarray] | None
    ) -> tuple[list[Link], list[float], np.ndarray]:
        """The confidence of a link is the geometric mean of its shares in the two directions."""
        softs = []
        for number, one in enumerate(sides):
            assert one.soft is not None
            linked = np.zeros((len(one.soft), 1), dtype=bool)
            linked[[target for _, target in one.links]] = True
            soft = np.where(linked, one.soft, 0)  # nothing for target words that the direction leaves unaligned
            if learned is not None:
                soft = with_posterior(soft, learned[number])
            if votes is not None:
                links = votes[0] if number == 0 else [(target, source) for source, target in votes[-1]]
                soft = vote(soft, links, self.vote)
            softs.append(soft)
        if len(softs) == 1:
            decision, floor = self.forward.options.decision_for(self.forward.expert)
            found, shares = decide(softs[0], decision, floor=floor)
            return found, [float(shares[target, source]) for source, target in found], softs[0]
        decision = self.forward.options.decision or self.combine
        found, shares = decide(softs[0], decision, backward=softs[1], floor=self.floor)
        return found, [float(shares[target, source]) for source, target in found], shares

    def _symmetrized(self, forward: Decided, backward: Decided) -> tuple[list[Link], list[float]]:
        """The confidence of a link is the mean of what the two directions give it, nothing where one lacks it."""
        reverse = [(source, target) for target, source in backward.links]
        links = symmetrize(forward.links, reverse, self.combine)
        first = dict(zip(forward.links, forward.confidence, strict=True))
        second = dict(zip(reverse, backward.confidence, strict=True))
        return links, [(first.get(link, 0.0) + second.get(link, 0.0)) / 2 for link in links]

    @contextlib.contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Count, while this lasts, the pieces of each side of the forward model, and those that it does not know.

        What was counted before stays as it was: lines may be looked at first and encoded later.
        """
        counts: Counter[str] = Counter()
        coders = {coder for model in self.directions for coder in (model.host.source, model.host.target)}
        before = {coder: (coder.seen, coder.unknown) for coder in coders}
        try:
            yield counts
        finally:
            for name, coder in (("source", self.forward.host.source), ("target", self.forward.host.target)):
                counts[f"{name} pieces"] += coder.seen - before[coder][0]
                counts[f"unknown {name} pieces"] += coder.unknown - before[coder][1]
            for coder, (seen, unknown) in before.items():
                coder.seen, coder.unknown = seen, unknown


# -- a window of the command ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outputs:
    """What is written about every pair: links always, and one line in each of the other files that are asked for."""

    scores: bool = False
    soft: bool = False
    layers: bool = False
    json: bool = False
    """Links as JSON lines, with both texts and the places of their words."""
    words: bool = False
    """The words that links count, of each side."""

    def texts(self, results: Sequence[Alignment]) -> list[str]:
        """Return one text per file."""
        lines = [[result.json() if self.json else pharaoh(result.links) for result in results]]
        if self.scores:
            lines.append([" ".join(f"{value:.4f}" for value in result.confidence) for result in results])
        if self.soft:
            rows = [[] if result.soft is None else result.soft.tolist() for result in results]
            lines.append([" ".join(",".join(f"{value:.6f}" for value in row) for row in one) for one in rows])
        if self.words:
            sides = [result.lines for result in results if result.lines is not None]
            lines += [[" ".join(line.given_words) for line in side] for side in zip(*sides, strict=True)]
        return ["".join(f"{line}\n" for line in file) for file in lines]


def align_window(
    aligner: Aligner,
    window: Window,
    readings: Sequence[Expert | None],
    outputs: Outputs,
    posteriors: Posteriors | None = None,
    *,
    done: Count = nobody,
) -> Part:
    """Align a window with these readings."""
    votes = [[_links(line) for line in lines] for lines in window.beside]
    with aligner.counting() as counts:
        encoded = aligner.encode(window.pairs)
    results = aligner.reading(readings).align(
        encoded,
        soft=outputs.soft,
        every_layer=outputs.layers,
        first=window.first,
        votes=votes,
        posteriors=posteriors,
        done=done,
    )
    counts.update(result.skipped for result in results if result.skipped)
    counts["links"] += sum(len(result.links) for result in results)
    part = Part(outputs.texts(results), counts)
    if outputs.layers:
        part.record = []
        for number, read in enumerate((result.read for result in results), start=window.first):
            if read is not None:
                sides = read.source, read.target
                part.record.append([number, [side.pieces for side in sides], [astuple(side.by_word) for side in sides]])
                part.arrays[str(number)] = read.layers
    return part


def _links(line: str) -> list[Link]:
    """The links of a line in Pharaoh format, 0-based."""
    found = []
    for word in words_of(line):
        match = re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", word)
        if match is None:
            raise NormalignError(f"'{word[:60]}' among the links to vote is not i-j, two positions counted from 0")
        found.append((int(match[1]), int(match[2])))
    return found


def add_to_dump(dump: DumpWriter, part: Part) -> None:
    """Add the layers of a window to a dump."""
    for number, (source_pieces, target_pieces), sides in part.record:
        source, target = (
            Segmentation(tuple(words), tuple(map(tuple, spans)), tuple(specials)) for words, spans, specials in sides
        )
        dump.add(
            number,
            source_pieces=source_pieces,
            target_pieces=target_pieces,
            source=source,
            target=target,
            layers=part.arrays[str(number)],
        )
