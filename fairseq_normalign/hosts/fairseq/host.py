"""fairseq behind the host protocol: its models as they are read, and with their text."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch

from ...analysis.attention_batch import Inventory
from ...errors import NormalignError
from ...links.pieces import Span
from ...text.encoding import Line, LineEncoder, line_of_pieces
from ...text.options import TextOptions
from ...text.subwords import AlreadyPieces, MosesDetokenizer, MosesTokenizer
from ...text.vocabulary import TAGS, Vocabulary, scheme_of_dictionary
from ...text.words import places_of
from ..options import ModelOptions
from ..protocol import Batch, Hypothesis, Pair, batch_of, padded
from ..reading import evaluating
from .loading import dictionary_inventory, load_models
from .model import FairseqModel, teacher_forcing


class TaskBatches:
    """Makes batches for the models of a task, which holds their dictionaries."""

    def __init__(self, task: Any, models: Sequence[FairseqModel], *, tags_in_lines: bool = False) -> None:
        """``tags_in_lines``: language tags are among the pieces of the target already, as in fairseq's datasets."""
        self.task = task
        self.models = list(models)
        start: tuple[int, ...] = task.frame().target_start
        self._start = start[:1] if tags_in_lines else start

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the models' device."""
        pad, device = self.task.source_dictionary.pad(), self.models[0].device
        tokens = padded([line.indices for line, _ in pairs], pad).to(device)
        return batch_of(
            pairs,
            names,
            tokens,
            tokens.eq(pad),
            encoder_input={
                "src_tokens": tokens,
                "src_lengths": torch.tensor([len(line) for line, _ in pairs], device=device),
            },
            start=self._start,
            end=self.task.frame().target_end[0],
            pad=self.task.target_dictionary.pad(),
        )


class FairseqModels(TaskBatches):
    """One model or an ensemble with its text; see :class:`fairseq_normalign.hosts.protocol.LoadedModel`."""

    def __init__(self, models: Sequence[FairseqModel], task: Any, text: TextOptions, *, tags: str = TAGS) -> None:
        """``text``: how lines become words and pieces; ``tags``: the pieces that are language tags."""
        super().__init__(task, models)
        frame, languages = task.frame(), task.languages
        dictionaries = task.source_dictionary, task.target_dictionary
        splitters = text.splitters([scheme_of_dictionary(dictionary) for dictionary in dictionaries])
        # what stands around the target is given to the decoder, not to the text
        around = (frame.source_front, frame.source_end), ((), ())
        self.source, self.target = (
            LineEncoder(
                dictionary,
                splitter,
                tokenizer=MosesTokenizer(language, text.tokenizer) if text.tokenizer else None,
                words=text.finder(language),
                lowercase=text.lowercase,
                front=front,
                end=end,
                tags=tags,
            )
            for dictionary, splitter, language, (front, end) in zip(
                dictionaries, splitters, languages, around, strict=True
            )
        )
        self._vocabulary = Vocabulary(dictionaries[1], splitters[1].scheme, tags=tags, ignored=frame.target)
        self._find = text.finder(languages[1])
        self._in_pieces = isinstance(splitters[1], AlreadyPieces)
        self._put_together = MosesDetokenizer((languages[1] or "en")[:2]) if text.tokenizer is not None else " ".join

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The source and the target language."""
        return self.task.languages

    def inventories(self) -> tuple[Inventory, Inventory]:
        """Return the pieces of the source and of the target dictionary."""
        return dictionary_inventory(self.task.source_dictionary), dictionary_inventory(self.task.target_dictionary)

    def translate(self, lines: Sequence[str], *, beam: int = 5, nbest: int = 1) -> list[list[Hypothesis]]:
        """Translate lines by beam search: the best ``nbest`` translations of each line, the best first."""
        found = self._generate(self._sample([self.source(line) for line in lines]), beam=max(beam, nbest))
        return [[self._hypothesis(hypothesis) for hypothesis in beams[:nbest]] for beams in found]

    def natural(self, line: Line) -> tuple[str, Sequence[Span]]:
        """Return the text of a translation as people write it, and the places of its words."""
        if self._find is not None:
            return line.text, line.places
        text = self._put_together(line.given_words)
        return text, places_of(text, line.given_words)

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the mean log-probability of each target, its end included, given its source."""
        sample = self._sample([source for source, _ in pairs])
        frame, pad = self.task.frame(), self.task.target_dictionary.pad()
        whole = [[*frame.target_start, *target.indices, *frame.target_end] for _, target in pairs]
        device = self.models[0].device
        sample["target"] = padded([line[1:] for line in whole], pad).to(device)
        sample["net_input"]["prev_output_tokens"] = padded([line[:-1] for line in whole], pad).to(device)
        return [float(beams[0]["score"]) for beams in self._generate(sample, score_reference=True)]

    def _generate(self, sample: dict[str, Any], **options: Any) -> list[list[dict[str, Any]]]:
        modules = [model.module for model in self.models]
        with self.models[0].turns, ExitStack() as stack:
            for module in modules:
                stack.enter_context(evaluating(module))
            generator = self.task.build_generator(modules, Namespace(**options))
            if options.get("score_reference"):  # no beam may be left over from a search
                for module in modules:
                    stack.enter_context(teacher_forcing(module))
            return self.task.inference_step(generator, modules, sample)

    def _sample(self, lines: Sequence[Line]) -> dict[str, Any]:
        device = self.models[0].device
        tokens = padded([line.indices for line in lines], self.task.source_dictionary.pad(), left=True)
        lengths = torch.tensor([len(line) for line in lines])
        return {"net_input": {"src_tokens": tokens.to(device), "src_lengths": lengths.to(device)}}

    def _hypothesis(self, found: dict[str, Any]) -> Hypothesis:
        indices = self.task.frame().pieces(found["tokens"].tolist())
        line = line_of_pieces(
            indices,
            self._vocabulary.sentence(indices),
            self._vocabulary.scheme,
            find=self._find,
            text_of=self._put_together if self._find is not None else " ".join,
            in_pieces=self._in_pieces,
        )
        return Hypothesis(line, float(found["score"]))


def load(
    model: ModelOptions, text: TextOptions, *, tags: str = TAGS, forward: FairseqModels | None = None
) -> FairseqModels:
    """Load the checkpoint(s) that ``model`` names and make them read lines as ``text`` says.

    ``forward``: the same multilingual model in the other direction; it is loaded again only where the directions share
    nothing.
    """
    if forward is not None:
        if not forward.task.is_multilingual:
            raise NormalignError(
                f"{model.path}: translates {'-'.join(forward.task.languages)} only; "
                "the other direction needs a model of its own"
            )
        if forward.task.serves_every_direction:
            return FairseqModels(forward.models, forward.task.reversed(), text, tags=tags)
    languages = {"source_lang": model.source_lang, "target_lang": model.target_lang}
    loaded = load_models(model.path, data=model.data, options=model.task_options, **languages)
    front = len(loaded.task.frame().target_start) - 1
    models = [FairseqModel(module, tags=front).checked(model.path) for module in loaded.models]
    for one in models:
        model.place(one.module)
    return FairseqModels(models, loaded.task, text, tags=tags)
