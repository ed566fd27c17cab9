"""What attention does with a text: the tables and figures of the papers. numpy only.

- Kobayashi et al. 2020: :class:`Dispersion` (Tables 1 and 4), :class:`CategoryShares` (Figure 3), :class:`Relation`
  (Table 2, Figures 4, 5, 10-12), :class:`Frequency` (Figure 6), :class:`SingularValues` (Figure 9, Appendix B)
- Kobayashi et al. 2021: :class:`Mixing`
- Voita et al. 2019: :class:`Heads`

Batches are added one after the other. Means and deviations are exact whatever the size of the text; rank correlations
are exact up to :data:`EXACT` pairs of numbers, and beyond that those of a uniform sample of this size.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .attention_batch import PAD, Categories, Observed, Projections

EXACT = 10_000_000
"""Pairs of numbers that a rank correlation keeps. A sample of this size is off by about 0.0003."""
BANDS = 25
"""Number of ranges of ranks, each twice as wide as the one before: the points of the curve."""
FARTHEST = 512
"""Relative positions that are counted separately, to the left and to the right."""
POSITIONAL = 0.9
"""A head is positional where this share of its maxima lies at one relative position."""
RAREST = 2
"""How many of the least frequent pieces that a query sees count as rare."""
RARE = 0.5
"""A head is one of rare words where this share of its maxima, and twice what chance gives, lies on rare pieces."""
FEWEST = 4
"""Queries that see fewer pieces of text than this are not counted for rare words."""

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows under names; layers and heads count from 1, as in the papers."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    detail: bool = False
    """Whether it is long: shown only in files."""
    digits: int = 3
    """Decimals of the numbers where a person reads them."""


class Analysis(ABC):
    """Statistics over batches, given one after the other."""

    needs_mixing = False
    """Whether layers must have their mixing ratios."""

    @abstractmethod
    def add(self, observed: Observed) -> None:
        """Add one batch."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the results, the summary first."""


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return the linear correlation of two arrays [K]; NaN where one does not vary.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    """
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x * x).sum() * (y * y).sum()))
    return float((x * y).sum() / scale) if scale else float("nan")


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Return the rank correlation of two arrays [K]; equal values share their mean rank.

    >>> spearman(np.array([1.0, 2.0, 30.0]), np.array([3.0, 2.0, 1.0]))
    -1.0
    """
    ranks = []
    for values in (x, y):
        _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[inverse])
    return pearson(*ranks)


class Sample:
    """Rows of K numbers that stream by: all of them or, of more than ``size``, a uniform sample of that size."""

    def __init__(self, size: int, seed: int = 1) -> None:
        self.count = 0
        """How many rows there were."""
        self._size = size
        self._chance = np.random.default_rng(seed)
        self._keys: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []

    def add(self, *columns: np.ndarray) -> None:
        """Add rows, given as K arrays [N]. Each row gets a random key; those with the smallest keys stay."""
        self.count += len(columns[0])
        self._keys.append(self._chance.random(len(columns[0])))
        self._rows.append(np.stack(columns, axis=1))
        if sum(map(len, self._keys)) > 2 * self._size:
            self._shrink(self._size)

    def rows(self, size: int | None = None) -> np.ndarray:
        """Return at most ``size`` of the rows, a uniform sample of all: [size, K]."""
        if not self._rows:
            return np.zeros((0, 2))
        self._shrink(self._size)
        keys, rows = self._keys[0], self._rows[0]
        return rows if size is None or size >= len(rows) else rows[np.argpartition(keys, size)[:size]]

    def spearman(self) -> float:
        """Return the rank correlation of the first two numbers of the rows; NaN where one of them never varies."""
        rows = self.rows()
        return spearman(rows[:, 0], rows[:, 1]) if len(rows) else float("nan")

    def _shrink(self, size: int) -> None:
        keys, rows = np.concatenate(self._keys), np.concatenate(self._rows)
        if len(keys) > size:
            kept = np.argpartition(keys, size)[:size]
            keys, rows = keys[kept], rows[kept]
        self._keys, self._rows = [keys], [rows]


