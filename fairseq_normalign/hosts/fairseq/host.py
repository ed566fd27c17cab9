"""fairseq behind the host protocol: its models as they are read, and with their text."""

from __future__ import annotations

import threading
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ...analysis.attention_batch import Inventory
from ...analysis.singular_values import Projections
from ...text.encoding import EncodedLine, LineEncoder
from ...text.options import TextOptions
from ...text.subwords import MosesTokenizer
from ...text.tags import TAGS
from ...text.vocabulary import Vocabulary, scheme_of_dictionary
from ..options import ModelOptions
from ..protocol import Batch, EncodedPair, Hypothesis, Take
from .dictionaries import dictionary_inventory
from .loading import LoadedModels, load_models
from .recording import (
    attention_layers,
    decoder_layers,
    projections_of,
    run_decoder,
    run_recorded,
    teacher_forcing,
)
from .whole_model import ForcedView, forced_view


class FairseqModel:
    """One Transformer of fairseq's; see :class:`fairseq_normalign.hosts.protocol.HostModel`."""

    def __init__(self, module: nn.Module) -> None:
        """``module``: any autoregressive encoder-decoder Transformer; another model is a clear error."""
        self.module: Any = module
        self._layers = len(decoder_layers(module))
        self._turns = threading.RLock()  # hooks stand on the module: two threads would see each other's tensors

    @property
    def name(self) -> str:
        """The name of the model's class."""
        return type(self.module).__name__

    @property
    def layers(self) -> int:
        """How many decoder layers it has."""
        return self._layers

    def count(self, kind: str = "cross") -> int:
        """Return how many layers have the attention of ``kind``."""
        return len(attention_layers(self.module, kind))

    def projections(self, kind: str) -> list[Projections]:
        """Return the parameters of the transformation f of every layer of ``kind``."""
        name = "encoder_attn" if kind == "cross" else "self_attn"
        return [projections_of(getattr(layer, name)) for layer in attention_layers(self.module, kind)]

    @property
    def max_positions(self) -> tuple[int, int]:
        """How many source and target positions it has."""
        source, target = self.module.max_positions()
        return source, target

    @property
    def precision(self) -> torch.dtype:
        """The type of its parameters."""
        return next(self.module.parameters()).dtype

    def read_layers(
        self,
        batch: Batch,
        layers: Sequence[int],
        take: Take,
        *,
        kind: str = "cross",
        blocks: bool = False,
        outputs: bool = False,
        encoded: Any = None,
    ) -> None:
        """Run one forced pass and hand out the records of ``layers``, as the protocol says."""

        def run() -> None:
            encoder_out = self._encoder_out(batch, encoded)
            if kind != "encoder":
                run_decoder(self.module, batch.decoder_input().to(batch.source_padding.device), encoder_out)

        with self._turns, teacher_forcing(self.module):
            run_recorded(self.module, run, layers, take, kind=kind, blocks=blocks, outputs=outputs)

    def _encoder_out(self, batch: Batch, encoded: Any) -> Any:
        """One row per target; rows are repeated or left out only where they are not those of the sources."""
        encoder_out = encoded if encoded is not None else self.module.encoder(**batch.encoder_input)
        device = batch.source_padding.device
        rows = torch.as_tensor(list(batch.rows), device=device)
        if torch.equal(rows, torch.arange(batch.source_padding.size(0), device=device)):
            return encoder_out
        return self.module.encoder.reorder_encoder_out(encoder_out, rows)

    @contextmanager
    def view(self, batch: Batch) -> Iterator[ForcedView]:
        """Return the whole model with the targets forced."""
        with self._turns, forced_view(self.module, batch) as view:
            yield view


def encode_batch(
    pairs: Sequence[EncodedPair], names: Sequence[str], source: Any, target: Any, device: torch.device | str
) -> Batch:
    """Return encoded pairs as a batch; ``source`` and ``target`` are fairseq's dictionaries."""
    lengths = torch.tensor([len(line) for line, _ in pairs])
    tokens = torch.full((len(pairs), int(lengths.max())), source.pad())
    for row, (line, _) in enumerate(pairs):
        tokens[row, : len(line)] = torch.tensor(line.indices)
    tokens = tokens.to(device)
    return Batch(
        encoder_input={"src_tokens": tokens, "src_lengths": lengths.to(device)},
        source_tokens=tokens,
        source_padding=tokens.eq(source.pad()),
        targets=[torch.tensor(line.indices, dtype=torch.long) for _, line in pairs],
        rows=range(len(pairs)),
        start=(target.eos(),),
        end=target.eos(),
        pad=target.pad(),
        names=names,
        sentences=[(line.sentence, other.sentence) for line, other in pairs],
    )


