"""Attention of nobody: random numbers in the shapes that the analyses take."""

from __future__ import annotations

import numpy as np

from fairseq_normalign.analysis.attention_batch import PAD, Inventory, Observed, ObservedLayer

INVENTORY = Inventory(
    ["<s>", "</s>", ",", ".", "the", "cat", "mat@@", "▁dog", "##s"], frozenset({0, 1}), np.arange(9)[::-1] * 10
)


def made_up(kind: str = "encoder", seed: int = 0, layers: int = 2, heads: int = 3, sentences: int = 4) -> Observed:
    """Sentences of different lengths, right-padded, each ending in '</s>'; layer 2 has one head less."""
    chance = np.random.default_rng(seed)
    long = 7
    keys = _pieces(chance, sentences, long)
    queries = _pieces(chance, sentences, long - 1) if kind == "cross" else keys
    empty = Observed(kind, queries, keys, [])
    made = []
    for number in range(layers):
        weights = chance.random((sentences, heads - number, queries.shape[1], keys.shape[1])) ** 3
        weights *= empty.visible[:, None]
        weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-30)
        lengths = chance.random((sentences, heads - number, keys.shape[1])) * 5
        mixing = {name: chance.random(queries.shape) for name in ("attn", "attn+res")}
        made.append(ObservedLayer(weights, lengths, chance.random(keys.shape) + 1, mixing))
    return Observed(kind, queries, keys, made)


def _pieces(chance: np.random.Generator, sentences: int, long: int) -> np.ndarray:
    pieces = np.full((sentences, long), PAD)
    for row in pieces:
        length = chance.integers(1, long)
        row[:length] = chance.integers(2, 9, length)
        row[length] = 1
    return pieces


def pairs_of(observed: Observed):
    """Every (sentence, query, key) that is really there, by the obvious loops."""
    for b in range(len(observed.keys)):
        for t, query in enumerate(observed.queries[b]):
            for s, key in enumerate(observed.keys[b]):
                if query != PAD and key != PAD and (observed.kind != "decoder" or s <= t):
                    yield b, t, s