class Moments:
    """Mean, standard deviation, largest and smallest of K streams of numbers."""

    def __init__(self, streams: int) -> None:
        self.count = np.zeros(streams, dtype=np.int64)
        self.mean = np.zeros(streams)
        self._squares = np.zeros(streams)
        self.largest = np.full(streams, -np.inf)
        self.smallest = np.full(streams, np.inf)

    def add(self, values: np.ndarray, streams: np.ndarray) -> None:
        """Add each value to its stream: [N], [N].

        The part and what was there are merged as by Chan et al. 1983: no digits are lost, unlike in sums of squares.
        """
        size = len(self.count)
        count = np.bincount(streams, minlength=size)
        values = values.astype(np.float64)
        mean = np.divide(np.bincount(streams, values, minlength=size), count, out=np.zeros(size), where=count > 0)
        squares = np.bincount(streams, (values - mean[streams]) ** 2, minlength=size)
        total = self.count + count
        share = np.divide(count, total, out=np.zeros(size), where=total > 0)
        apart = mean - self.mean
        self._squares += squares + apart**2 * self.count * share
        self.mean = self.mean + apart * share
        self.count = total
        np.maximum.at(self.largest, streams, values)
        np.minimum.at(self.smallest, streams, values)

    @property
    def deviation(self) -> np.ndarray:
        """[K]: the standard deviation (of the population)."""
        return np.sqrt(np.divide(self._squares, self.count, out=np.zeros(len(self.mean)), where=self.count > 0))

    @property
    def variation(self) -> np.ndarray:
        """[K]: deviation over mean."""
        return np.divide(self.deviation, self.mean, out=np.zeros(len(self.mean)), where=self.mean > 0)


class Dispersion(Analysis):
    """How much ||f(x)|| and ||x|| vary: mean, deviation, coefficient of variation, max, min; by head, by layer."""

    def __init__(self) -> None:
        self.transformed: list[Moments] = []
        """Per layer, with one stream per head."""
        self.inputs: list[Moments] = []
        """Per layer, one stream."""

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        real = observed.keys != PAD
        self.transformed = self.transformed or [Moments(layer.lengths.shape[1]) for layer in observed.layers]
        self.inputs = self.inputs or [Moments(1) for _ in observed.layers]
        for layer, transformed, inputs in zip(observed.layers, self.transformed, self.inputs, strict=True):
            lengths = layer.lengths.transpose(0, 2, 1)[real]  # [N, H]
            transformed.add(lengths.ravel(), np.tile(np.arange(lengths.shape[1]), len(lengths)))
            inputs.add(layer.inputs[real], np.zeros(len(lengths), dtype=np.int64))

    def tables(self) -> list[Table]:
        """Return tables of ||f(x)|| and of ||x||, for each first a summary and then everything."""
        columns = ("mean", "deviation", "cv", "max", "min")
        tables = []
        for name, places, layers in (
            ("||f(x)||", ("layer", "head"), self.transformed),
            ("||x||", ("layer",), self.inputs),
        ):
            rows = [
                (
                    *(layer + 1, head + 1)[: len(places)],
                    *(float(one[head]) for one in (m.mean, m.deviation, m.variation, m.largest, m.smallest)),
                )
                for layer, m in enumerate(layers)
                for head in range(len(m.count))
            ]
            if not rows:
                continue
            values = np.array([row[len(places) :] for row in rows])
            short: list[tuple[Cell, ...]] = [
                ("max cv", *rows[values[:, 2].argmax()]),
                ("min cv", *rows[values[:, 2].argmin()]),
                ("average", *[None] * len(places), *values[:, :3].mean(axis=0).tolist(), None, None),
            ]
            tables.append(Table(f"dispersion of {name}", ("", *places, *columns), short))
            tables.append(Table(f"{name} everywhere", (*places, *columns), rows, detail=True))
        return tables


