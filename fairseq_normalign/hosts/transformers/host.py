"""transformers behind the host protocol: a model, or an ensemble, with its text."""

from __future__ import annotations

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
from ...text.words import places_of, space_words, words_at
from ..loading import faults_of
from ..options import ModelOptions
from ..protocol import Batch, Hypothesis, Pair, batch_of, padded
from .loading import library, load_model, load_tokenizer
from .model import TransformersModel
from .text import TokenizerLines, direction_of, inventory_of, joined_words, sentence_of


class TransformersModels:
    """One model or an ensemble with its text; see :class:`fairseq_normalign.hosts.protocol.LoadedModel`."""

    def __init__(
        self,
        models: Sequence[TransformersModel],
        tokenizers: Sequence[Any],
        options: ModelOptions,
        text: TextOptions,
        *,
        tags: str = TAGS,
    ) -> None:
        """``tokenizers``: that of the models, once for the source and once for the target."""
        self.models = list(models)
        config, generation = self.models[0].module.config, self.models[0].module.generation_config
        found = direction_of(
            tokenizers, config, generation, options.source_lang, options.target_lang, options.path.split(":")[0]
        )
        self.name = options.path
        self.languages = found.languages
        self._start = found.start
        if text.tokenizer is not None and text.words is None:
            text = replace(text, words="moses")
        finders = [text.finder(language) for language in self.languages]
        self._find = finders[1]  # None: spaces separate words
        given: dict[str, Any] = {"lowercase": text.lowercase, "tags": tags}
        self.source = TokenizerLines(found.source, words=finders[0], front=found.front, back=found.source.back, **given)
        self.target = TokenizerLines(found.target, words=finders[1], **given)
        end = config.eos_token_id  # a configuration may list several
        self._end = end[0] if isinstance(end, list | tuple) and end else end
        if not isinstance(self._end, int):
            raise NormalignError(
                "the configuration of the model does not say which piece ends a sentence (eos_token_id)"
            )
        self._pad = config.pad_token_id if config.pad_token_id is not None else self._end
        self._check_known([*self._start, self._end, self._pad], "decoder")

    def inventories(self) -> tuple[Inventory, Inventory]:
        """Return the pieces of the source and of the target side."""
        source, target = self.source.tokenizer, self.target.tokenizer
        return inventory_of(source.vocabulary, source.host), inventory_of(target.vocabulary, target.host)

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the model's device."""
        tokens, padding = self._sources([source for source, _ in pairs])
        self._check_known([index for _, line in pairs for index in line.indices], "decoder")
        inputs = {"input_ids": tokens, "attention_mask": (~padding).long()}
        way: dict[str, Any] = {"start": self._start, "end": self._end, "pad": self._pad}
        return batch_of(pairs, names, tokens, padding, encoder_input=inputs, **way)

    def _sources(self, lines: Sequence[Line]) -> tuple[torch.Tensor, torch.Tensor]:
        """Indices, padded on the right, and where they are padding: [B, S] each."""
        self._check_known([index for line in lines for index in line.indices], "encoder")
        tokens = padded([line.indices for line in lines], self._pad)
        lengths = torch.tensor([len(line) for line in lines])
        padding = torch.arange(tokens.size(1)) >= lengths.unsqueeze(1)
        return tokens.to(self.models[0].device), padding.to(self.models[0].device)

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
        tokens, padding = self._sources(sources)
        model, front = self.models[0], len(self._start)
        with faults_of(f"{self.name}: cannot translate"):
            rows = model.generate(
                input_ids=tokens,
                attention_mask=(~padding).long(),
                decoder_input_ids=torch.tensor([self._start] * len(sources), device=tokens.device),
                decoder_start_token_id=self._start[0],  # else the library puts its own in front
                num_beams=max(beam, nbest),
                num_return_sequences=nbest,
                do_sample=False,
                max_length=None,
                max_new_tokens=min(model.max_positions[1] - front, 2 * tokens.size(1) + 50),
                forced_bos_token_id=None,
                forced_eos_token_id=None,
            )[:, front:].tolist()
        ended = [row[: row.index(self._end)] if self._end in row else row for row in rows]
        targets = [self._translation([index for index in row if index != self._pad]) for row in ended]
        scores = self.scores([(sources[number // nbest], target) for number, target in enumerate(targets)])
        found = [Hypothesis(target, score) for target, score in zip(targets, scores, strict=True)]
        return [found[first : first + nbest] for first in range(0, len(found), nbest)]

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


def load(
    model: ModelOptions, text: TextOptions, *, tags: str = TAGS, forward: TransformersModels | None = None
) -> TransformersModels:
    """Load the folder(s) or hub name(s) that ``model`` names and make them read lines as ``text`` says.

    ``forward``: the same models in the other direction; they are not loaded again.
    """
    if text.bpe_codes or text.sentencepiece_model:
        raise NormalignError(f"{model.path}: a model of transformers has its own tokenizer; give no codes or models")
    paths = model.path.split(":")
    if forward is None:
        model.prepare()
        loaded = {
            path: TransformersModel(load_model(path, device=model.device, dtype=model.dtype)).checked(path)
            for path in dict.fromkeys(paths)
        }
        models = [loaded[path] for path in paths]
    else:
        models = forward.models
    tokenizers = [load_tokenizer(paths[0]) for _ in range(2)]
    with library(paths[0]):
        return TransformersModels(models, tokenizers, model, text, tags=tags)
