"""The Python interface: ``fairseq_normalign.load("checkpoint.pt").align("ein Haus", "a house")``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .align.aligner import Aligner, Setup
from .align.checking import check
from .align.options import LoadOptions
from .align.sample import MANY, choose_readings, sentence_of_choice
from .align.translating import LINES, translate
from .alignment import Alignment, TranslationCheck
from .errors import NormalignError
from .jobs import WINDOW, Count, Window, Workers, mapped, nobody, windows_of
from .links.experts import Expert
from .methods import METHODS
from .options import keywords_of

if TYPE_CHECKING:
    from .projection.inserting import MarkedTarget
    from .projection.spans import LinkedPair

Words = Sequence[str]


@keywords_of(LoadOptions)
def load(options: LoadOptions) -> AlignmentModel:
    """Load a translation model for aligning and translating; with ``reverse`` the models of both directions.

    The arguments are the options of the command line, and have the same defaults. Where several pairs are aligned
    together and there are enough of them, the readings are chosen by their text unless they are given. ``reverse`` is
    ``path`` itself for a multilingual model.

    A wrong argument is a :class:`fairseq_normalign.NormalignError`. The model may be used from several threads: calls
    take turns.
    """
    return AlignmentModel(Setup(options).load(), chooses=options.chooses_readings())


class AlignmentModel:
    """A loaded model, or the models of both directions: aligns and checks given pairs, translates with alignments.

    It can be pickled and copied if :func:`load` made it: it is then loaded again from the same files.
    """

    def __init__(self, aligner: Aligner, *, chooses: bool = False) -> None:
        """``chooses``: choose the readings by the first pairs that are aligned together."""
        self.aligner = aligner
        self._chooses = chooses

    def __repr__(self) -> str:
        names = [f"{model.models[0].name} ({model.layers} decoder layers) reads {model.expert}"
                 for model in self.aligner.directions]  # fmt: skip
        return f"<AlignmentModel: {'; the other direction: '.join(names)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded_again, (*self._sendable(), self._chooses)

    def _sendable(self) -> tuple[Setup, list[Expert]]:
        """What another process loads the same models from."""
        if self.aligner.setup is None:
            raise NormalignError("a model that was not made by load() cannot be copied or sent to another process")
        return self.aligner.setup, [model.expert for model in self.aligner.directions]

    @property
    def expert(self) -> Expert:
        """The readings of the forward model that decide."""
        return self.aligner.forward.expert

    def choose(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """Choose the readings of each direction by these pairs, without gold; return a line that explains each choice.

        Fewer than 100 pairs are too few to choose by: then the default is used.
        """
        self._chooses = False
        choices = choose_readings(self.aligner, pairs)
        self.aligner = self.aligner.reading([choice.expert for choice in choices])
        return [sentence_of_choice(choice) for choice in choices]

    def align(
        self, source: str | Words, target: str | Words, *, score: bool = False, every_layer: bool = False
    ) -> Alignment:
        """Align one pair of sentences, or of lists of words.

        ``score`` adds the log-probability of the target; ``every_layer`` adds every layer of the forward model to
        ``readings``.
        """
        return next(self.align_many([(source, target)], score=score, every_layer=every_layer))

    def align_many(
        self,
        pairs: Iterable[tuple[str | Words, str | Words]],
        *,
        score: bool = False,
        every_layer: bool = False,
        executor: Executor | None = None,
        progress: Callable[[int], object] | None = None,
        window: int = WINDOW,
    ) -> Iterator[Alignment]:
        """Align pairs in batches and yield their alignments in order.

        ``executor``: a ``concurrent.futures.Executor`` that shares the work, window by window; its workers load the
        models once, and the results come without ``readings``. ``progress`` is called with the number of pairs after
        each batch; ``window`` pairs are worked on together.
        """
        yield from self._mapped(_aligned, pairs, (score, every_layer), executor, progress, window)

    def check(self, source: str | Words, target: str | Words, *, full: bool = False) -> TranslationCheck:
        """Check whether a target translates its source; with the models of both directions more surely.

        ``full`` adds the share of the source in what the model computed, which takes several times longer.
        """
        return next(self.check_many([(source, target)], full=full))

    def check_many(
        self,
        pairs: Iterable[tuple[str | Words, str | Words]],
        *,
        full: bool = False,
        executor: Executor | None = None,
        progress: Callable[[int], object] | None = None,
        window: int = WINDOW,
    ) -> Iterator[TranslationCheck]:
        """Check pairs in batches and yield what was found in order; the rest as in :meth:`align_many`."""
        if self.aligner.forward.level != "word":
            raise NormalignError("a check is about words; load the model with level='word'")
        yield from self._mapped(_checked, pairs, (full,), executor, progress, window)

    def translate(
        self, source: str | Sequence[str], *, beam: int = 5, nbest: int = 1, executor: Executor | None = None
    ) -> list[Alignment] | list[list[Alignment]]:
        """Translate a sentence, or several, by beam search.

        Returns the best ``nbest`` translations of a sentence with their alignments, the best first; for several
        sentences a list of such lists. A sentence that is empty, or longer than the model's positions, has none.
        """
        lines = [source] if isinstance(source, str) else list(source)
        if not all(isinstance(line, str) for line in lines):
            raise NormalignError("lines to translate are strings")
        pairs = [(line, "") for line in lines]
        found = list(self._mapped(_translated, pairs, (beam, nbest), executor, None, LINES, choose=False))
        return found[0] if isinstance(source, str) else found

    def project_markup(self, source: str, target: str, *, gaps: str = "close", entities: bool = False) -> MarkedTarget:
        """Carry the inline tags of ``source`` to its translation ``target``; the result has it as ``line``.

        ``gaps`` and ``entities`` are those of :func:`fairseq_normalign.projection.inserting.project_markup`.
        """
        from .projection.inserting import project_markup
        from .projection.markup import parse_markup

        marked = parse_markup(source)
        found = self.align(marked.text, target)
        spans = found.source_spans, found.target_spans
        return project_markup(marked, spans[0], target, spans[1], _linked(found), gaps=gaps, entities=entities)

    def project_labels(
        self, source: str, target: str, labels: Sequence[tuple[int, int, str]], *, gaps: str = "close"
    ) -> list[tuple[int, int, str]]:
        """Carry labels ``(start, end, name)``, character ranges of ``source``, to ``target``; return its labels.

        A label whose words have no link is left out.
        """
        from .projection.labels import Label, project_labels

        found = self.align(source, target)
        words: list[Label] = []
        for start, end, name in labels:
            touched = [n for n, (one, other) in enumerate(found.source_spans) if one < end and start < other]
            if not 0 <= start < end <= len(source):
                raise NormalignError(f"label {start}-{end} is outside the line, which has {len(source)} characters")
            if touched:
                words.append(Label((touched[0], touched[-1] + 1), name, len(words)))
        spans = found.target_spans
        projected, _ = project_labels(_linked(found), words, gaps=gaps)
        return [(spans[one.words[0]][0], spans[one.words[1] - 1][1], one.name) for one in projected]

    def _mapped(
        self,
        function: Callable[..., list[Any]],
        pairs: Iterable[tuple[str | Words, str | Words]],
        arguments: tuple[object, ...],
        executor: Executor | None,
        progress: Callable[[int], object] | None,
        size: int,
        *,
        choose: bool = True,
    ) -> Iterator[Any]:
        """Call a function with each window of pairs; a window that is large enough chooses the readings."""
        windows = windows_of((_checked_pair(pair) for pair in pairs), size)
        first = next(windows, None)
        if first is None:
            return
        if choose and self._chooses and len(first.pairs) >= MANY:
            self.choose(first.pairs)
        done = progress or nobody
        if executor is None:
            for window in itertools.chain([first], windows):
                yield from function(self.aligner, window, None, *arguments, done=done)
            return
        setup, experts = self._sendable()
        with Workers(setup, executor=executor, models=self.aligner) as workers:
            for window, found in mapped(workers, function, itertools.chain([first], windows), experts, *arguments):
                done(len(window.pairs))
                yield from found


def _linked(found: Alignment) -> LinkedPair:
    from .projection.spans import LinkedPair

    known = dict(zip(found.links, found.confidence, strict=True))
    return LinkedPair(len(found.source_spans), len(found.target_spans), found.links, known)


def _loaded_again(setup: Setup, experts: Sequence[Expert], chooses: bool) -> AlignmentModel:
    return AlignmentModel(setup.load().reading(experts), chooses=chooses)


def _aligned(
    aligner: Aligner, window: Window, experts: Sequence[Expert] | None, score: bool, every_layer: bool, *, done: Count
) -> list[Alignment]:
    """Align a window; ``experts``: the readings, where this is a worker, whose results have to be small."""
    aligner = aligner.reading(experts or ())
    encoded = aligner.encode(window.pairs)
    here = experts is None
    found = aligner.align(encoded, soft=True, read=here, every_layer=every_layer, first=window.first, done=done)
    if score:
        kept = [number for number, one in enumerate(found) if one.skipped is None]
        scores = aligner.forward.host.scores([encoded.lines[number] for number in kept]) if kept else []
        for number, value in zip(kept, scores, strict=True):
            found[number] = replace(found[number], score=value)
    return found if here else [replace(one, lines=None, directions=()) for one in found]


def _checked(
    aligner: Aligner, window: Window, experts: Sequence[Expert] | None, full: bool, *, done: Count
) -> list[TranslationCheck]:
    aligner = aligner.reading(experts or ())
    encoded = aligner.encode(window.pairs)
    results = []
    found = check(aligner, encoded, full=full, first=window.first, done=done)
    for lines, one in zip(encoded.lines, found, strict=True):
        if isinstance(one, str):
            source, target = (line.sentence.by_word.words for line in lines)
            results.append(TranslationCheck(source, target, [], skipped=one))
            continue
        seen, places = one.evidence, (one.without_source, one.without_target)
        links = sorted(seen.links)
        results.append(TranslationCheck(seen.source, seen.target, links, one.score, one.numbers, *places))
    return results


def _translated(
    aligner: Aligner, window: Window, experts: Sequence[Expert] | None, beam: int, nbest: int, *, done: Count
) -> list[list[Alignment]]:
    lines = [line for line, _ in window.pairs]
    here = experts is None
    found = translate(
        aligner.reading(experts or ()), lines, beam=beam, nbest=nbest, read=here, first=window.first, done=done
    )
    return [
        [] if isinstance(one, str) else one if here else [replace(best, lines=None) for best in one] for one in found
    ]


def _checked_pair(pair: object) -> tuple[str, str]:
    if not (isinstance(pair, (tuple, list)) and len(pair) == 2):
        raise NormalignError(f"a pair is source and target, two strings or two lists of words, not {str(pair)[:60]!r}")
    lines = []
    for side in pair:
        words = list(side) if isinstance(side, (list, tuple)) else [None]
        if not isinstance(side, str) and not all(
            isinstance(word, str) and word and not set(" \t\n") & set(word) for word in words
        ):
            shown = str(side)[:60]
            raise NormalignError(f"a sentence is a string, or a list of words without spaces in them, not {shown!r}")
        lines.append(side if isinstance(side, str) else " ".join(map(str, words)))
    return lines[0], lines[1]


def list_methods() -> dict[str, str]:
    """Return the methods that soft alignments can be read by, each with a line that tells what it reads.

    >>> sorted(list_methods())[:3]
    ['attention-rollout', 'block', 'erasure']
    """
    return {name: method.summary() for name, method in sorted(METHODS.items())}