class CategoryShares(Analysis):
    """Where attention goes, by weight and by the length of what is added.

    As in the paper's own program: the sum over the keys of a category, averaged over the queries of a sentence, then
    over sentences, each of which counts the same, then over heads.
    """

    def __init__(self, categories: Categories) -> None:
        self.categories = categories
        self._sums: list[np.ndarray] = []
        """Per layer [2, H, C]: of alpha and of ||alpha f(x)||, summed over sentences."""
        self._sentences = 0
        self._keys = np.zeros(len(categories.names), dtype=np.int64)

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        category = self.categories.of(observed.keys)
        self._keys += np.bincount(category[category != PAD], minlength=len(self._keys))
        self._sentences += len(observed.keys)
        member = (category[:, None, :] == np.arange(len(self._keys))[None, :, None]).astype(float)  # [B, C, S]
        queries = observed.queries != PAD
        share = queries / queries.sum(axis=1, keepdims=True).clip(1)  # [B, T]: what a query counts in its sentence
        found = []
        for layer in observed.layers:
            received = np.einsum("bhts,bt->bhs", layer.weights, share)
            both = [np.einsum("bhs,bcs->hc", one, member) for one in (received, received * layer.lengths)]
            found.append(np.array(both, dtype=float))
        self._sums = [before + new for before, new in zip(self._sums, found, strict=True)] if self._sums else found

    @property
    def weights(self) -> np.ndarray:
        """[layers, C]: alpha; a layer adds up to 1."""
        return np.array([layer[0].mean(axis=0) for layer in self._sums]) / self._sentences

    @property
    def norms(self) -> np.ndarray:
        """[layers, C]: ||alpha f(x)||."""
        return np.array([layer[1].mean(axis=0) for layer in self._sums]) / self._sentences

    def tables(self) -> list[Table]:
        """Shares by layer; how often each category occurs."""
        seen = np.flatnonzero(self._keys)
        names = tuple(self.categories.names[place] for place in seen)
        rows: list[tuple] = [("keys", None, *(self._keys / max(1, int(self._keys.sum())))[seen].tolist())]
        shares = self.norms / self.norms.sum(axis=1, keepdims=True)
        for title, table in (("alpha", self.weights), ("||alpha f(x)||", shares)):
            rows += [(title, number + 1, *row[seen].tolist()) for number, row in enumerate(table)]
            rows.append((title, "mean", *table.mean(axis=0)[seen].tolist()))
        lengths = [("||alpha f(x)||", number + 1, *row[seen].tolist()) for number, row in enumerate(self.norms)]
        return [
            Table("share of each category", ("of", "layer", *names), rows, "keys: how many of the positions there are"),
            Table("sum of ||alpha f(x)|| that a query gets from each category", ("of", "layer", *names), lengths),
        ]


