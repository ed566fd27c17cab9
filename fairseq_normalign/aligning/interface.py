"""The Python interface: ``fairseq_normalign.load(checkpoint).align("ein Haus", "a house")``."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..alignment.decide import Link
from ..alignment.formats import pharaoh
from ..alignment.pieces import Sentence
from ..errors import NormalignError
from ..hosts.fairseq.loading import LoadedModels, load_models
from ..text.encoding import EncodedLine, LineEncoder
from ..text.subwords import AlreadyPieces, SentencePiece, Splitter, SubwordNmt
from ..text.vocabulary import Vocabulary, scheme_of_dictionary
from .aligner import AlignedPair, Aligner
from .options import DEFAULT_SETTING, AlignmentOptions
from .reader import Batch


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
        """The links as ``s-t`` pairs."""
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
    loaded = load_models(checkpoint, data=data, source_lang=source_lang, target_lang=target_lang)
    splitter: Splitter
    if bpe_codes is not None:
        splitter = SubwordNmt(bpe_codes)
    elif sentencepiece_model is not None:
        splitter = SentencePiece(sentencepiece_model)
    else:
        splitter = AlreadyPieces(scheme_of_dictionary(loaded.source_dictionary))
    return AlignmentModel(loaded, splitter, options)


class AlignmentModel:
    """A loaded Transformer that aligns given pairs and translates with alignments."""

    def __init__(self, loaded: LoadedModels, splitter: Splitter, options: AlignmentOptions) -> None:
        self.loaded = loaded
        dictionaries = (loaded.source_dictionary, loaded.target_dictionary)
        self._source, self._target = (
            LineEncoder(dictionary, splitter, tags=options.tags, end=is_source)
            for dictionary, is_source in zip(dictionaries, (True, False), strict=True)
        )
        source, target = (Vocabulary(dictionary, splitter.scheme, tags=options.tags) for dictionary in dictionaries)
        self.aligner = Aligner(loaded.models, source, target, options)

    def align(self, source: str, target: str) -> Alignment:
        """Align a given pair by forced decoding."""
        generator = self._generator(score_reference=True)
        line, forced = self._source(source), self._target(target)
        sample = self._sample(line)
        end = self.loaded.target_dictionary.eos()
        sample["target"] = torch.tensor([[*forced.indices, end]])
        sample["net_input"]["prev_output_tokens"] = torch.tensor([[end, *forced.indices]])
        hypothesis = generator.generate(self.loaded.models, sample)[0][0]
        return self._alignment(sample, line.sentence, forced, float(hypothesis["score"]))

    def translate(self, source: str, *, beam: int = 5, nbest: int = 1) -> list[Alignment]:
        """Translate by beam search; the best ``nbest`` translations with their alignments, the best first."""
        generator = self._generator(beam=max(beam, nbest))
        line = self._source(source)
        sample = self._sample(line)
        found = []
        for hypothesis in generator.generate(self.loaded.models, sample)[0][:nbest]:
            indices = hypothesis["tokens"][:-1].tolist()
            target = EncodedLine(indices, self.aligner.target.sentence(indices))
            found.append(self._alignment(sample, line.sentence, target, float(hypothesis["score"])))
        return found

    def _generator(self, **options: Any) -> Any:
        return self.loaded.task.build_generator(self.loaded.models, Namespace(**options))

    def _sample(self, line: EncodedLine) -> dict[str, Any]:
        return {"net_input": {"src_tokens": torch.tensor([line.indices]), "src_lengths": torch.tensor([len(line)])}}

    def _alignment(self, sample: dict[str, Any], source: Sentence, target: EncodedLine, score: float) -> Alignment:
        encoder_input = {name: sample["net_input"][name] for name in ("src_tokens", "src_lengths")}
        pieces = torch.tensor(target.indices, dtype=torch.long)
        batch = Batch(encoder_input, [pieces], [0], sentences=[(source, target.sentence)])
        pair: AlignedPair = next(self.aligner.align(batch, all_layers=True))
        return Alignment(
            source=pair.source.by_word.words,
            target=pair.target.by_word.words,
            links=pair.links(),
            layers=[pair.soft(layer=layer) for layer in range(len(pair.layers))],
            layer=pair.chosen,
            score=score,
        )
