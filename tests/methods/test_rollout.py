import pytest
import torch
from tiny_models import dictionary, make_batch, tiny_transformer, tiny_view

from fairseq_normalign.methods.block import BlockView
from fairseq_normalign.methods.rollout import (
    AttentionRollout,
    Rollout,
    distance_shares,
    norm_shares,
    weight_shares,
)

METHODS = [Rollout(), Rollout("norm"), AttentionRollout()]


def blocks(record):
    yield from (layer.attention for layer in record.encoder)
    for layer in record.decoder:
        yield layer.attention
        yield layer.cross


def by_explicit_products(record, shares):
    """One matrix over source and target positions together for each layer, multiplied: [layers, B, S + T, S + T]."""
    first = record.encoder[0].attention.residual
    batch, sources = first.shape[:2]
    steps = record.decoder[0].attention.residual.size(1)
    size = sources + steps
    total = torch.eye(size, dtype=first.dtype).repeat(batch, 1, 1)
    for layer in record.encoder:
        whole = torch.eye(size, dtype=first.dtype).repeat(batch, 1, 1)
        whole[:, :sources, :sources] = shares(layer.attention)[0]
        total = whole @ total
    after = []
    for layer in record.decoder:
        own = torch.eye(size, dtype=first.dtype).repeat(batch, 1, 1)
        own[:, sources:, sources:] = shares(layer.attention)[0]
        cross = torch.eye(size, dtype=first.dtype).repeat(batch, 1, 1)
        of_source, of_residual = shares(layer.cross)
        cross[:, sources:, :sources] = of_source
        cross[:, sources:, sources:] = torch.diag_embed(of_residual)
        total = cross @ own @ total
        after.append(total)
    return torch.stack(after), sources


@pytest.mark.parametrize("method", METHODS, ids=["distance", "norm", "weights"])
def test_rollout_equals_explicit_matrix_products(view, method):
    record = view.record()
    expected, sources = by_explicit_products(record, method.shares)
    found = method.reach(record)
    torch.testing.assert_close(found.source, expected[:, :, sources:, :sources])
    torch.testing.assert_close(found.prefix, expected[:, :, sources:, sources:])


@pytest.mark.parametrize("method", METHODS, ids=["distance", "norm", "weights"])
def test_source_and_prefix_together_are_one(view, method):
    found = method.reach(view.record())
    total = found.source.sum(-1) + found.prefix.sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total))
    assert found.source.min() >= 0
    assert bool((found.source.transpose(2, 3)[:, view.source_padding] == 0).all())


@pytest.mark.parametrize("shares", [distance_shares, norm_shares, weight_shares])
def test_shares_of_a_block_add_up_to_one(view, shares):
    for block in blocks(view.record()):
        positions, residual = shares(block)
        total = positions.sum(-1) + residual
        torch.testing.assert_close(total, torch.ones_like(total))


def test_distances_by_hand(view):
    for block in blocks(view.record()):
        batch, steps, length = block.attention.weights[:, 0].shape
        parts = BlockView(block).vectors(slice(0, steps))
        carried = BlockView(block).residual()
        positions, residual = distance_shares(block)
        for b in range(batch):
            for t in range(steps):
                vectors = [parts[b, t, s] for s in range(length)]
                if block.kind == "cross":
                    vectors.append(carried[b, t])
                output = block.output[b, t]
                closer = [max(0.0, float(output.abs().sum() - (output - v).abs().sum())) for v in vectors]
                if not any(closer):
                    closer = [float(v.norm()) for v in vectors]
                expected = torch.tensor(closer, dtype=torch.float64) / sum(closer)
                found = positions[b, t] if block.kind != "cross" else torch.cat([positions[b, t], residual[b, t, None]])
                torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-6)


def test_steps_of_long_pairs_that_are_taken_in_parts():
    """Two pairs of 740 pieces on each side need more vectors than are kept at the same time; one pair does not."""
    words = dictionary()
    sources = torch.randint(words.nspecial, len(words), (2, 740), generator=torch.Generator().manual_seed(1))
    batches = [make_batch(sources[:n], list(sources[:n]), range(n), words) for n in (1, 2)]
    model = tiny_transformer(layers=1)
    alone, together = (tiny_view(model, batch) for batch in batches)
    with alone as one:
        expected = Rollout().reach(one.record()).source[:, 0]
    with together as both:
        torch.testing.assert_close(Rollout().reach(both.record()).source[:, 0], expected)


def test_layers_are_those_asked_for(view):
    every = Rollout().run(view, [0, 1])
    torch.testing.assert_close(Rollout().run(view, [1])[0], every[1])