class Relation(Analysis):
    """Whether alpha and ||f(x)|| cancel out: rank correlation by category, over every query, key and head."""

    def __init__(self, categories: Categories, *, points: int = 2000, seed: int = 1) -> None:
        """``points``: how many pairs of each category to sample for a figure."""
        self.categories = categories
        self.correlations = [Sample(EXACT, seed) for _ in categories.names]
        """Alpha and ||f(x)|| of each category."""
        self._points = points
        self._means: list[tuple[Moments, Moments]] = []
        """Per layer: of alpha and of ||f(x)||; the streams are the heads of each category."""

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        category = self.categories.of(observed.keys)
        sizes = [layer.weights.shape[1] * len(self.categories.names) for layer in observed.layers]
        self._means = self._means or [(Moments(size), Moments(size)) for size in sizes]
        for layer, means in zip(observed.layers, self._means, strict=True):
            heads = layer.weights.shape[1]
            lengths = np.broadcast_to(layer.lengths[:, :, None, :], layer.weights.shape)
            for place, sample in enumerate(self.correlations):
                chosen = observed.visible & (category == place)[:, None, :]  # [B, T, S]
                pairs = [one.transpose(0, 2, 3, 1)[chosen].ravel() for one in (layer.weights, lengths)]  # [N * H]
                if len(pairs[0]):
                    streams = np.tile(place * heads + np.arange(heads), len(pairs[0]) // heads)
                    for moments, values in zip(means, pairs, strict=True):
                        moments.add(values, streams)
                    sample.add(*pairs)

    def heatmaps(self, place: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return mean alpha and mean ||f(x)|| of one category, per layer [H]."""
        count = len(self.categories.names)
        alpha, length = (
            [one.mean.reshape(count, -1)[place] for one in by_layer] for by_layer in zip(*self._means, strict=True)
        )
        return alpha, length

    def points(self, place: int) -> np.ndarray:
        """Return a sample of the pairs of one category for a figure: [N, 2], alpha and ||f(x)||."""
        return self.correlations[place].rows(self._points)

    def tables(self) -> list[Table]:
        """Return table 2 of the paper, and the means behind the heatmaps."""
        rows, heads = [], []
        for place, (name, sample) in enumerate(zip(self.categories.names, self.correlations, strict=True)):
            if not sample.count:
                continue
            rows.append((name, sample.count, sample.spearman()))
            for layer, both in enumerate(zip(*self.heatmaps(place), strict=True)):
                pairs = zip(*(one.tolist() for one in both), strict=True)
                heads += [(name, layer + 1, head + 1, *pair) for head, pair in enumerate(pairs)]
        note = f"of a sample of {EXACT} pairs where there are more" if max(row[1] for row in rows) > EXACT else ""
        return [
            Table("alpha and ||f(x)||", ("category", "pairs", "spearman"), rows, note),
            Table("mean of each head", ("category", "layer", "head", "alpha", "||f(x)||"), heads, detail=True),
        ]


class Frequency(Analysis):
    """Rank of a piece's frequency against alpha and ||f(x)|| of each of its occurrences.

    An occurrence's alpha is the mean over the queries that see it, then over heads; a layer alone, and all together.
    """

    def __init__(self, ranks: np.ndarray, *, points: int = 2000, seed: int = 1) -> None:
        """``ranks`` [V]: the rank of each piece, 1 for the most frequent; ``points``: occurrences to sample."""
        self._ranks = ranks
        self._points = points
        self._seed = seed
        self._layers: list[Sample] = []
        """Rank, alpha, ||f(x)||: of each layer, and last of all together."""
        self.bands = Moments(BANDS), Moments(BANDS)
        """Means of alpha and of ||f(x)||, by the octave of the rank."""

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        real = observed.keys != PAD
        ranks = self._ranks[observed.keys[real]]
        seen_by = observed.visible.sum(axis=1).clip(1)  # [B, S]
        found = []
        for layer in observed.layers:
            received = (layer.weights * observed.visible[:, None]).sum(axis=2, dtype=float) / seen_by[:, None]
            found.append([by_head.transpose(0, 2, 1)[real] for by_head in (received, layer.lengths)])  # [N, H]
        found.append([np.concatenate(part, axis=1) for part in zip(*found, strict=True)])
        self._layers = self._layers or [Sample(EXACT, self._seed) for _ in found]
        for sample, both in zip(self._layers, found, strict=True):
            sample.add(ranks, *(one.mean(axis=1, dtype=float) for one in both))
        octaves = np.log2(ranks).astype(int).clip(0, BANDS - 1)
        for moments, values in zip(self.bands, found[-1], strict=True):
            moments.add(values.mean(axis=1), octaves)

    def points(self) -> np.ndarray:
        """Return a sample of the occurrences: [N, 3], rank, alpha and ||f(x)||, means over all heads of all layers."""
        return self._layers[-1].rows(self._points)

    def tables(self) -> list[Table]:
        """Correlations, and means by octave of the rank."""
        names = ["all", *range(1, len(self._layers))]
        rows: list[tuple[Cell, ...]] = []
        for name, sample in zip(names, [self._layers[-1], *self._layers[:-1]], strict=True):
            rank, *both = sample.rows().T
            rows.append((name, sample.count, *(spearman(rank, one) for one in both)))
        alpha, length = self.bands
        bands = [
            (2**band, int(alpha.count[band]), float(alpha.mean[band]), float(length.mean[band]))
            for band in range(BANDS)
            if alpha.count[band]
        ]
        note = "Spearman, against the rank of frequency (1: the most frequent)"
        return [
            Table("rank of frequency", ("layer", "occurrences", "alpha", "||f(x)||"), rows, note),
            Table("by rank", ("from rank", "occurrences", "alpha", "||f(x)||"), bands),
        ]


class Mixing(Analysis):
    """How much a position takes from others: the mixing ratio of each layer, by variant of the block."""

    needs_mixing = True

    def __init__(self, categories: Categories, ranks: np.ndarray | None = None) -> None:
        """``categories`` and ``ranks`` [V] are those of the queries, the positions that mix."""
        self.categories = categories
        self._ranks = ranks
        self.layers: dict[str, list[Moments]] = {}
        """Variant -> the moments of each layer; their streams are all queries, then the queries of each category."""
        self._correlations: dict[str, list[Sample]] = {}

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        real = observed.queries != PAD
        pieces = observed.queries[real]
        streams = np.concatenate([np.zeros(len(pieces), dtype=int), 1 + self.categories.of_piece[pieces]])
        for variant in observed.layers[0].mixing:
            if variant not in self.layers:
                self.layers[variant] = [Moments(1 + len(self.categories.names)) for _ in observed.layers]
                self._correlations[variant] = [Sample(EXACT) for _ in observed.layers]
            of_variant = zip(observed.layers, self.layers[variant], self._correlations[variant], strict=True)
            for layer, moments, correlation in of_variant:
                ratio = layer.mixing[variant][real]
                moments.add(np.tile(ratio, 2), streams)
                if self._ranks is not None:
                    correlation.add(self._ranks[pieces], ratio)

    def tables(self) -> list[Table]:
        """Return tables by layer and variant, and by category of the position that mixes."""
        seen = np.flatnonzero(np.sum([one.count[1:] for layers in self.layers.values() for one in layers], axis=0))
        rows: list[tuple[Cell, ...]] = []
        kinds: list[tuple[Cell, ...]] = []
        for variant, layers in self.layers.items():
            for number, moments in enumerate(layers):
                spearman = self._correlations[variant][number].spearman()
                rows.append((variant, number + 1, float(moments.mean[0]), float(moments.deviation[0]), spearman))
                kinds.append((variant, number + 1, *moments.mean[1:][seen].tolist()))
            means = np.array([moments.mean for moments in layers]).mean(axis=0)
            rows.append((variant, "mean", float(means[0]), None, None))
            kinds.append((variant, "mean", *means[1:][seen].tolist()))
        names = (self.categories.names[place] for place in seen)
        note = "spearman: of the ratio and the rank of frequency (1: the most frequent)"
        return [
            Table("mixing ratio", ("variant", "layer", "mean", "deviation", "spearman"), rows, note),
            Table("mixing ratio by category", ("variant", "layer", *names), kinds),
        ]


@dataclass
class _HeadCounts:
    """Counts of one layer with H heads."""

    confidence: np.ndarray
    """[H]: the sum of the largest weights."""
    positions: np.ndarray
    """[H, 2 * FARTHEST + 1]: maxima by relative position, key minus query."""
    rare: np.ndarray
    """[H]: maxima on rare pieces."""


@dataclass
class Heads(Analysis):
    """What single heads do. Queries that are special pieces (start and end of a sentence) are left out everywhere.

    Confidence: mean of the largest weight, special keys left out. Positions: of the largest weight of all keys. Rare
    words: whether that key is one of the two least frequent that the query sees.
    """

    special_queries: frozenset[int]
    special_keys: frozenset[int]
    ranks: np.ndarray | None = None
    """[V], of the keys."""
    extra: dict[str, Sequence[np.ndarray]] = field(default_factory=dict)
    """More columns by name (AER, relevance), per layer [H]."""
    _layers: list[_HeadCounts] = field(default_factory=list)
    _queries: int = 0
    _judged: int = 0
    """Queries that see enough pieces to tell rare ones."""
    _chance: float = 0.0

    def add(self, observed: Observed) -> None:
        """Add one batch."""
        asking = (observed.queries != PAD) & ~np.isin(observed.queries, sorted(self.special_queries))  # [B, T]
        words = ~np.isin(observed.keys, sorted(self.special_keys)) & (observed.keys != PAD)  # [B, S]
        seen = observed.visible & words[:, None, :]  # [B, T, S]
        rare, judged = np.zeros_like(seen), np.zeros_like(asking)
        if self.ranks is not None and seen.shape[-1] >= RAREST:
            ranks = np.where(seen, self.ranks[observed.keys][:, None, :], -1)
            rare = seen & (ranks >= np.partition(ranks, -RAREST, axis=-1)[..., -RAREST, None])
            judged = asking & (seen.sum(axis=-1) >= FEWEST)
        self._queries += int(asking.sum())
        self._judged += int(judged.sum())
        self._chance += float((rare.sum(axis=-1) / observed.visible.sum(axis=-1).clip(1))[judged].sum())
        sizes = [layer.weights.shape[1] for layer in observed.layers]
        places = 2 * FARTHEST + 1
        self._layers = self._layers or [
            _HeadCounts(np.zeros(heads), np.zeros((heads, places), dtype=np.int64), np.zeros(heads)) for heads in sizes
        ]
        for layer, counts in zip(observed.layers, self._layers, strict=True):
            largest = np.where(seen[:, None], layer.weights, 0).max(axis=-1)  # [B, H, T]
            best = np.where(observed.visible[:, None], layer.weights, -1).argmax(axis=-1)  # [B, H, T]
            counts.confidence += (largest * asking[:, None]).sum(axis=(0, 2), dtype=float)
            apart = (best - np.arange(best.shape[-1])).clip(-FARTHEST, FARTHEST) + FARTHEST
            for head, positions in enumerate(counts.positions):
                positions += np.bincount(apart[:, head][asking], minlength=places)
            hit = np.take_along_axis(np.broadcast_to(rare[:, None], layer.weights.shape), best[..., None], -1)[..., 0]
            counts.rare += (hit & judged[:, None]).sum(axis=(0, 2))

    def confidence(self) -> list[np.ndarray]:
        """Return the confidence of the heads, per layer [H]."""
        return [counts.confidence / max(1, self._queries) for counts in self._layers]

    def functions(self) -> list[list[str]]:
        """Return the role of each head of each layer, empty where it has none."""
        roles = iter(str(row[-1]) for row in self.tables()[0].rows)
        return [[next(roles) for _ in counts.rare] for counts in self._layers]

    def tables(self) -> list[Table]:
        """Return one table with a row per head."""
        rows: list[tuple[Cell, ...]] = []
        chance = self._chance / max(1, self._judged)
        for layer, counts in enumerate(self._layers):
            for head, (positions, hits) in enumerate(zip(counts.positions, counts.rare, strict=True)):
                confidence = float(self.confidence()[layer][head])
                place, share = int(positions.argmax()) - FARTHEST, float(positions.max()) / max(1, self._queries)
                rare = float(hits) / max(1, self._judged)
                roles = [f"position {place:+d}"] if share >= POSITIONAL else []
                roles += ["rare words"] if rare >= max(RARE, 2 * chance) and chance > 0 else []
                extra = (float(column[layer][head]) for column in self.extra.values())
                figures = (f"{place:+d}", share, rare, chance)
                rows.append((layer + 1, head + 1, confidence, *figures, *extra, ", ".join(roles)))
        columns = ("layer", "head", "confidence", "position", "share", "rare", "by chance", *self.extra, "function")
        return [Table("heads", columns, rows, "share: of maxima at that position; rare: on the two rarest pieces seen")]


class SingularValues:
    """How much the transformation f of each head can stretch; needs no text."""

    def __init__(self, layers: Sequence[Projections]) -> None:
        """``f~(x~) = x~ [[W_V, 0], [b_V, 1]] [[W_O, 0], [0, 1]]`` is a linear map of ``x~ = [x 1]``.

        Both factors are thin, so its values are those of the product of their small triangular parts, and zeros.
        """
        self.layers: list[np.ndarray] = []
        """Per layer [H, D + 1]."""
        for layer in layers:
            inner, width = layer.value_weight.shape
            size = inner // layer.heads
            bias = np.zeros(inner) if layer.value_bias is None else layer.value_bias
            found = []
            for start in range(0, inner, size):
                part = slice(start, start + size)
                first = np.zeros((width + 1, size + 1))
                first[:-1, :-1] = layer.value_weight[part].T
                first[-1, :-1] = bias[part]
                first[-1, -1] = 1
                second = np.zeros((layer.out_weight.shape[0] + 1, size + 1))
                second[:-1, :-1] = layer.out_weight[:, part]
                second[-1, -1] = 1
                small = np.linalg.qr(first)[1] @ np.linalg.qr(second)[1].T
                found.append(np.linalg.svd(small, compute_uv=False))
            self.layers.append(np.array(found))

    def tables(self) -> list[Table]:
        """Return the largest and the smallest singular value of each head, then all."""
        rows, whole = [], []
        for layer, heads in enumerate(self.layers):
            for head, values in enumerate(heads):
                ratio = float(values[0] / values[-1]) if values[-1] > 0 else float("inf")
                rows.append((layer + 1, head + 1, float(values[0]), float(np.median(values)), float(values[-1]), ratio))
                whole += [(layer + 1, head + 1, place + 1, float(value)) for place, value in enumerate(values)]
        return [
            Table("singular values of f", ("layer", "head", "largest", "median", "smallest", "ratio"), rows),
            Table("every singular value", ("layer", "head", "number", "value"), whole, detail=True),
        ]
