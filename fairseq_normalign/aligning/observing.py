"""Text through a model, and what its attention did on it, a batch at a time: what the analyses look at."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..analysis.attention_batch import PAD, Inventory, Observed, ObservedLayer
from ..analysis.singular_values import Projections
from ..attribution.block import VARIANTS, mixing_ratio
from ..attribution.norms import transformed_gram, transformed_norms
from ..attribution.records import AttentionBlock
from ..errors import NormalignError
from ..hosts.fairseq.recording import attention_layers, layers_recorded, read_attention, teacher_forcing
from ..text.encoding import LineEncoder
from .bitext import Pair, batches
from .directions import EMPTY, TOO_LONG, Direction, Encoded
from .options import TAGS
from .reader import decoder_input

Take = Callable[[int, AttentionBlock], None]


def observe(block: AttentionBlock, *, mixing: bool = False) -> ObservedLayer:
    """What the analyses need of an attention block."""
    attention = block.attention
    gram = transformed_gram(attention.values, attention.out_weight, attention.heads)
    lengths = transformed_norms(gram)
    ratios = {variant: mixing_ratio(block, variant).cpu().numpy() for variant in VARIANTS} if mixing else {}
    return ObservedLayer(
        weights=attention.weights.cpu().numpy(),
        lengths=lengths.cpu().numpy(),
        inputs=block.inputs.norm(dim=-1).cpu().numpy(),
        mixing=ratios,
    )


def check_observed(layers: Sequence[ObservedLayer], lines: Sequence[int]) -> None:
    """NaN or infinity must never become a figure; ``lines`` [B] are the numbers of the batch's lines, from 0."""
    for index, layer in enumerate(layers):
        for row, line in enumerate(lines):
            if not all(np.isfinite(part[row]).all() for part in (layer.weights, layer.lengths, layer.inputs)):
                raise NormalignError(
                    f"sentence {line + 1}: NaN or infinity in attention layer {index + 1}; "
                    "is the checkpoint sound, or its precision too low?"
                )


