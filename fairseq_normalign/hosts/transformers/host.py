"""transformers behind the host protocol: a model, or an ensemble, with its text."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...analysis.attention_batch import Inventory
from ...errors import NormalignError
from ...links.pieces import Span
from ...text.encoding import Line
from ...text.offsets import piece_ranges
from ...text.options import TextOptions
from ...text.subwords import MosesDetokenizer
from ...text.vocabulary import TAGS
from ...text.words import WordFinder, places_of, space_words, words_at
from ..options import ModelOptions
from ..protocol import Batch, Hypothesis, Pair, padded, rows_of
from .loading import library, load_model, load_tokenizer
from .model import TransformersModel
from .text import (
    Tokenizer,
    TokenizerLines,
    front_of_source,
    joined_words,
    languages_of,
    sentence_of,
    set_languages,
    start_of_target,
)

_LOADED: weakref.WeakValueDictionary[tuple, TransformersModel] = weakref.WeakValueDictionary()
"""Models that are in use: one checkpoint that serves both directions is in memory once."""


class TransformersModels:
    """One model or an ensemble with its text; see :class:`fairseq_normalign.hosts.protocol.LoadedModel`."""

    def __init__(
        self,
        models: Sequence[TransformersModel],
        source: TokenizerLines,
        target: TokenizerLines,
        *,
        languages: tuple[str | None, str | None] = (None, None),
        start: tuple[int, ...],
        words: WordFinder | None = None,
    ) -> None:
        """``start``: what the decoder is given first; ``words`` finds words in natural text (None: at spaces)."""
        self.models = list(models)
        self.source = source
        self.target = target
        self.languages = languages
        self._start = start
        self._find = words
        config = self.models[0].module.config
        self._end = _one(config.eos_token_id)
        self._pad = config.pad_token_id if config.pad_token_id is not None else self._end
        self._check_known([*start, self._end, self._pad], "decoder")

    def inventories(self) -> tuple[Inventory, Inventory]:
        """Return the pieces of the source and of the target side."""
        return _inventory(self.source.tokenizer), _inventory(self.target.tokenizer)

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the model's device."""
        ids, padding = self._padded([source for source, _ in pairs])
        self._check_known([index for _, line in pairs for index in line.indices], "decoder")
        return Batch(
            encoder_input={"input_ids": ids, "attention_mask": (~padding).long()},
            source_tokens=ids,
            source_padding=padding,
            targets=rows_of([line.indices for _, line in pairs]),
            rows=range(len(pairs)),
            start=self._start,
            end=self._end,
            pad=self._pad,
            names=names,
            sentences=[(line.sentence, other.sentence) for line, other in pairs],
        )

    def _padded(self, lines: Sequence[Line]) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices, padded on the right, and where they are padding: [B, S] each."""
        self._check_known([index for line in lines for index in line.indices], "encoder")
        lengths, device = torch.tensor([len(line) for line in lines]), self.models[0].device
        ids = padded([line.indices for line in lines], self._pad)
        return ids.to(device), (torch.arange(ids.size(1)) >= lengths.unsqueeze(1)).to(device)

    def _check_known(self, indices: Sequence[int], side: str) -> None:
        """Refuse indices that the models have no embedding for: the tokenizer or configuration is of another model."""
        known = min(model.embeddings(side) for model in self.models)
        wrong = [index for index in indices if not 0 <= index < known]
        if wrong:
            raise NormalignError(
                f"the tokenizer or the configuration has the piece {wrong[0]}, the {side} of the model has {known} "
                "pieces; do they belong together?"
            )

    def translate(self, lines: Sequence[str], *, beam: int = 5, nbest: int = 1) -> list[list[Hypothesis]]:
        """Translate lines by beam search: the best ``nbest`` translations of each line, the best first."""
        if len(self.models) > 1:
            raise NormalignError("an ensemble of transformers' models cannot translate; give a single model")
        sources = [self.source(line) for line in lines]
        found = self._generate(sources, max(beam, nbest), nbest)
        targets = [[self._translation(row) for row in rows] for rows in found]
        pairs = [(source, target) for source, beams in zip(sources, targets, strict=True) for target in beams]
        scores = iter(self.scores(pairs))
        return [[Hypothesis(target, next(scores)) for target in beams] for beams in targets]

    def _generate(self, sources: Sequence[Line], beam: int, nbest: int) -> list[list[list[int]]]:
        """The indices of the translations of each source, without start and end."""
        ids, padding = self._padded(sources)
        model, front = self.models[0], len(self._start)
        room = model.max_positions[1] - front
        rows = model.generate(
            input_ids=ids,
            attention_mask=(~padding).long(),
            decoder_input_ids=torch.tensor([self._start] * len(sources), device=ids.device),
            decoder_start_token_id=self._start[0],  # else the library puts its own in front
            num_beams=beam,
            num_return_sequences=nbest,
            do_sample=False,
            max_length=None,
            max_new_tokens=min(room, 2 * ids.size(1) + 50),
            forced_bos_token_id=None,
            forced_eos_token_id=None,
        )[:, front:].tolist()
        ended = [row[: row.index(self._end)] if self._end in row else row for row in rows]
        bare = [[index for index in row if index != self._pad] for row in ended]
        return [bare[first : first + nbest] for first in range(0, len(bare), nbest)]

    def _translation(self, indices: list[int]) -> Line:
        """Indices that the model put out, with the words they make up."""
        tokenizer = self.target.tokenizer
        pieces = tokenizer.pieces_of(indices)
        if tokenizer.marks_ends and self._find is None:
            text = "".join(piece.replace("</w>", " ") for piece in pieces).strip()
        else:
            text = tokenizer.host.decode(indices, skip_special_tokens=True)
        spans = tokenizer.spans(text, pieces)
        if self._find is None:
            places, ranges = joined_words(space_words(text), spans)
        else:
            ranges = piece_ranges(self._find(text), spans)
            places = self._find(text) if ranges else []
        words = words_at(text, places)
        return Line(indices, sentence_of([], words, pieces, ranges, []), text, tuple(places))

    def natural(self, line: Line) -> tuple[str, Sequence[Span]]:
        """Return the text of a translation as people write it, and the places of its words."""
        if not (self.target.tokenizer.marks_ends and self._find is None):
            return line.text, line.places
        text = MosesDetokenizer((self.languages[1] or "en")[:2])(line.given_words)
        return text, places_of(text, line.given_words)

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the mean log-probability of each target, its end included, given its source."""
        batch = self.batch(pairs)
        total = torch.zeros(len(pairs), dtype=torch.float64)
        for model in self.models:
            with model.view(batch) as view:
                steps = view.log_probs(view.features(view.source_embeddings))[:, batch.first_step :].double().cpu()
            real = torch.arange(steps.size(1)) < batch.steps.unsqueeze(1)
            total += steps.masked_fill(~real, 0).sum(1) / batch.steps
        return (total / len(self.models)).tolist()


