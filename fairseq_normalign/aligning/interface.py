"""The Python interface: ``fairseq_normalign.load(checkpoint).align("ein Haus", "a house")``."""

from __future__ import annotations

from collections.abc import Sequence
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

File = str | Path


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
    bpe_codes: File | tuple[File, File] | None = None,
    sentencepiece_model: File | tuple[File, File] | None = None,
    tokenizer: str | None = None,
    lowercase: bool = False,
    source_lang: str | None = None,
    target_lang: str | None = None,
    fixed_dictionary: File | None = None,
    lang_dict: File | None = None,
    lang_pairs: str | None = None,
    user_dir: File | Sequence[File] = (),
    method: str = "norms",
    layer: int | None = None,
    head: int | None = None,
    setting: str = DEFAULT_SETTING,
    null: str = "best",
) -> AlignmentModel:
    """Load any fairseq Transformer checkpoint (``a.pt:b.pt`` is an ensemble) with the dictionaries in ``data``.

    Sentences are then words separated by spaces; with neither ``bpe_codes`` nor ``sentencepiece_model`` they are taken
    to be in pieces already, each side as its dictionary marks them. Codes and models: one file for both sides, or the
    source's and the target's. ``tokenizer`` ('moses', or as fairseq's 'fairseq-moses') makes raw text into words.

    A multilingual checkpoint needs ``source_lang`` and ``target_lang``; ``fixed_dictionary``, ``lang_dict`` and
    ``lang_pairs`` replace what it says of its dictionary and languages, as fairseq's flags do. ``user_dir``: folders
    with the code of an architecture or task of somebody's own.

    >>> model = load("418M_last_checkpoint.pt", source_lang="de", target_lang="fr",
    ...     fixed_dictionary="model_dict.128k.txt", sentencepiece_model="spm.128k.model")  # doctest: +SKIP
    >>> model.align("Guten Morgen !", "Bonjour !").pharaoh()  # doctest: +SKIP
    '0-0 1-0 2-1'
    """
    _import(user_dir)
    if bpe_codes is not None and sentencepiece_model is not None:
        raise NormalignError("give bpe_codes or sentencepiece_model, not both")
    options = AlignmentOptions(method=method, layer=layer, head=head, setting=setting, null=null)
    text = TextOptions(
        bpe_codes=_files(bpe_codes),
        sentencepiece_models=_files(sentencepiece_model),
        tokenizer=tokenizer,
        lowercase=lowercase,
    )
    replaced = {"fixed_dictionary": fixed_dictionary, "lang_dict": lang_dict, "lang_pairs": lang_pairs}
    model = ModelOptions(
        str(checkpoint),
        None if data is None else str(data),
        source_lang,
        target_lang,
        task_options={name: str(value) for name, value in replaced.items() if value is not None},
    )
    return AlignmentModel(load_host(model, text, tags=options.tags), options)


def _files(given: File | tuple[File, File] | None) -> tuple[str, ...]:
    """None, one file, or one of each side."""
    return () if given is None else (str(given),) if isinstance(given, (str, Path)) else tuple(map(str, given))


def _import(user_dir: File | Sequence[File]) -> None:
    folders = _files(user_dir) if isinstance(user_dir, (str, Path)) else tuple(map(str, user_dir))
    if folders:
        from ..hosts.fairseq.register import import_user_dirs

        import_user_dirs(folders)


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