class Observer(ABC):
    """A model that lines of text are sent through: pairs, of which a one-sided model reads the source."""

    kind: str
    queries: Inventory
    keys: Inventory

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        """Why lines were left out, and how often."""
        self._lines_before = 0

    @abstractmethod
    def observed(self, lines: Sequence[Pair], *, mixing: bool = False) -> Iterator[Observed]:
        """What attention did on the lines, in batches."""

    @abstractmethod
    def pieces(self, lines: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
        """Every piece of the lines that would be a query and a key: [N], [M]."""

    @abstractmethod
    def projections(self) -> list[Projections]:
        """The parameters of f, a layer each."""


class PairObserver(Observer):
    """One kind of attention of an encoder-decoder, by forced decoding."""

    def __init__(self, direction: Direction, kind: str) -> None:
        super().__init__()
        if len(direction.aligner.models) > 1:
            raise NormalignError("one checkpoint can be analyzed at a time, not an ensemble")
        self.direction = direction
        self.kind = kind
        self.model = direction.aligner.models[0]
        source, target = (side.dictionary for side in (direction.aligner.source, direction.aligner.target))
        self._pads = source.pad(), target.pad()
        self._start = target.eos()
        self.queries = dictionary_inventory(source if kind == "encoder" else target)
        self.keys = dictionary_inventory(target if kind == "decoder" else source)

    def observed(self, lines: Sequence[Pair], *, mixing: bool = False) -> Iterator[Observed]:
        """What attention did on the pairs, in batches."""
        encoded = self._encode(lines)
        first, self._lines_before = self._lines_before, self._lines_before + len(lines)
        for places, batch in self.direction.batches(encoded):
            tokens = decoder_input(batch.targets, self._start, self._pads[1])
            sources = batch.encoder_input["src_tokens"]
            layers = read_attention(
                self.model,
                self.kind,
                batch.encoder_input,
                tokens.to(sources.device),
                lambda block: observe(block, mixing=mixing),
            )
            check_observed(layers, [first + place for place in places])
            source, target = _numbered(sources, self._pads[0]), _numbered(tokens, self._pads[1])
            queries = source if self.kind == "encoder" else target
            yield Observed(self.kind, queries, target if self.kind == "decoder" else source, layers)

    def _encode(self, lines: Sequence[Pair]) -> list[Encoded | str]:
        encoded = self.direction.encode(lines)
        self.skipped.update(pair for pair in encoded if isinstance(pair, str))
        return encoded

    def pieces(self, lines: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
        """Of both sides, whether they can be aligned or not."""
        encoded = [(self.direction.source(source), self.direction.target(target)) for source, target in lines]
        sources = np.array([piece for source, _ in encoded for piece in source.indices], dtype=int)
        targets = np.array([piece for _, target in encoded for piece in target.indices], dtype=int)
        return sources if self.kind == "encoder" else targets, targets if self.kind == "decoder" else sources

    def projections(self) -> list[Projections]:
        """The parameters of f, a layer each."""
        name = "encoder_attn" if self.kind == "cross" else "self_attn"
        return [projections_of(getattr(layer, name)) for layer in attention_layers(self.model, self.kind)]


class OneSided(Observer):
    """The self-attention of a masked language model."""

    kind = "encoder"

    def __init__(self, inventory: Inventory, *, mask: int | None, max_tokens: int, longest: int) -> None:
        """``mask``: the piece that stands for a hidden one."""
        super().__init__()
        self.queries = self.keys = inventory
        self.mask_rate = 0.0
        """How many pieces of the text are hidden from the model, as a share."""
        self._mask = mask
        self._max_tokens = max_tokens
        self._longest = longest
        self._chance = np.random.default_rng(1)

    def hide(self, rate: float, seed: int) -> None:
        """From now on, hide this share of the pieces."""
        if rate and self._mask is None:
            raise NormalignError("--mask: this model has no piece that stands for a hidden one")
        self.mask_rate, self._chance = rate, np.random.default_rng(seed)

    @abstractmethod
    def encode(self, line: str) -> list[int]:
        """The pieces of a line, with those that start and end it."""

    @abstractmethod
    def run(self, tokens: Tensor, real: Tensor, take: Take) -> None:
        """Send pieces through the model: [B, S], where they are real [B, S]; ``take`` every layer."""

    def observed(self, lines: Sequence[Pair], *, mixing: bool = False) -> Iterator[Observed]:
        """What attention did on the source sides, in batches."""
        first, self._lines_before = self._lines_before, self._lines_before + len(lines)
        encoded = [(place, self.encode(line)) for place, (line, _) in enumerate(lines, start=first)]
        fitting = [(place, pieces) for place, pieces in encoded if self._fits(pieces)]
        sentences = [pieces for _, pieces in fitting]
        for chosen in batches([(len(pieces), 0) for pieces in sentences], self._max_tokens):
            keys = np.full((len(chosen), max(len(sentences[number]) for number in chosen)), PAD)
            for row, number in enumerate(chosen):
                keys[row, : len(sentences[number])] = sentences[number]
            self._hide(keys)
            layers = self._layers_of(keys, mixing)
            check_observed(layers, [fitting[number][0] for number in chosen])
            yield Observed("encoder", keys, keys, layers)

    def _layers_of(self, keys: np.ndarray, mixing: bool) -> list[ObservedLayer]:
        layers: list[ObservedLayer] = []
        real = torch.from_numpy(keys != PAD)
        tokens = torch.from_numpy(np.where(keys == PAD, 0, keys))
        self.run(tokens, real, lambda index, block: layers.append(observe(block, mixing=mixing)))
        return layers

    def _fits(self, encoded: Sequence[int]) -> bool:
        if all(piece in self.keys.special for piece in encoded):
            self.skipped[EMPTY] += 1
            return False
        if len(encoded) > self._longest:
            self.skipped[TOO_LONG] += 1
            return False
        return True

    def _hide(self, keys: np.ndarray) -> None:
        if self.mask_rate:
            text = (keys != PAD) & ~np.isin(keys, sorted(self.keys.special))
            keys[text & (self._chance.random(keys.shape) < self.mask_rate)] = self._mask

    def pieces(self, lines: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
        """Of the source sides."""
        found = np.array([piece for line, _ in lines for piece in self.encode(line)], dtype=int)
        return found, found


class MaskedObserver(OneSided):
    """A masked language model of fairseq: roberta, masked_lm and what is built like them."""

    def __init__(self, model: Any, dictionary: Any, encoder: LineEncoder, *, max_tokens: int) -> None:
        self._encoder = model.encoder.sentence_encoder
        self._lines = encoder
        self._dictionary = dictionary
        self._model = model
        self._layers = [self._encoder.layers[number] for number in range(len(self._encoder.layers))]
        mask = dictionary.index("<mask>")
        super().__init__(
            dictionary_inventory(dictionary),
            mask=None if mask == dictionary.unk() else mask,
            max_tokens=max_tokens,
            longest=int(model.max_positions()),
        )

    def encode(self, line: str) -> list[int]:
        """``<s>``, the pieces, ``</s>``."""
        return [self._dictionary.bos(), *self._lines(line).indices, self._dictionary.eos()]

    def run(self, tokens: Tensor, real: Tensor, take: Take) -> None:
        """Send pieces through the encoder."""
        device = next(self._model.parameters()).device
        tokens = tokens.masked_fill(~real, self._dictionary.pad()).to(device)
        with (
            teacher_forcing(self._model),
            layers_recorded(self._layers, "encoder", range(len(self._layers)), take),
        ):
            self._encoder(tokens)

    def projections(self) -> list[Projections]:
        """The parameters of f, a layer each."""
        return [projections_of(layer.self_attn) for layer in self._layers]


def dictionary_inventory(dictionary: Any, tags: str = TAGS) -> Inventory:
    """The pieces of a fairseq dictionary; language tags and ``<mask>`` are special, unknown words are not."""
    symbols = list(dictionary.symbols)
    special = {dictionary.bos(), dictionary.eos(), dictionary.pad()}
    is_tag = re.compile(rf"{tags}|<mask>").fullmatch
    special |= {number for number, symbol in enumerate(symbols) if is_tag(symbol)}
    return Inventory(symbols, frozenset(special), np.array(dictionary.count))


def projections_of(attention: nn.Module) -> Projections:
    """The parameters of f in one of fairseq's attention modules."""
    module: Any = attention
    bias = module.v_proj.bias
    return Projections(
        heads=module.num_heads,
        value_weight=_array(module.v_proj.weight),
        value_bias=None if bias is None else _array(bias),
        out_weight=_array(module.out_proj.weight),
    )


def _array(parameter: Tensor) -> np.ndarray:
    return parameter.detach().cpu().double().numpy()


def _numbered(tokens: Tensor, pad: int) -> np.ndarray:
    """[B, T] with PAD for padding."""
    return tokens.masked_fill(tokens.eq(pad), PAD).cpu().numpy()
