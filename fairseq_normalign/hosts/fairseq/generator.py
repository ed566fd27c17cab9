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
from ..protocol import Batch


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
        task: Any,
        models: Sequence[Any],
        *,
        form: str,
        level: str,
        nbest: int,
        indexed_rows: bool = False,
    ) -> None:
        """``task``: what aligns, the words of both sides, and what stands around a sentence.

        ``form`` is hard or soft; ``level`` is that of the ``A-`` line; ``indexed_rows``: fairseq-interactive prints
        pairs whatever the form, and soft rows go there as (target, numbers).
        """
        self.generator = generator
        self.aligner = task.build_aligner(models, generator)
        self.modules = [task.one_direction(model) for model in models]
        self.vocabularies = task.vocabularies(generator)
        self.frame = task.frame()
        self.printed_level = task.printed_level
        self.form = form
        self.level = level
        self.nbest = nbest
        self.indexed_rows = indexed_rows
        self.dump: DumpWriter | None = None
        """Where every layer of what is printed is written."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.generator, name)

    @torch.no_grad()
    def generate(self, models: Sequence[Any], sample: dict[str, Any], **options: Any) -> list[list[dict[str, Any]]]:
        """fairseq's ``generate``; every hypothesis that will be printed has its alignment under ``alignment``."""
        sources = len(sample["net_input"]["src_tokens"])
        ids = sample["id"].tolist() if "id" in sample else list(range(sources))
        with encoders_overheard(self.modules) as encoded:
            try:
                hypotheses = self.generator.generate(models, sample, **options)
            except (AssertionError, RuntimeError, IndexError, ValueError):
                # the search ends in riddles when the model computes NaN: say where it is, if that is why
                nothing = [torch.zeros(0, dtype=torch.long) for _ in ids]
                list(self.aligner.align(self._batch(sample, ids, nothing, range(sources)), every_layer=True))
                raise
        for beam in hypotheses:
            for hypo in beam[self.nbest :]:
                hypo["alignment"] = PrintedAlignment([])
        printed = [(row, hypo) for row, beam in enumerate(hypotheses) for hypo in beam[: self.nbest]]
        if not printed:
            return hypotheses

        targets = []
        for _, hypo in printed:
            tokens = hypo["tokens"].cpu()
            for end in reversed(self.frame.target_end):
                tokens = tokens[:-1] if len(tokens) and tokens[-1] == end else tokens
            targets.append(tokens)
        batch = self._batch(sample, ids, targets, [row for row, _ in printed], encoded)
        heads = self.dump is not None and self.dump.heads
        pairs = self.aligner.align(batch, every_layer=self.dump is not None, heads=heads)
        for (row, hypo), pair in zip(printed, pairs, strict=True):
            hypo["alignment"] = self._printed(pair)
            if self.dump is not None:
                self.dump.add(
                    ids[row],
                    source_pieces=pair.source.pieces,
                    target_pieces=pair.target.pieces,
                    source=pair.source.by_word,
                    target=pair.target.by_word,
                    layers=pair.layers,
                    heads=pair.heads if heads else None,
                    score=float(hypo["score"]),
                )
        return hypotheses

    def _batch(
        self,
        sample: dict[str, Any],
        ids: Sequence[int],
        targets: Sequence[Tensor],
        rows: Sequence[int],
        encoded: Sequence[object] = (),
    ) -> Batch:
        inputs = {name: value for name, value in sample["net_input"].items() if name != "prev_output_tokens"}
        source, target = self.vocabularies
        tokens = inputs["src_tokens"]
        padding = tokens.eq(source.dictionary.pad())
        sources = [source.sentence(row[~pads].tolist()) for row, pads in zip(tokens, padding, strict=True)]
        return Batch(
            encoder_input=inputs,
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

    def _printed(self, pair: Any) -> PrintedAlignment:
        @functools.cache
        def source_of() -> list[int]:
            """For each printed target word the position of its word in the printed source, tags in front counted."""
            soft = pair.soft(self.printed_level)
            front = pair.source.front if soft.shape[1] else 0
            return [front + max(0, source) for source in best_sources(soft).tolist()]

        if self.form != "soft":
            return PrintedAlignment(pair.links(self.level), source_of)
        rows: list[Any] = [[f"{value:.6f}" for value in row] for row in normalized(pair.soft(self.level))]
        if self.indexed_rows:
            rows = [(target, ",".join(row)) for target, row in enumerate(rows)]
        return PrintedAlignment(rows, source_of)