def _inventory(tokenizer: Tokenizer) -> Inventory:
    special = frozenset(tokenizer.host.all_special_ids) - {tokenizer.unknown}
    return Inventory(tokenizer.symbols(), special)


def _one(index: object) -> int:
    """The end of a sentence; a configuration may list several."""
    found = index[0] if isinstance(index, list | tuple) and index else index
    if not isinstance(found, int):
        raise NormalignError("the configuration of the model does not say which piece ends a sentence (eos_token_id)")
    return found


def load(model: ModelOptions, text: TextOptions, *, tags: str = TAGS) -> TransformersModels:
    """Load the folder(s) or hub name(s) that ``model`` names and make them read lines as ``text`` says."""
    if text.bpe_codes or text.sentencepiece_model:
        raise NormalignError(f"{model.path}: a model of transformers has its own tokenizer; give no codes or models")
    paths = model.path.split(":")
    models = [_model(path, model) for path in paths]
    with library(paths[0]):
        return with_text(models, [load_tokenizer(paths[0]) for _ in range(2)], model, text, tags)


def with_text(
    models: Sequence[TransformersModel], sides: Sequence[Any], model: ModelOptions, text: TextOptions, tags: str
) -> TransformersModels:
    """Return models that read lines by the tokenizers of both ``sides``; ``model`` names the languages."""
    config, path = models[0].module.config, model.path.split(":")[0]
    languages = languages_of(sides[0], config, model.source_lang, model.target_lang, path)
    codes, _ = (set_languages(side, *languages, path) for side in sides)
    source, target = Tokenizer(sides[0]), Tokenizer(sides[1], target=True)
    front = [] if codes else front_of_source(source, config, *languages, path)
    finders = [_finder(text, language) for language in languages]
    options: dict[str, Any] = {"lowercase": text.lowercase, "tags": tags}
    code = codes[str(languages[1])] if codes else None
    return TransformersModels(
        models,
        TokenizerLines(
            source, words=finders[0], front=[*source.specials.front, *front], back=source.specials.back, **options
        ),
        TokenizerLines(target, words=finders[1], **options),
        languages=languages,
        start=start_of_target(config, models[0].module.generation_config, target, code, codes),
        words=finders[1],
    )


def _model(path: str, options: ModelOptions) -> TransformersModel:
    key = path, options.device, options.precision
    model = _LOADED.get(key)
    if model is None:
        options.prepare()
        model = TransformersModel(load_model(path, device=options.device, dtype=options.dtype)).checked(path)
        _LOADED[key] = model
    return model


def _finder(text: TextOptions, language: str | None) -> WordFinder | None:
    """What finds the words of natural text; None where words are given, separated by spaces."""
    moses = replace(text, words="moses") if text.tokenizer is not None and text.words is None else text
    return moses.finder(language)
