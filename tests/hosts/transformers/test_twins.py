"""A fairseq model and its twin in transformers give the same, for every layer, head and method of the registry."""

from __future__ import annotations

import contextlib

import pytest
import torch

from fairseq_normalign.attribution import METHODS, BlockMethod, LayerMethod, ModelMethod, get_method
from fairseq_normalign.hosts.fairseq.recording import read_blocks, read_cross_attention, run_decoder, teacher_forcing
from fairseq_normalign.hosts.transformers import recording
from fairseq_normalign.hosts.transformers.structure import Structure
from fairseq_normalign.hosts.transformers.whole_model import forced_view
from tests.attribution.tiny_models import tiny_batch, tiny_transformer, tiny_view
from tests.hosts.transformers.from_fairseq import converted

LAYERS = [0, 1, 2]
EXTRA = ["block:variant=attn", "rollout:measure=norm", "relevance:rule=alpha-beta", "erasure:how=remove"]
ALL_METHODS = [*sorted(METHODS), *EXTRA]


@pytest.fixture(autouse=True)
def _exact_softmax(monkeypatch):
    """fairseq rounds attention weights to float32 whatever the model runs in."""
    monkeypatch.setattr("fairseq.utils.softmax", lambda x, dim, onnx_trace=False: torch.softmax(x, dim))


@pytest.fixture(scope="module", params=[False, True], ids=["post-norm FSMT", "pre-norm M2M100"])
def twins(request):
    model = tiny_transformer(pre_norm=request.param, layers=len(LAYERS))
    if not request.param:  # FSMT cannot run in float64
        model = model.float()
    return model, converted(model, request.param)


def tokens_of(model, batch):
    words = model.decoder.dictionary
    rows = [[words.eos(), *target.tolist()] for target in batch.targets]
    longest = max(map(len, rows))
    return torch.tensor([row + [words.pad()] * (longest - len(row)) for row in rows]), [len(row) for row in rows]


def both(method, record):
    together, by_head = method.both(record)
    return together.clone(), by_head.clone()


def in_fairseq(model, batch, method):
    """{layer: (all heads, each head)} of a method that reads layers; what it gives of one that reads the model."""
    if isinstance(method, ModelMethod):
        with tiny_view(model, batch) as view:
            return method.run(view, LAYERS), view.source_padding
    tokens, _ = tokens_of(model, batch)
    with teacher_forcing(model):
        encoded = model.encoder(**batch.encoder_input)
        encoded = model.encoder.reorder_encoder_out(encoded, torch.tensor(batch.rows))
        if isinstance(method, LayerMethod):
            return read_cross_attention(model, encoded, tokens, LAYERS, lambda record: both(method, record))
        run = lambda: run_decoder(model, tokens, encoded)  # noqa: E731
        return read_blocks(model, "cross", run, LAYERS, lambda record: both(method, record))


def in_transformers(twin, model, batch, method):
    words = model.decoder.dictionary
    sources = batch.encoder_input["src_tokens"][torch.tensor(batch.rows)]
    inputs = {"input_ids": sources, "attention_mask": sources.ne(words.pad()).long()}
    tokens, lengths = tokens_of(model, batch)
    if isinstance(method, ModelMethod):
        with forced_view(Structure(twin), inputs, tokens, lengths, words.eos()) as view:
            return method.run(view, LAYERS), view.source_padding
    found = {}
    recording.read_cross_attention(
        Structure(twin),
        inputs,
        tokens,
        LAYERS,
        lambda layer, record: found.__setitem__(layer, both(method, record)),
        blocks=isinstance(method, BlockMethod),
    )
    return found


def close(here, there, lengths, padding):
    for row, steps in enumerate(lengths):
        ours, theirs = here[..., row, :steps, :], there[..., row, :steps, :]
        kept = ~padding[row]
        scale = theirs[..., kept].abs().max().clamp_min(1)
        assert torch.allclose(ours[..., kept] / scale, theirs[..., kept] / scale, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ALL_METHODS)
def test_every_method_agrees(twins, name):
    model, twin = twins
    batch = tiny_batch()
    method = get_method(name)
    _, lengths = tokens_of(model, batch)
    padding = batch.encoder_input["src_tokens"][torch.tensor(batch.rows)].eq(model.decoder.dictionary.pad())
    theirs, ours = in_fairseq(model, batch, method), in_transformers(twin, model, batch, method)
    if isinstance(method, ModelMethod):
        assert torch.equal(ours[1], theirs[1])
        close(ours[0], theirs[0], lengths, padding)
        return
    assert sorted(ours) == sorted(theirs) == LAYERS
    for layer in LAYERS:
        close(ours[layer][0], theirs[layer][0], lengths, padding)
        close(ours[layer][1].transpose(0, 1), theirs[layer][1].transpose(0, 1), lengths, padding)


def test_the_twins_say_the_same_words(twins):
    """What the features are turned into: the log-probability of each forced piece, as the host itself has it."""
    model, twin = twins
    batch = tiny_batch()
    words = model.decoder.dictionary
    tokens, lengths = tokens_of(model, batch)
    sources = batch.encoder_input["src_tokens"][torch.tensor(batch.rows)]
    inputs = {"input_ids": sources, "attention_mask": sources.ne(words.pad()).long()}
    logits = twin(**inputs, decoder_input_ids=tokens, use_cache=False).logits.log_softmax(-1)
    with contextlib.ExitStack() as stack:
        view = stack.enter_context(forced_view(Structure(twin), inputs, tokens, lengths, words.eos()))
        found = view.log_probs(view.features(view.source_embeddings))
    for row, target in enumerate(batch.targets):
        for step, piece in enumerate([*target.tolist(), words.eos()]):
            assert abs(float(found[row, step] - logits[row, step, piece])) < 1e-5
    assert isinstance(get_method("norms"), LayerMethod)
