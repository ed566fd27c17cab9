"""The generation hook: after the search is over, one forced pass over the hypotheses that will be printed."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from ...aligning.aligner import AlignedPair, Aligner
from ...aligning.reader import Batch
from ...alignment.decide import best_sources
from ...alignment.dump import DumpWriter
from ...alignment.steps_to_words import normalized
from ...errors import NormalignError


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
def encoders_overheard(models: Sequence[Any]) -> Iterator[list[Any]]:
    """What the encoder of each model returns while this lasts; nothing, if one of them does not run exactly once.

    The search has encoded the sources already. fairseq calls ``encoder.forward`` itself, where no hook is.
    """
    heard: list[list[Any]] = [[] for _ in models]
    results: list[Any] = []
    own = [vars(model.encoder).get("forward") for model in models]

    def overheard(forward: Callable[..., Any], kept: list[Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            kept.append(forward(*args, **options))
            return kept[-1]

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
        aligner: Aligner,
        *,
        form: str,
        level: str,
        printed_level: str,
        nbest: int,
        indexed_rows: bool = False,
        dump: DumpWriter | None = None,
    ) -> None:
        """``form`` is hard or soft; ``printed_level`` is that of the printed sentence, ``level`` of the ``A-`` line.

        ``indexed_rows``: fairseq-interactive prints pairs whatever the form; soft rows go there as (target, numbers).
        """
        self.generator = generator
        self.aligner = aligner
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
        with encoders_overheard(self.aligner.models) as encoded:
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
        names = [str(number) for number in ids]
        batch = Batch(_encoder_input(sample), nothing, range(len(ids)), names)
        list(self.aligner.align(batch, all_layers=True))
        for model in self.aligner.models:
            for name, parameter in model.named_parameters():
                if not bool(torch.isfinite(parameter).all()):
                    raise NormalignError(f"sentence {', '.join(names)}: NaN or infinity in the parameter {name}")

    def _align(self, sample: dict[str, Any], printed: list[tuple[int, dict[str, Any]]], encoded: list[Any]) -> None:
        ids = _ids(sample)
        batch = Batch(
            encoder_input=_encoder_input(sample),
            targets=[self._pieces(hypo["tokens"]) for _, hypo in printed],
            rows=[row for row, _ in printed],
            names=[str(ids[row]) for row, _ in printed],
            encoded=encoded,
        )
        pairs = list(self.aligner.align(batch, all_layers=self.dump is not None))
        for (_, hypo), pair in zip(printed, pairs, strict=True):
            hypo["alignment"] = self._printed(pair)
        if self.dump is not None:
            self._write(batch, pairs, [(ids[row], hypo) for row, hypo in printed])

    def _pieces(self, tokens: Tensor) -> Tensor:
        """A hypothesis without its end of sentence."""
        tokens = tokens.cpu()
        return tokens[:-1] if len(tokens) and tokens[-1] == self.generator.eos else tokens

    def _printed(self, pair: AlignedPair) -> PrintedAlignment:
        source_of = functools.cache(lambda: self._sources(pair))
        if self.form != "soft":
            return PrintedAlignment(pair.links(self.level), source_of)
        rows = [[f"{value:.6f}" for value in row] for row in normalized(pair.soft(self.level))]
        if self.indexed_rows:
            return PrintedAlignment([(target, ",".join(row)) for target, row in enumerate(rows)], source_of)
        return PrintedAlignment(rows, source_of)

    def _sources(self, pair: AlignedPair) -> list[int]:
        """For each printed target word the position of its source word in the printed source, tags in front counted."""
        sources = best_sources(pair.soft(self.printed_level))
        return [pair.source.front + max(0, source) for source in sources.tolist()]

    def _write(self, batch: Batch, pairs: list[AlignedPair], hypotheses: list[tuple[int, dict[str, Any]]]) -> None:
        assert self.dump is not None
        heads = self.aligner.by_head(batch) if self.dump.heads else [None] * len(pairs)
        for (number, hypo), pair, by_head in zip(hypotheses, pairs, heads, strict=True):
            self.dump.add(
                number,
                source_pieces=pair.source.pieces,
                target_pieces=pair.target.pieces,
                source=pair.source.by_word,
                target=pair.target.by_word,
                layers=pair.layers,
                heads=by_head,
                score=float(hypo["score"]),
            )


def _ids(sample: dict[str, Any]) -> list[int]:
    return sample["id"].tolist() if "id" in sample else list(range(len(sample["net_input"]["src_tokens"])))


def _encoder_input(sample: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sample["net_input"].items() if name != "prev_output_tokens"}
