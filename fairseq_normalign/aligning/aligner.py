"""Models and options in, aligned sentence pairs out: the one way that serves fairseq's commands and ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor, nn

from ..alignment.decide import Link, argmax_links
from ..alignment.merge_batch import BatchOfWords, to_words_of_batch
from ..alignment.pieces import Sentence
from ..alignment.steps_to_words import to_words
from ..text.vocabulary import Vocabulary
from .options import AlignmentOptions
from .reader import Batch, soft_alignments
from .self_check import check_parts


@dataclass(frozen=True)
class AlignedPair:
    """A sentence pair and what its layers say of it."""

    source: Sentence
    target: Sentence
    layers: np.ndarray
    """[layers read, T + 1 decoder steps, S source positions], as the method gave them."""
    chosen: int
    """Which of the layers read decides."""
    options: AlignmentOptions

    def soft(self, level: str = "word", layer: int | None = None) -> np.ndarray:
        """[target, source] at the level 'word' or 'piece', of the chosen layer or of another one that was read."""
        return self._view(level, layer)[0]

    def links(self, level: str = "word", layer: int | None = None, null: str | None = None) -> list[Link]:
        """The links of the chosen layer, or of another one that was read."""
        soft, nothing = self._view(level, layer)
        return argmax_links(soft, null=nothing, policy=null or self.options.null)

    def _view(self, level: str, layer: int | None) -> tuple[np.ndarray, np.ndarray]:
        steps = self.layers[self.chosen if layer is None else layer]
        return to_words(steps, self.target.at(level), self.source.at(level), self.options.setting)


class Aligner:
    """Aligns batches with one model or an ensemble."""

    def __init__(
        self, models: Sequence[nn.Module], source: Vocabulary, target: Vocabulary, options: AlignmentOptions
    ) -> None:
        self.models = list(models)
        self.source = source
        self.target = target
        self.options = options
        self.layer = options.layer_of(self.models[0])

    def read_at(self, layer: int, setting: str) -> None:
        """From now on read this 0-based layer in this setting."""
        self.options = replace(self.options, layer=layer + 1, setting=setting)
        self.layer = self.options.layer_of(self.models[0])

    def align(self, batch: Batch, *, all_layers: bool = False) -> Iterator[AlignedPair]:
        """Align the targets of a batch, in their order; with ``all_layers`` the decoder runs to its top."""
        for pair, layers in self._read(batch, None if all_layers else [self.layer]):
            yield AlignedPair(*pair, layers, self.layer if all_layers else 0, self.options)

    def words(self, batch: Batch, level: str = "word") -> BatchOfWords:
        """The soft alignments of a whole batch at the level 'word' or 'piece': what :meth:`align` gives, quicker."""
        return self.words_of(list(self.align(batch)), level)

    def words_of(self, pairs: Sequence[AlignedPair], level: str = "word") -> BatchOfWords:
        """The soft alignments of the layers that decide, of many pairs at once."""
        return to_words_of_batch(
            [pair.layers[pair.chosen] for pair in pairs],
            [pair.target.at(level) for pair in pairs],
            [pair.source.at(level) for pair in pairs],
            self.options.setting,
        )

    def by_head(self, batch: Batch) -> list[np.ndarray]:
        """Every head of every layer: [layers, H, T + 1, S] for each target of the batch."""
        return self._soft(batch, None, by_head=True)

    def _read(
        self, batch: Batch, layers: Sequence[int] | None
    ) -> Iterator[tuple[tuple[Sentence, Sentence], np.ndarray]]:
        return zip(self._sentences(batch), self._soft(batch, layers), strict=True)

    def _sentences(self, batch: Batch) -> Iterator[tuple[Sentence, Sentence]]:
        if batch.sentences:
            yield from batch.sentences
            return
        sources = _unpadded(batch.encoder_input["src_tokens"], self.source.dictionary.pad())
        for target, row in zip(batch.targets, batch.rows, strict=True):
            yield self.source.sentence(sources[row]), self.target.sentence(target.tolist())

    def _soft(self, batch: Batch, layers: Sequence[int] | None, *, by_head: bool = False) -> list[np.ndarray]:
        head = None if self.options.head is None or by_head else self.options.head - 1
        dictionary = self.target.dictionary
        if self.options.check:
            check_parts(self.models, batch, start=dictionary.eos(), pad=dictionary.pad())
        return soft_alignments(
            self.models,
            batch,
            self.options.method,
            layers,
            start=dictionary.eos(),
            pad=dictionary.pad(),
            head=head,
            by_head=by_head,
        )


def _unpadded(tokens: Tensor, pad: int) -> list[list[int]]:
    """[B, S] -> B lists without padding, on whichever side it is."""
    return [[token for token in row if token != pad] for row in tokens.tolist()]