class TaskBatches:
    """Makes batches for the models of a task, which holds their dictionaries."""

    def __init__(self, task: Any, models: Sequence[Any]) -> None:
        self.task = task
        self.models = list(models)

    @property
    def device(self) -> torch.device:
        """Where the models compute."""
        return next(self.models[0].module.parameters()).device

    def batch(self, pairs: Sequence[EncodedPair], names: Sequence[str] = ()) -> Batch:
        """Return encoded pairs as one batch, on the models' device."""
        return encode_batch(pairs, names, self.task.source_dictionary, self.task.target_dictionary, self.device)


class FairseqModels(TaskBatches):
    """One model or an ensemble with its text; see :class:`fairseq_normalign.hosts.protocol.LoadedModel`."""

    def __init__(
        self,
        models: Sequence[FairseqModel],
        task: Any,
        source: LineEncoder,
        target: LineEncoder,
        target_words: Vocabulary,
    ) -> None:
        """``target_words`` makes the indices of a translation into words."""
        super().__init__(task, models)
        self.source = source
        self.target = target
        self.target_words = target_words

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """The source and the target language."""
        return self.task.cfg.source_lang, self.task.cfg.target_lang

    def inventories(self) -> tuple[Inventory, Inventory]:
        """Return the pieces of the source and of the target dictionary."""
        return dictionary_inventory(self.task.source_dictionary), dictionary_inventory(self.task.target_dictionary)

    def translate(self, lines: Sequence[str], *, beam: int = 5, nbest: int = 1) -> list[list[Hypothesis]]:
        """Translate lines by beam search: the best ``nbest`` translations of each line, the best first."""
        found = self._generate(self._sample([self.source(line) for line in lines]), beam=max(beam, nbest))
        return [[self._hypothesis(hypothesis) for hypothesis in beams[:nbest]] for beams in found]

    def scores(self, pairs: Sequence[EncodedPair]) -> list[float]:
        """Return the mean log-probability of each target, its end included, given its source."""
        sample = self._sample([source for source, _ in pairs])
        batch = self.batch(pairs)
        sample["target"] = batch.decoder_output().to(self.device)
        sample["net_input"]["prev_output_tokens"] = batch.decoder_input().to(self.device)
        return [float(beams[0]["score"]) for beams in self._generate(sample, score_reference=True)]

    def _generate(self, sample: dict[str, Any], **options: Any) -> list[list[dict[str, Any]]]:
        modules = [model.module for model in self.models]
        generator = self.task.build_generator(modules, Namespace(**options))
        with self.models[0]._turns:
            return generator.generate(modules, sample)

    def _sample(self, lines: Sequence[EncodedLine]) -> dict[str, Any]:
        from fairseq.data.data_utils import collate_tokens

        dictionary = self.task.source_dictionary
        rows: list[Tensor] = [torch.tensor(line.indices) for line in lines]
        tokens = collate_tokens(rows, dictionary.pad(), left_pad=True).to(self.device)
        lengths = torch.tensor([len(line) for line in lines], device=self.device)
        return {"net_input": {"src_tokens": tokens, "src_lengths": lengths}}

    def _hypothesis(self, found: dict[str, Any]) -> Hypothesis:
        indices = found["tokens"][:-1].tolist()
        return Hypothesis(EncodedLine(indices, self.target_words.sentence(indices)), float(found["score"]))


def load(model: ModelOptions, text: TextOptions, *, tags: str = TAGS) -> FairseqModels:
    """Load the checkpoint(s) that ``model`` names and make them read lines as ``text`` says."""
    loaded = load_models(model.path, data=model.data, source_lang=model.source_lang, target_lang=model.target_lang)
    for module in loaded.models:
        module.to(device=model.device, dtype=model.dtype)
    return with_text(loaded, text, tags=tags)


def with_text(loaded: LoadedModels, text: TextOptions, *, tags: str = TAGS) -> FairseqModels:
    """Give loaded models their text: tokenization, pieces and dictionaries of both sides."""
    dictionaries = loaded.source_dictionary, loaded.target_dictionary
    splitters = text.splitters([scheme_of_dictionary(dictionary) for dictionary in dictionaries])
    languages = loaded.task.cfg.source_lang, loaded.task.cfg.target_lang
    source, target = (
        LineEncoder(
            dictionary,
            splitter,
            tokenizer=MosesTokenizer(language) if text.tokenizer == "moses" else None,
            lowercase=text.lowercase,
            end=is_source,
            tags=tags,
        )
        for dictionary, splitter, language, is_source in zip(
            dictionaries, splitters, languages, (True, False), strict=True
        )
    )
    words = Vocabulary(dictionaries[1], splitters[1].scheme, tags=tags)
    return FairseqModels([FairseqModel(module) for module in loaded.models], loaded.task, source, target, words)
