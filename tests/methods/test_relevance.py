import pytest
import torch
from tiny_models import tiny_transformer, tiny_view

from fairseq_normalign.methods.records import KINDS
from fairseq_normalign.methods.relevance import (
    AlphaBeta,
    Epsilon,
    conservation_error,
    head_relevance,
    propagate,
)

RULES = [Epsilon(1e-12), AlphaBeta(), AlphaBeta(1.0), AlphaBeta(2.0)]
TOLERANCE = 1e-5
"""Of conservation, in float64; the stabilizer of the epsilon rule swallows less."""


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_relevance_is_conserved(view, rule):
    found = propagate(view, rule)
    assert conservation_error(found, view.steps) < TOLERANCE
    assert bool((found.source.transpose(1, 2)[view.source_padding] == 0).all())
    future = torch.ones(found.prefix.shape[1:]).triu(1).bool()
    assert bool((found.prefix[:, future] == 0).all())


def test_conserved_with_all_that_fairseq_can_put_around_the_layers():
    model = tiny_transformer(pre_norm=True, layernorm_embedding=True, decoder_embed_dim=8, decoder_output_dim=6)
    with tiny_view(model) as view:
        assert view.record().projection is not None
        assert conservation_error(propagate(view, AlphaBeta()), view.steps) < TOLERANCE


def test_alpha_beta_is_never_negative(view):
    found = propagate(view, AlphaBeta(0.3))
    assert found.source.min() >= 0
    assert found.prefix.min() >= 0


def test_epsilon_is_input_times_gradient_with_weights_and_scales_held(view, monkeypatch):
    """The oracle: autograd through fairseq's own modules, attention weights and LayerNorm's deviation detached."""
    found = propagate(view, Epsilon(1e-14))

    def held_norm(inputs, shape, weight, bias, eps):
        std = (inputs.var(-1, unbiased=False, keepdim=True) + eps).sqrt().detach()
        return (inputs - inputs.mean(-1, keepdim=True)) / std * weight + bias

    monkeypatch.setattr("torch.nn.functional.layer_norm", held_norm)
    monkeypatch.setattr("fairseq.utils.softmax", lambda x, dim, onnx_trace=False: torch.softmax(x, dim).detach())
    seen = []
    first = view._model.module.encoder.layers[0], view._model.module.decoder.layers[0]
    handles = [layer.register_forward_pre_hook(lambda module, args: seen.append(args[0])) for layer in first]
    with torch.enable_grad():
        embeddings = view.source_embeddings.clone().requires_grad_()
        view._model.module.decoder.embed_tokens.requires_grad_(True)
        scores = view.scores(view.features(embeddings))
        for step in range(scores.size(1)):
            of_source, of_prefix = torch.autograd.grad(scores[:, step].sum(), seen, retain_graph=True)
            for inputs, gradients, ours in ((seen[0], of_source, found.source), (seen[1], of_prefix, found.prefix)):
                by_hand = (inputs * gradients).sum(-1).transpose(0, 1) / scores[:, step, None]
                torch.testing.assert_close(ours[:, step], by_hand.detach(), atol=1e-7, rtol=1e-6)
    for handle in handles:
        handle.remove()
    view._model.module.decoder.embed_tokens.requires_grad_(False)


def slowly(relevance, parts, alpha):
    """The alpha-beta rule for one sum: relevance of the sum, its parts -> relevance of each part."""
    up = sum(max(part, 0.0) for part in parts)
    down = sum(min(part, 0.0) for part in parts)
    if up > 0 and down < 0:
        return [relevance * (alpha * max(p, 0.0) / up + (1 - alpha) * min(p, 0.0) / down) for p in parts]
    total = up + down
    return [relevance * part / total if total else 0.0 for part in parts]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_alpha_beta_equals_the_rule_sum_by_sum(alpha):
    torch.manual_seed(3)
    rule = AlphaBeta(alpha)
    inputs, weight, bias = (torch.randn(shape, dtype=torch.float64) for shape in ((4,), (3, 4), (3,)))
    given = torch.rand(1, 3, dtype=torch.float64)
    expected = torch.zeros(4, dtype=torch.float64)
    for out in range(3):
        parts = [float(weight[out, i] * inputs[i]) for i in range(4)] + [float(bias[out])]
        *of_inputs, of_bias = slowly(float(given[0, out]), parts, alpha)
        expected += torch.tensor(of_inputs) + of_bias / 4
    torch.testing.assert_close(rule.linear(given, inputs, weight, bias)[0][0], expected)

    weights, values = torch.rand(2, 3, dtype=torch.float64).softmax(-1), torch.randn(3, 2, dtype=torch.float64)
    given = torch.rand(1, 2, 2, dtype=torch.float64)
    expected = torch.zeros(3, 2, dtype=torch.float64)
    for step in range(2):
        for channel in range(2):
            parts = [float(weights[step, s] * values[s, channel]) for s in range(3)]
            expected[:, channel] += torch.tensor(slowly(float(given[0, step, channel]), parts, alpha))
    torch.testing.assert_close(rule.attend(given, weights, values)[0], expected)

    first, second = torch.tensor([1.0, -1.0, 2.0, 0.0]), torch.tensor([3.0, 0.5, -1.0, 0.0])
    of_first, of_second = rule.add(torch.ones(1, 4), first, second)
    pairs = [slowly(1.0, [float(a), float(b)], alpha) for a, b in zip(first, second, strict=True)]
    torch.testing.assert_close(torch.stack([of_first[0], of_second[0]], dim=1), torch.tensor(pairs))


def test_lxt_agrees_where_it_has_the_same_rule():
    functional = pytest.importorskip("lxt.explicit.functional")
    torch.manual_seed(5)
    inputs = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    weight, given = torch.randn(5, 4, dtype=torch.float64), torch.rand(3, 5, dtype=torch.float64)
    (theirs,) = torch.autograd.grad(functional.linear_epsilon(inputs, weight, None, 1e-12), inputs, given)
    ours, _ = Epsilon(1e-12).linear(given[None], inputs.detach(), weight, None)
    torch.testing.assert_close(ours[0], theirs)
    gain, bias = torch.randn(2, 4, dtype=torch.float64)
    given = torch.rand(3, 4, dtype=torch.float64)
    (theirs,) = torch.autograd.grad(functional.layer_norm(inputs, gain, bias, 1e-5), inputs, given)
    scale = gain / (inputs.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    ours, _ = Epsilon(1e-12).norm(given[None], inputs.detach(), scale.detach(), bias)
    torch.testing.assert_close(ours[0], theirs, atol=1e-4, rtol=1e-4)  # its stabilizer is fixed at 1e-6


def test_relevance_of_heads(view):
    found = propagate(view, AlphaBeta())
    heads = head_relevance(found, view.steps)
    for kind in KINDS:
        assert found.heads[kind].shape == (2, *found.source.shape[:2], 2)
        torch.testing.assert_close(heads[kind].sum(-1), torch.ones(2, dtype=torch.float64))
    top = found.heads["cross"][1]
    shares = [top[n, t] / top[n, t].sum() for n in range(3) for t in range(int(view.steps[n]))]
    torch.testing.assert_close(heads["cross"][1], torch.stack(shares).mean(0))


def test_all_relevance_that_reaches_the_source_went_through_the_heads(view):
    """Attention over the encoder is the only way there; its value biases send back what they get."""
    found = propagate(view, AlphaBeta())
    torch.testing.assert_close(found.heads["cross"].sum((0, -1)), found.source.sum(-1))
