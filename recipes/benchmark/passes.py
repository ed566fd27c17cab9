"""What a forced pass costs: against a plain forward pass with softmax, and against the obvious formula for norms."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from made_up import batch_of, load
from measuring import in_turns, peak_megabytes
from torch import Tensor

from fairseq_normalign.align.options import AlignmentOptions
from fairseq_normalign.align.reader import Reader
from fairseq_normalign.hosts.fairseq.host import FairseqModel
from fairseq_normalign.hosts.protocol import Batch
from fairseq_normalign.links.experts import default_expert
from fairseq_normalign.methods import METHODS
from fairseq_normalign.methods.norms import head_norms, transformed_gram, vector_norms


def slow_norms(weights: Tensor, values: Tensor, out_weight: Tensor) -> tuple[Tensor, Tensor]:
    """Norms of every head and of their sum by way of [B, H, T, S, C]: the definition, written down."""
    batch, heads, _, length = weights.shape
    by_head = values.view(batch, length, heads, -1)
    transformed = torch.einsum("bshd,chd->bhsc", by_head, out_weight.view(out_weight.size(0), heads, -1))
    weighted = weights.unsqueeze(-1) * transformed.unsqueeze(2)
    return weighted.norm(dim=-1), weighted.sum(dim=1).norm(dim=-1)


def fast_norms(weights: Tensor, values: Tensor, out_weight: Tensor) -> tuple[Tensor, Tensor]:
    gram = transformed_gram(values, out_weight, weights.size(1))
    return head_norms(weights, gram), vector_norms(weights, gram)


class Passes:
    """The ways to run one batch through one model."""

    def __init__(self, checkpoint: str, pairs: int, length: int) -> None:
        torch.set_num_threads(1)
        self.loaded = load(Path(checkpoint))
        self.model: Any = self.loaded.models[0]
        made = batch_of(pairs, length, len(self.loaded.task.source_dictionary))
        self.inputs = {name: made[name] for name in ("src_tokens", "src_lengths")}
        tokens = self.inputs["src_tokens"]
        self.batch = Batch(self.inputs, tokens, tokens.eq(1), list(made["targets"]), range(pairs), (2,), 2, 1)
        self.tokens = self.batch.decoder_input()
        self.reader = Reader([FairseqModel(self.model)])
        self.layers = list(range(len(self.model.decoder.layers)))

    def plain(self) -> None:
        """Encoder, decoder, output projection and softmax."""
        with torch.no_grad():
            output = self.model(**self.inputs, prev_output_tokens=self.tokens)
            self.model.get_normalized_probs(output, log_probs=True)

    def low(self) -> None:
        """Norms at the bottom third of the decoder."""
        self.method("norms")

    def two_looks(self) -> None:
        """Norms at the bottom third and at the top of the decoder, in one pass."""
        self.reader.read(self.batch, default_expert(self.reader.layers).places)

    def method(self, name: str) -> None:
        """One method with its default options, at the layer where it is read by default."""
        self.reader.read(self.batch, [AlignmentOptions(method=name).reading(self.reader.layers).place])

    def every(self) -> None:
        """Norms and weights of every layer, in one pass."""
        self._read(heads=False)

    def heads(self) -> None:
        """Norms and weights of every layer and of every head, in one pass."""
        self._read(heads=True)

    def slow(self) -> None:
        """Norms of every layer and head by the obvious formula, beside a plain forward pass."""
        with contextlib.ExitStack() as stack:
            for module in self.model.decoder.layers:
                stack.enter_context(read_slowly(module.encoder_attn))
            self.plain()

    def _read(self, *, heads: bool) -> None:
        places = [place for name in ("norms", "weights") for place in self.reader.places(name, heads=heads)]
        self.reader.read(self.batch, places)


@contextlib.contextmanager
def read_slowly(attention: Any) -> Iterator[None]:
    """Hooks that compute the slow formula when the attention module runs."""
    values: list[Tensor] = []

    def ask(module: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True, "need_head_weights": True}

    def compute(module: Any, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        slow_norms(output[1].transpose(0, 1), values.pop().transpose(0, 1).contiguous(), module.out_proj.weight)

    handles = [
        attention.register_forward_pre_hook(ask, with_kwargs=True),
        attention.v_proj.register_forward_hook(lambda module, args, output: values.append(output)),
        attention.register_forward_hook(compute),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def made_up_attention(pairs: int, heads: int, length: int, channels: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    weights = torch.softmax(torch.randn(pairs, heads, length, length, generator=generator), -1)
    values = torch.randn(pairs, length, channels, generator=generator)
    return weights, values, torch.randn(channels, channels, generator=generator) / channels**0.5


def seconds(checkpoint: str, ways: list[str], pairs: int, length: int, repetitions: int) -> dict[str, float]:
    """CPU seconds of some of the ways to run a batch."""
    passes = Passes(checkpoint, pairs, length)
    return in_turns({way: getattr(passes, way) for way in ways}, repetitions)


def seconds_of_methods(checkpoint: str, pairs: int, length: int, repetitions: int) -> dict[str, float]:
    """CPU seconds of a plain pass and of every method of the registry; those that run the model n times run once."""
    passes = Passes(checkpoint, pairs, length)
    works = {name: functools.partial(passes.method, name) for name in METHODS}
    long = {name: works.pop(name) for name in list(works) if "n" in inspect.signature(METHODS[name]).parameters}
    return {**in_turns({"plain": passes.plain, **works}, repetitions), **in_turns(long, 1, before=0)}


def megabytes(checkpoint: str, way: str, pairs: int, length: int) -> float:
    """Peak memory of one of them, beyond that of the loaded model."""
    return peak_megabytes(getattr(Passes(checkpoint, pairs, length), way))


FORMULAS = {"slow": slow_norms, "fast": fast_norms}


def seconds_of_norms(repetitions: int, *shape: int) -> dict[str, float]:
    """CPU seconds of the formulas at B, H, T = S, C."""
    torch.set_num_threads(1)
    made = made_up_attention(*shape)
    return in_turns({name: functools.partial(formula, *made) for name, formula in FORMULAS.items()}, repetitions)


def megabytes_of_norms(name: str, *shape: int) -> float:
    """Peak memory of a formula at B, H, T = S, C."""
    torch.set_num_threads(1)
    return peak_megabytes(functools.partial(FORMULAS[name], *made_up_attention(*shape)))
