"""fairseq behind the host protocol: its models as they are read, and with their text."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor

from ...analysis.attention_batch import Inventory
from ...errors import NormalignError
from ...links.pieces import Span
from ...text.encoding import Line, LineEncoder, line_of_pieces
from ...text.options import TextOptions
from ...text.subwords import AlreadyPieces, MosesDetokenizer, MosesTokenizer
from ...text.vocabulary import TAGS, Vocabulary, scheme_of_dictionary
from ...text.words import places_of
from ..options import ModelOptions
from ..protocol import Batch, Hypothesis, Pair, padded, rows_of
from ..reading import evaluating
from .loading import LoadedModels, dictionary_inventory, load_models
from .model import FairseqModel, teacher_forcing


def encode_batch(
    pairs: Sequence[Pair], names: Sequence[str], task: Any, start: tuple[int, ...], device: torch.device | str
) -> Batch:
    """Return encoded pairs as a batch; ``task`` has the dictionaries, ``start`` is what the decoder is given first."""
    source, target = task.source_dictionary, task.target_dictionary
    tokens = padded([line.indices for line, _ in pairs], source.pad()).to(device)
    lengths = torch.tensor([len(line) for line, _ in pairs], device=device)
    return Batch(
        encoder_input={"src_tokens": tokens, "src_lengths": lengths},
        source_tokens=tokens,
        source_padding=tokens.eq(source.pad()),
        targets=rows_of([line.indices for _, line in pairs]),
        rows=range(len(pairs)),
        start=start,
        end=task.frame().target_end[0],
        pad=target.pad(),
        names=names,
        sentences=[(line.sentence, other.sentence) for line, other in pairs],
    )


class TaskBatches:
    """Makes batches for the models of a task, which holds their dictionaries."""

    def __init__(self, task: Any, models: Sequence[Any], *, tags_in_lines: bool = False) -> None:
        """``tags_in_lines``: language tags are among the pieces of the target already, as in fairseq's datasets."""
        self.task = task
        self.models = list(models)
        start: tuple[int, ...] = task.frame().target_start
        self._start = start[:1] if tags_in_lines else start

    @property
    def device(self) -> torch.device:
        """Where the models compute."""
        return next(self.models[0].module.parameters()).device

    def batch(self, pairs: Sequence[Pair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the models' device."""
        return encode_batch(pairs, names, self.task, self._start, self.device)


class FairseqModels(TaskBatches):
    """One model or an ensemble with its text; see :class:`fairseq_normalign.hosts.protocol.LoadedModel`."""

    def __init__(
        self,
        models: Sequence[FairseqModel],
        task: Any,
        source: LineEncoder,
        target: LineEncoder,
        target_words: Vocabulary,
        *,
        written: Mapping[str, Any] | None = None,
        put_together: Callable[[Sequence[str]], str] | None = None,
    ) -> None:
        """``target_words`` makes the indices of a translation into words.

        ``written``: how its text is written, as :func:`~fairseq_normalign.text.encoding.line_of_pieces` takes it;
        ``put_together`` makes natural text of its words.
        """
        super().__init__(task, models)
        self.source = source
        self.target = target
        self.target_words = target_words
        self._written = dict(written or {})
        self._put_together = put_together

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
        text = self._put_together(line.given_words) if self._put_together else " ".join(line.given_words)
        return (line.text, line.places) if self._written.get("find") else (text, places_of(text, line.given_words))

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the mean log-probability of each target, its end included, given its source."""
        sample = self._sample([source for source, _ in pairs])
        frame, pad = self.task.frame(), self.task.target_dictionary.pad()
        whole = [[*frame.target_start, *target.indices, *frame.target_end] for _, target in pairs]
        sample["target"] = _padded([line[1:] for line in whole], pad).to(self.device)
        sample["net_input"]["prev_output_tokens"] = _padded([line[:-1] for line in whole], pad).to(self.device)
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
        pad = self.task.source_dictionary.pad()
        tokens = _padded([line.indices for line in lines], pad, left=True).to(self.device)
        lengths = torch.tensor([len(line) for line in lines], device=self.device)
        return {"net_input": {"src_tokens": tokens, "src_lengths": lengths}}

    def _hypothesis(self, found: dict[str, Any]) -> Hypothesis:
        indices = self.task.frame().pieces(found["tokens"].tolist())
        line = line_of_pieces(indices, self.target_words.sentence(indices), self.target_words.scheme, **self._written)
        return Hypothesis(line, float(found["score"]))


def _padded(rows: Sequence[Sequence[int]], pad: int, *, left: bool = False) -> Tensor:
    """N sequences of indices -> [N, longest], padded on the right or on the left."""
    from fairseq.data.data_utils import collate_tokens

    return collate_tokens([torch.tensor(row, dtype=torch.long) for row in rows], pad, left_pad=left)


def load(model: ModelOptions, text: TextOptions, *, tags: str = TAGS) -> FairseqModels:
    """Load the checkpoint(s) that ``model`` names and make them read lines as ``text`` says."""
    languages = {"source_lang": model.source_lang, "target_lang": model.target_lang}
    loaded = load_models(model.path, data=model.data, options=model.task_options, **languages)
    for module in loaded.models:
        FairseqModel(module).checked(model.path)
        model.place(module)
    return with_text(loaded, text, tags=tags)


def load_reversed(model: ModelOptions, text: TextOptions, forward: FairseqModels, *, tags: str = TAGS) -> FairseqModels:
    """The other direction of a multilingual model, which is loaded again only where its directions share nothing."""
    task = forward.task
    if not task.is_multilingual:
        raise NormalignError(
            f"{model.path}: translates {'-'.join(task.languages)} only; the other direction needs a model of its own"
        )
    if not task.serves_every_direction:
        return load(model, text, tags=tags)
    shared = with_text(LoadedModels([one.module for one in forward.models], task.reversed()), text, tags=tags)
    shared.models = list(forward.models)
    return shared


def with_text(loaded: LoadedModels, text: TextOptions, *, tags: str = TAGS) -> FairseqModels:
    """Give loaded models their text: tokenization, pieces and dictionaries of both sides."""
    task, languages = loaded.task, loaded.task.languages
    dictionaries = task.source_dictionary, task.target_dictionary
    splitters = text.splitters([scheme_of_dictionary(dictionary) for dictionary in dictionaries])
    frame = task.frame()
    around = (frame.source_front, frame.source_end), ((), ())  # the target's are given to the decoder, not to the text
    source, target = (
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
        for dictionary, splitter, language, (front, end) in zip(dictionaries, splitters, languages, around, strict=True)
    )
    words = Vocabulary(dictionaries[1], splitters[1].scheme, tags=tags, ignored=frame.target)
    models = [FairseqModel(module, tags=len(frame.target_start) - 1) for module in loaded.models]
    find = text.finder(languages[1])
    written: dict[str, Any] = {"find": find, "in_pieces": isinstance(splitters[1], AlreadyPieces)}
    put_together = MosesDetokenizer((languages[1] or "en")[:2]) if text.tokenizer is not None else None
    if find is not None and put_together is not None:
        written["text_of"] = put_together
    return FairseqModels(models, loaded.task, source, target, words, written=written, put_together=put_together)
