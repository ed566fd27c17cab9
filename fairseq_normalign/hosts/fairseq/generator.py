"""The generation hook: after the search is over, one forced pass over the hypotheses that will be printed."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ...links.decide import best_sources, normalized
from ...links.dump import DumpWriter
from ...text.vocabulary import Vocabulary
from ..protocol import Batch
from .task import Frame


class PrintedAlignment(list):
    """What fairseq prints after ``A-``: pairs (hard) or rows of numbers as text (soft).

    Its commands iterate over it. Their ``--replace-unk`` instead asks, by ``alignment[i]``, for the source position of
    the printed target word ``i``.
    """

    def __init__(self, printed: Iterable[Any], source_of: Callable[[], Sequence[int]] = tuple) -> None:
        super().__init__(printed)
        self._source_of = source_of

    def __getitem__(self, target: Any) -> Any:
        return self._source_of()[target]


@contextlib.contextmanager
def encoders_overheard(models: Sequence[Any]) -> Iterator[list[object]]:
    """What the encoder of each model returns while this lasts; nothing, if one of them does not run exactly once.

    The search has encoded the sources already. fairseq calls ``encoder.forward`` itself, where no hook is.
    """
    heard: list[list[object]] = [[] for _ in models]
    results: list[object] = []
    own = [vars(model.encoder).get("forward") for model in models]

    def overheard(forward: Callable[..., Any], kept: list[object]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            returned = forward(*args, **options)
            kept.append(copy.copy(returned))  # LightConv of fairseq 0.12.2 reorders a search's rows in place
            return returned

        return call

    for model, kept in zip(models, heard, strict=True):
        model.encoder.forward = overheard(model.encoder.forward, kept)
    try:
        yield results
    finally:
        for model, before in zip(models, own, strict=True):
            vars(model.encoder).pop("forward", None)
            if before is not None:
                model.encoder.forward = before
    if all(len(kept) == 1 for kept in heard):
        results.extend(kept[0] for kept in heard)


class AligningGenerator:
    """A generator of fairseq's (beam search, sampling, scorer of references) with alignments beside its hypotheses."""

    def __init__(
        self,
        generator: Any,
        aligner: Any,
        modules: Sequence[Any],
        vocabularies: tuple[Vocabulary, Vocabulary],
        frame: Frame,
        *,
        form: str,
        level: str,
        printed_level: str,
        nbest: int,
        indexed_rows: bool = False,
        dump: DumpWriter | None = None,
    ) -> None:
        """``aligner``: its ``align(batch)`` returns what was read of each target, as the task makes it.

        ``form`` is hard or soft; ``printed_level`` is that of the printed sentence, ``level`` of the ``A-`` line.

        ``indexed_rows``: fairseq-interactive prints pairs whatever the form; soft rows go there as (target, numbers).
        """
        self.generator = generator
        self.aligner = aligner
        self.modules = list(modules)
        self.vocabularies = vocabularies
        self.frame = frame
        self.form = form
        self.level = level
        self.printed_level = printed_level
        self.nbest = nbest
        self.indexed_rows = indexed_rows
        self.dump = dump

    def __getattr__(self, name: str) -> Any:
        return getattr(self.generator, name)

    @torch.no_grad()
    def generate(self, models: Sequence[Any], sample: dict[str, Any], **options: Any) -> list[list[dict[str, Any]]]:
        """fairseq's ``generate``; every hypothesis that will be printed has its alignment under ``alignment``."""
        with encoders_overheard(self.modules) as encoded:
            try:
                hypotheses = self.generator.generate(models, sample, **options)
            except (AssertionError, RuntimeError, IndexError, ValueError):
                self._look_for_nan(sample)
                raise
        printed = [(row, hypo) for row, beam in enumerate(hypotheses) for hypo in beam[: self.nbest]]
        for beam in hypotheses:
            for hypo in beam[self.nbest :]:
                hypo["alignment"] = PrintedAlignment([])
        if printed:
            self._align(sample, printed, encoded)
        return hypotheses

    def _look_for_nan(self, sample: dict[str, Any]) -> None:
        """fairseq's search ends in riddles when the model computes NaN: say where it is, if that is why."""
        ids = _ids(sample)
        nothing = [torch.zeros(0, dtype=torch.long) for _ in ids]
        batch = self._batch(sample, nothing, range(len(ids)))
        list(self.aligner.align(batch, every_layer=True))

    def _align(self, sample: dict[str, Any], printed: list[tuple[int, dict[str, Any]]], encoded: list[object]) -> None:
        targets = [self._pieces(hypo["tokens"]) for _, hypo in printed]
        batch = self._batch(sample, targets, [row for row, _ in printed], encoded)
        dumped = self.dump is not None
        pairs = list(self.aligner.align(batch, every_layer=dumped, heads=dumped and self.dump.heads))  # type: ignore[union-attr]
        for (_, hypo), pair in zip(printed, pairs, strict=True):
            hypo["alignment"] = self._printed(pair)
        if self.dump is not None:
            ids = _ids(sample)
            self._write(pairs, [(ids[row], hypo) for row, hypo in printed])

    def _batch(
        self, sample: dict[str, Any], targets: Sequence[Tensor], rows: Sequence[int], encoded: Sequence[object] = ()
    ) -> Batch:
        ids, tokens = _ids(sample), sample["net_input"]["src_tokens"]
        source, target = self.vocabularies
        padding = tokens.eq(source.dictionary.pad())
        sources = [source.sentence(row[~pads].tolist()) for row, pads in zip(tokens, padding, strict=True)]
        return Batch(
            encoder_input=_encoder_input(sample),
            source_tokens=tokens,
            source_padding=padding,
            targets=targets,
            rows=rows,
            start=self.frame.target_start[:1],  # what else is in front the search has put into the hypothesis
            end=self.frame.target_end[0],
            pad=target.dictionary.pad(),
            names=[str(ids[row]) for row in rows],
            encoded=encoded,
            sentences=[
                (sources[row], target.sentence(pieces.tolist())) for row, pieces in zip(rows, targets, strict=True)
            ],
        )

    def _pieces(self, tokens: Tensor) -> Tensor:
        """A hypothesis without what ends it."""
        tokens = tokens.cpu()
        for end in reversed(self.frame.target_end):
            tokens = tokens[:-1] if len(tokens) and tokens[-1] == end else tokens
        return tokens

    def _printed(self, pair: Any) -> PrintedAlignment:
        source_of = functools.cache(lambda: self._sources(pair))
        if self.form != "soft":
            return PrintedAlignment(pair.links(self.level), source_of)
        rows = [[f"{value:.6f}" for value in row] for row in normalized(pair.soft(self.level))]
        if self.indexed_rows:
            return PrintedAlignment([(target, ",".join(row)) for target, row in enumerate(rows)], source_of)
        return PrintedAlignment(rows, source_of)

    def _sources(self, pair: Any) -> list[int]:
        """For each printed target word the position of its source word in the printed source, tags in front counted."""
        soft = pair.soft(self.printed_level)
        front = pair.source.front if soft.shape[1] else 0
        return [front + max(0, source) for source in best_sources(soft).tolist()]

    def _write(self, pairs: list[Any], hypotheses: list[tuple[int, dict[str, Any]]]) -> None:
        assert self.dump is not None
        for (number, hypo), pair in zip(hypotheses, pairs, strict=True):
            self.dump.add(
                number,
                source_pieces=pair.source.pieces,
                target_pieces=pair.target.pieces,
                source=pair.source.by_word,
                target=pair.target.by_word,
                layers=pair.layers,
                heads=pair.heads if self.dump.heads else None,
                score=float(hypo["score"]),
            )


def _ids(sample: dict[str, Any]) -> list[int]:
    return sample["id"].tolist() if "id" in sample else list(range(len(sample["net_input"]["src_tokens"])))


def _encoder_input(sample: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sample["net_input"].items() if name != "prev_output_tokens"}
