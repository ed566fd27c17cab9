"""The Python interface: ``fairseq_normalign.load(checkpoint).align("ein Haus", "a house")``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..alignment.decide import Link
from ..alignment.formats import pharaoh
from ..errors import NormalignError
from ..hosts import load_host
from ..hosts.options import ModelOptions
from ..hosts.protocol import EncodedPair, LoadedModel
from ..text.options import TextOptions
from .aligner import Aligner
from .options import DEFAULT_SETTING, AlignmentOptions


@dataclass(frozen=True)
class Alignment:
    """A sentence pair in words, its links, and what every layer says."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: list[Link]
    """(source, target), 0-based words."""
    layers: list[np.ndarray]
    """The soft alignment [target words, source words] of every decoder layer, the bottom first."""
    layer: int
    """The 0-based layer that decided the links."""
    score: float
    """Mean log-probability of the target's pieces, natural logarithm."""

    @property
    def soft(self) -> np.ndarray:
        """The soft alignment [target words, source words] that decided the links."""
        return self.layers[self.layer]

    def pharaoh(self) -> str:
        """Return the links as ``s-t`` pairs."""
        return pharaoh(self.links)


def load(
    checkpoint: str | Path,
    *,
    data: str | Path | None = None,
    bpe_codes: str | Path | None = None,
    sentencepiece_model: str | Path | None = None,
    source_lang: str | None = None,
    target_lang: str | None = None,
    method: str = "norms",
    layer: int | None = None,
    head: int | None = None,
    setting: str = DEFAULT_SETTING,
    null: str = "best",
) -> AlignmentModel:
    """Load any fairseq Transformer checkpoint (``a.pt:b.pt`` is an ensemble) with the dictionaries in ``data``.

    Sentences are then words separated by spaces; with neither ``bpe_codes`` nor ``sentencepiece_model`` they are taken
    to be in pieces already.
    """
    if bpe_codes is not None and sentencepiece_model is not None:
        raise NormalignError("give bpe_codes or sentencepiece_model, not both")
    options = AlignmentOptions(method=method, layer=layer, head=head, setting=setting, null=null)
    text = TextOptions(
        bpe_codes=() if bpe_codes is None else (str(bpe_codes),),
        sentencepiece_models=() if sentencepiece_model is None else (str(sentencepiece_model),),
    )
    model = ModelOptions(str(checkpoint), None if data is None else str(data), source_lang, target_lang)
    return AlignmentModel(load_host(model, text, tags=options.tags), options)


class AlignmentModel:
    """A loaded Transformer that aligns given pairs and translates with alignments."""

    def __init__(self, host: LoadedModel, options: AlignmentOptions) -> None:
        self.host = host
        self.aligner = Aligner(host.models, options)

    def align(self, source: str, target: str) -> Alignment:
        """Align a given pair by forced decoding."""
        pair = self.host.source(source), self.host.target(target)
        return self._alignment(pair, self.host.scores([pair])[0])

    def translate(self, source: str, *, beam: int = 5, nbest: int = 1) -> list[Alignment]:
        """Translate by beam search; the best ``nbest`` translations with their alignments, the best first."""
        line = self.host.source(source)
        (found,) = self.host.translate([source], beam=beam, nbest=nbest)
        return [self._alignment((line, hypothesis.target), hypothesis.score) for hypothesis in found]

    def _alignment(self, encoded: EncodedPair, score: float) -> Alignment:
        pair = next(self.aligner.align(self.host.batch([encoded]), every_layer=True))
        return Alignment(
            source=pair.source.by_word.words,
            target=pair.target.by_word.words,
            links=pair.links(),
            layers=[pair.soft(layer=layer) for layer in range(len(pair.layers))],
            layer=pair.reading.layer,
            score=score,
        )
