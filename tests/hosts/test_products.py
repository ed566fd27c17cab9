"""Forced passes by packed weights and short attention give what the modules themselves give."""

from __future__ import annotations

import copy
import functools
import pickle
from collections import Counter

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_normalign.align.aligner import Setup
from fairseq_normalign.align.options import LoadOptions
from fairseq_normalign.files import read_parallel
from fairseq_normalign.toy import FOLDER

PAIRS = [pair for pair, _ in zip(read_parallel(FOLDER / "text.de", FOLDER / "text.en"), range(60), strict=False)]
LONG = [(" ".join(source for source, _ in PAIRS[:6]), " ".join(target for _, target in PAIRS[:6]))]
CLOSE = {"auto": 1e-5, "bfloat16": 0.05, "int8": 0.1, "float16": 0.05}


@functools.cache
def shared(precision: str, readings: str):
    """An aligner for tests that leave it as it is."""
    return aligner(precision, readings=readings)


def aligner(precision: str, **options):
    codes = str(FOLDER / "codes")
    given = LoadOptions(
        FOLDER / "de-en.pt", precision=precision, bpe_codes=(codes,), lowercase=True, device="cpu", **options
    )
    return Setup(given).load()


def softs(loaded, pairs=PAIRS):
    return [np.asarray(one.soft) for one in loaded.align(pairs, soft=True)]


@pytest.mark.parametrize("precision", CLOSE)
def test_every_precision_reads_what_float32_reads(precision):
    for pairs in (PAIRS, LONG):
        exact, found = (softs(shared(one, "2:awo"), pairs) for one in ("float32", precision))
        assert max(np.abs(one - other).max() for one, other in zip(exact, found, strict=True)) < CLOSE[precision]


@pytest.mark.parametrize("pairs", [PAIRS, LONG])
def test_a_layer_is_the_same_whether_those_below_it_are_read_or_not(pairs):
    both = [
        one.read.layers[1] for one in aligner("float32", readings="2:awo").align(pairs, read=True, every_layer=True)
    ]
    alone = [one.read.steps for one in aligner("float32", readings="2:awo").align(pairs, read=True)]
    for one, steps in zip(both, alone, strict=True):
        (other,) = steps.values()
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("precision", ["auto", "bfloat16", "int8"])
def test_the_modules_stay_as_they_are(precision):
    loaded = shared(precision, "2:awo")
    (model,) = loaded.forward.models
    softs(loaded)
    assert all("forward" not in module.__dict__ for module in model.module.modules())
    assert {parameter.dtype for parameter in model.module.parameters()} == {torch.float32}
    assert model.precision is {"auto": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}[precision]


def test_weights_that_change_are_packed_again():
    loaded, plain = aligner("auto"), aligner("float32")
    softs(loaded)
    for one in (loaded, plain):
        for name, parameter in one.forward.models[0].module.named_parameters():
            if name.endswith("fc1.weight"):
                with torch.no_grad():
                    parameter.mul_(0.5)
    for one, other in zip(softs(loaded), softs(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_layer_that_somebody_has_wrapped_runs_as_it_is():
    loaded = aligner("auto")
    layer = loaded.forward.models[0].module.encoder.layers[0].fc1
    calls = []
    layer.forward = lambda inputs: calls.append(1) or torch.nn.functional.linear(inputs, layer.weight, layer.bias)
    softs(loaded)
    assert calls
    assert "forward" in layer.__dict__


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_packed_products_can_be_copied(copied):
    products = shared("auto", "2:awo").forward.models[0].products
    layer, inputs = products.layers[0], torch.rand(3, products.layers[0].in_features)
    with torch.no_grad(), products.used():
        expected = layer(inputs)
    other = copied(products)
    with torch.no_grad(), other.used():
        assert torch.equal(other.layers[0](inputs), expected)


@pytest.mark.parametrize("precision", ["auto", "int8"])
def test_the_self_test_holds(precision):
    assert aligner(precision, self_test=True).align(PAIRS[:8])[0].links


class Counted(TorchDispatchMode):
    """Counts the operations on tensors by their names, reading a number out of a tensor and copying one included."""

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.found[str(function)] += 1
        return function(*args, **(kwargs or {}))


def test_a_batch_takes_the_same_operations_however_many_pairs_it_holds():
    """So nothing is copied from the device pair by pair."""
    model = shared("float32", "1.1:awi,2:awo").forward
    counts = []
    for pairs in (PAIRS[:3], PAIRS[:3] * 8):
        encoded = model.encode(pairs)
        softs(shared("float32", "1.1:awi,2:awo"), pairs)
        with Counted() as counted:
            ((_, batch),) = model.batches(encoded, lambda batch: batch)
            model.reader.read(batch, model.expert.places)
        counts.append(counted.found)
    assert counts[0] == counts[1]
