"""Gradients of each target word's log-probability with respect to the source embeddings.

One forward pass serves all target words of a batch. The log-probability of step t depends on the features of step t
alone, so its gradient there is cheap and made for all steps at once. Only from the features down to the source is there
one backward pass for each step, of all sentences together, and several such passes run as one where they fit. autograd
does all of it; captum, which would run the whole model once for each target word, is the oracle in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import NormalignError
from .records import ModelView
from .registry import ModelMethod, register_method

POSITIONS_AT_ONCE = 4096
"""Target steps times positions (source and target, of all sentences) that one batched backward pass holds."""


def step_gradients(view: ModelView, embeddings: Tensor, reduce: Callable[[Tensor], Tensor]) -> Tensor:
    """Gradients of the log-probability of what each step puts out, reduced as soon as they are there.

    embeddings [N, S, E]: the point at which they are taken; reduce: [K, N, S, E] -> [K, N, S], K steps at a time
    -> [N, T + 1, S].
    """
    with torch.enable_grad():
        point = embeddings.detach().requires_grad_()
        features = view.features(point)
        at_features = _gradients_at(features, view)
        reduced = []
        for steps in torch.arange(features.size(1)).split(_steps_at_once(features, embeddings)):
            seeds = features.new_zeros(len(steps), *features.shape)
            seeds[torch.arange(len(steps)), :, steps] = at_features[:, steps].transpose(0, 1)
            (gradients,) = torch.autograd.grad(features, point, seeds, retain_graph=True, is_grads_batched=True)
            reduced.append(reduce(gradients))
    return torch.cat(reduced).transpose(0, 1)


def _gradients_at(features: Tensor, view: ModelView) -> Tensor:
    """Return the gradients of each step's log-probability with respect to its own features: [N, T + 1, C]."""
    leaf = features.detach().requires_grad_()
    (gradients,) = torch.autograd.grad(view.log_probs(leaf).sum(), leaf)
    return gradients


def _steps_at_once(features: Tensor, embeddings: Tensor) -> int:
    positions = features.size(0) * (features.size(1) + embeddings.size(1))
    return max(1, POSITIONS_AT_ONCE // positions)


def length(gradients: Tensor) -> Tensor:
    """[..., E] -> [...]: the Euclidean length."""
    return gradients.norm(dim=-1)


def times(embeddings: Tensor) -> Callable[[Tensor], Tensor]:
    """A reduction by the inner product with the embeddings [N, S, E]."""
    return lambda gradients: (gradients * embeddings).sum(-1)


class _OfOutput(ModelMethod):
    needs_gradients = True


@register_method("saliency")
class Saliency(_OfOutput):
    """The length of the gradient of a word's log-probability at each source embedding."""

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        return step_gradients(view, view.source_embeddings, length).unsqueeze(0)


@register_method("input-x-gradient")
class InputTimesGradient(_OfOutput):
    """Each source embedding times the gradient of the word's log-probability there."""

    signed = True

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        embeddings = view.source_embeddings
        return step_gradients(view, embeddings, times(embeddings)).unsqueeze(0)


@register_method("integrated-gradients")
class IntegratedGradients(_OfOutput):
    """Gradients averaged on the way from zero embeddings to the real ones, times these (Sundararajan et al. 2017).

    The values of a step add up to the difference in log-probability between both ends. ``n`` points of Gauss-Legendre
    quadrature.
    """

    signed = True

    def __init__(self, n: int = 20) -> None:
        self.n = _from_one("integrated-gradients", "n", n)

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        embeddings = view.source_embeddings
        points, weights = np.polynomial.legendre.leggauss(self.n)
        parts = (
            step_gradients(view, embeddings * ((point + 1) / 2), times(embeddings)) * (weight / 2)
            for point, weight in zip(points.tolist(), weights.tolist(), strict=True)
        )
        return sum(parts, torch.zeros(())).unsqueeze(0)


@register_method("smoothgrad")
class SmoothGrad(_OfOutput):
    """Input times gradient, negative values as zero, averaged over n noisy copies of the source (Ding et al. 2019).

    n = 30, sigma = 0.15 and the positive part of each copy are those of the experiments they released. The noise is
    Gaussian; its standard deviation is sigma times the distance between the smallest and the largest number in the
    embeddings of the sentence, as Smilkov et al. 2017 scale it. It is the same in every run, and that of a sentence
    does not depend on the batch it is in.
    """

    def __init__(self, n: int = 30, sigma: float = 0.15, seed: int = 1) -> None:
        self.n = _from_one("smoothgrad", "n", n)
        if not 0 <= sigma < math.inf:
            raise NormalignError(f"method 'smoothgrad': sigma is {sigma}; it is a number from 0 on")
        if not 0 <= seed < 2**63:
            raise NormalignError(f"method 'smoothgrad': seed is {seed}; it is a whole number from 0 to 2^63 - 1")
        self.sigma = sigma
        self.seed = seed

    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [1, N, T + 1, S]."""
        embeddings, real = view.source_embeddings, ~view.source_padding
        noise = [self._noise(sentence[there]) for sentence, there in zip(embeddings, real, strict=True)]
        total = torch.zeros(())
        for sample in range(self.n):
            noisy = embeddings.clone()
            noisy[real] += torch.cat([one[sample] for one in noise])
            total = total + step_gradients(view, noisy, times(embeddings)).clamp_min(0)
        return total.unsqueeze(0) / self.n

    def _noise(self, sentence: Tensor) -> Tensor:
        """The noise of one sentence: [S', E] -> [n, S', E]."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = torch.randn(self.n, *sentence.shape, generator=generator).to(sentence)
        return drawn * (self.sigma * (sentence.max() - sentence.min()))


MOST_SAMPLES = 10_000
"""Points or noisy copies; memory and time grow with each."""


def _from_one(method: str, option: str, value: int) -> int:
    if not 1 <= value <= MOST_SAMPLES:
        raise NormalignError(f"method '{method}': {option} is {value}; it is a whole number from 1 to {MOST_SAMPLES}")
    return value
