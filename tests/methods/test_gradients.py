import pytest
import torch
from tiny_models import make_batch, tiny_batch, tiny_transformer, tiny_view

from fairseq_normalign.methods.gradients import (
    InputTimesGradient,
    IntegratedGradients,
    Saliency,
    SmoothGrad,
    length,
    step_gradients,
    times,
)


def log_probs(view, embeddings):
    with torch.no_grad():
        return view.log_probs(view.features(embeddings))


def whole_gradients(view, embeddings):
    """[N, T + 1, S, E], taken out of the function before it reduces them."""
    kept = []
    step_gradients(view, embeddings, lambda found: (kept.append(found), length(found))[1])
    return torch.cat(kept).transpose(0, 1)


def test_gradients_equal_finite_differences(view):
    embeddings = view.source_embeddings
    found = whole_gradients(view, embeddings)
    step = 1e-6
    for place in range(embeddings.size(1)):
        for channel in range(embeddings.size(2)):
            there, back = embeddings.clone(), embeddings.clone()
            there[:, place, channel] += step
            back[:, place, channel] -= step
            slope = (log_probs(view, there) - log_probs(view, back)) / (2 * step)
            torch.testing.assert_close(found[:, :, place, channel], slope, atol=1e-7, rtol=1e-6)


def test_padding_and_later_targets_get_nothing(view):
    assert bool((Saliency().run(view, [])[0].transpose(1, 2)[view.source_padding] == 0).all())


def test_saliency_and_input_times_gradient_reduce_the_same_gradient(view):
    whole = whole_gradients(view, view.source_embeddings)
    torch.testing.assert_close(Saliency().run(view, [])[0], whole.pow(2).sum(-1).sqrt())
    by_hand = torch.einsum("ntse,nse->nts", whole, view.source_embeddings)
    torch.testing.assert_close(InputTimesGradient().run(view, [])[0], by_hand)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_integrated_gradients_add_up_to_the_difference(pre_norm):
    """With a smooth activation: the kinks of ReLU need many more points."""
    with tiny_view(tiny_transformer(pre_norm=pre_norm, layers=1, activation_fn="gelu")) as view:
        embeddings = view.source_embeddings
        difference = log_probs(view, embeddings) - log_probs(view, torch.zeros_like(embeddings))
        total = IntegratedGradients(n=20).run(view, [])[0].sum(-1)
    torch.testing.assert_close(total, difference, atol=float(difference.abs().max()) * 1e-3, rtol=0)


def test_smoothgrad_is_the_mean_of_the_positive_parts_of_the_noisy_copies(view):
    embeddings = view.source_embeddings
    method = SmoothGrad(n=3, sigma=0.2)
    total = 0
    for sample in range(3):
        noisy = embeddings.clone()
        for number, real in enumerate(~view.source_padding):
            sentence = embeddings[number][real]
            drawn = torch.randn(3, *sentence.shape, generator=torch.Generator().manual_seed(1)).double()
            noisy[number][real] = sentence + drawn[sample] * 0.2 * (sentence.max() - sentence.min())
        total = total + step_gradients(view, noisy, times(embeddings)).clamp_min(0)
    torch.testing.assert_close(method.run(view, [])[0], total / 3)


def test_smoothgrad_without_noise_is_the_positive_part_of_input_times_gradient(view):
    expected = InputTimesGradient().run(view, []).clamp_min(0)
    torch.testing.assert_close(SmoothGrad(n=2, sigma=0.0).run(view, []), expected)


def test_smoothgrad_of_a_sentence_does_not_hang_on_its_batch(model):
    batch = tiny_batch()
    alone = make_batch(batch.source_tokens[1:, 2:], batch.targets[1:2], [0], model.decoder.dictionary)
    with tiny_view(model, batch) as both, tiny_view(model, alone) as one:
        found = SmoothGrad(n=2).run(both, [])[0, 1, :3, 2:]
        torch.testing.assert_close(found, SmoothGrad(n=2).run(one, [])[0, 0])


@pytest.mark.parametrize("pre_norm", [False, True])
def test_captum_agrees(pre_norm):
    """captum runs the model once for each target word; the same numbers must come out."""
    attr = pytest.importorskip("captum.attr")
    methods = Saliency(), InputTimesGradient(), IntegratedGradients(n=5)
    with tiny_view(tiny_transformer(pre_norm=pre_norm, layers=1)) as view:
        embeddings = view.source_embeddings
        saliency, product, integral = (method.run(view, [])[0] for method in methods)
        for row, step in ((0, 0), (1, 2), (2, 4)):

            def of_word(points, row=row, step=step):
                rows = torch.full((len(points),), row)
                with torch.enable_grad():
                    return view.log_probs(view.features(points, rows), rows)[:, step]

            point = embeddings[row : row + 1].clone()
            by_captum = attr.Saliency(of_word).attribute(point, abs=False)[0].norm(dim=-1)
            torch.testing.assert_close(saliency[row, step], by_captum)
            by_captum = attr.InputXGradient(of_word).attribute(point)[0].sum(-1)
            torch.testing.assert_close(product[row, step], by_captum)
            by_captum = attr.IntegratedGradients(of_word).attribute(point, n_steps=5, method="gausslegendre")[0].sum(-1)
            torch.testing.assert_close(integral[row, step], by_captum.detach())
