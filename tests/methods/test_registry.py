"""Every method, by its name, through the one door that all commands use."""

import numpy as np
import pytest
import torch
from tiny_models import dictionary, make_batch, soft_alignments, tiny_batch, tiny_transformer

from fairseq_normalign.align.options import AlignmentOptions
from fairseq_normalign.errors import NormalignError
from fairseq_normalign.methods import METHODS, ModelMethod, get_method, method_class

QUICK = {"smoothgrad": "smoothgrad:n=2", "integrated-gradients": "integrated-gradients:n=2"}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_gives_steps_by_source_positions(name, model):
    batch = tiny_batch()
    found = soft_alignments([model], batch, QUICK.get(name, name), None)
    layers = 2 if METHODS[name].layerwise else 1
    shapes = [(layers, 4, 5), (layers, 3, 3), (layers, 5, 3)]  # targets of 3, 2 and 4 pieces; sources of 5 and 3
    assert [soft.shape for soft in found] == shapes
    assert all(np.isfinite(soft).all() and np.abs(soft).sum() > 0 for soft in found)
    assert METHODS[name].signed or all((soft >= 0).all() for soft in found)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_pair_alone_is_the_pair_in_a_batch(name, model):
    batch = tiny_batch()
    alone = make_batch(batch.source_tokens[1:, 2:], batch.targets[1:2], [0], model.decoder.dictionary)
    method = QUICK.get(name, name)
    together = soft_alignments([model], batch, method, None)[1]
    np.testing.assert_allclose(soft_alignments([model], alone, method, None)[0], together, atol=1e-9)


@pytest.mark.parametrize("name", ["erasure", "saliency", "relevance"])
def test_copies_and_steps_in_one_run_or_in_many(name):
    """A batch of long pairs is computed in parts, a pair alone at once."""
    words = dictionary()
    sources = torch.randint(words.nspecial, len(words), (12, 40), generator=torch.Generator().manual_seed(1))
    model = tiny_transformer(layers=1)
    many, one = (make_batch(sources[:n], list(sources[:n, :20]), range(n), words) for n in (12, 1))
    together, (alone,) = soft_alignments([model], many, name)[0], soft_alignments([model], one, name)
    np.testing.assert_allclose(together, alone, atol=1e-9)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_model_is_left_as_it_was(name):
    model = tiny_transformer()
    model.train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    soft_alignments([model], tiny_batch(), QUICK.get(name, name), [0])
    assert model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any(getattr(module, "skip_embed_dim_check", False) for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


def test_an_ensemble_of_one_model_twice_is_that_model_normalized(model):
    for name in ("erasure", "norms"):
        one = soft_alignments([model], tiny_batch(), name, [0])[0]
        two = soft_alignments([model, model], tiny_batch(), name, [0])[0]
        np.testing.assert_allclose(two, one / np.abs(one).sum(-1, keepdims=True))


def test_every_method_says_what_it_is():
    for name, method in METHODS.items():
        assert method.name == name
        assert method.summary().endswith(".")
        assert method.default_step in method.steps


@pytest.mark.parametrize("name", sorted(METHODS))
def test_options_follow_the_method(name):
    options = AlignmentOptions(method=name)
    assert options.reading(2).step == METHODS[name].default_step
    assert options.layer_of(2) in range(2 if METHODS[name].layerwise else 1)


def test_options_that_do_not_apply_are_refused():
    with pytest.raises(NormalignError, match="the step is awo, not awi"):
        AlignmentOptions(method="saliency", step="awi")
    with pytest.raises(NormalignError, match="no layers to choose from"):
        AlignmentOptions(method="erasure", layer=1)
    with pytest.raises(NormalignError, match="no single heads"):
        AlignmentOptions(method="rollout", head=1)
    with pytest.raises(NormalignError, match="no single heads"):
        soft_alignments([tiny_transformer()], tiny_batch(), "saliency", None, by_head=True)


def test_options_of_a_method_are_in_its_name():
    method = get_method("smoothgrad:n=3,sigma=0.5")
    assert (method.n, method.sigma) == (3, 0.5)
    assert method_class("smoothgrad:n=3").name == "smoothgrad"
    assert isinstance(method, ModelMethod)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("magic", "choose one of attention-rollout, block"),
        ("smoothgrad:m=3", "no option 'm=3'; its options and defaults: n=30, sigma=0.15, seed=1"),
        ("smoothgrad:n=many", "n is a whole number, not 'many'"),
        ("weights:n=3", "no option 'n=3'; its options and defaults: none"),
        ("smoothgrad:n", "no option 'n'"),
        ("smoothgrad:n=0", "n is 0; it is a whole number from 1 to 10000"),
        ("integrated-gradients:n=0", "n is 0; it is a whole number from 1 to 10000"),
        ("smoothgrad:sigma=-1", "sigma is -1.0; it is a number from 0 on"),
        ("erasure:how=", "how is ''; choose one of zero, remove"),
        ("block:variant=attn+ln", r"variant is 'attn\+ln'; choose one of attn, attn\+res, attn\+res\+ln"),
        ("rollout:measure=cosine", "measure is 'cosine'; choose one of distance, norm"),
        ("relevance:rule=gamma", "rule is 'gamma'; choose one of epsilon, alpha-beta"),
    ],
)
def test_a_wrong_name_or_option_is_one_clear_line(spec, message):
    with pytest.raises(NormalignError, match=message) as caught:
        get_method(spec)
    assert "\n" not in str(caught.value)
