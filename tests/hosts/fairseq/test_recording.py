"""What only fairseq's models do: beams, aligners, pruned heads, its own alignments; `test_reading.py` has the rest."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.host import FairseqModel
from fairseq_normalign.hosts.fairseq.model import (
    make_readable,
)
from fairseq_normalign.hosts.fairseq.patches import register
from fairseq_normalign.hosts.protocol import Batch
from fairseq_normalign.methods.norms import decomposition_error
from tests.conftest import TINY_MODEL
from tests.methods.tiny_models import make_batch, soft_alignments

register()

VARIANTS = {
    "plain": ["--arch", "transformer"],
    "ours": ["--arch", "transformer_normalign"],
    "guided by all": ["--arch", "transformer_align", "--full-context-alignment"],
    "aligner": ["--arch", "normalign_aligner", "--decoder-layers", "2"],
}


def build(data: Path, options: list[str]) -> tuple:
    """A random model by fairseq's own way from the command line."""
    from fairseq import options as host_options
    from fairseq import tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    arguments = [str(data), "--task", "translation_normalign", "-s", "de", "-t", "en", *TINY_MODEL, *options]
    args = host_options.parse_args_and_arch(host_options.get_training_parser(), input_args=arguments)
    config = convert_namespace_to_omegaconf(args)
    task = tasks.setup_task(config.task)
    torch.manual_seed(3)
    return task, task.build_model(config.model)


def sample(task, pairs: list[tuple[str, str]], left_pad: bool = True) -> Batch:
    dictionary = task.source_dictionary
    sources = [[*(dictionary.index(piece) for piece in source.split()), dictionary.eos()] for source, _ in pairs]
    length = max(map(len, sources))
    tokens = torch.full((len(pairs), length), dictionary.pad())
    for row, source in enumerate(sources):
        tokens[row, length - len(source) :] = torch.tensor(source)
        if not left_pad:
            tokens[row] = torch.tensor(source + [dictionary.pad()] * (length - len(source)))
    targets = [torch.tensor([task.target_dictionary.index(piece) for piece in target.split()]) for _, target in pairs]
    return make_batch(tokens, targets, list(range(len(pairs))), dictionary)


PAIRS = [("d1 d0@@ e0 d2", "x2 x0@@ y0 x1"), ("d5", "x5"), ("d4 d2 d1 d7 d8", "x8 x7")]


def soft(task, models, batch, method="norms", layers=None, **options):
    return soft_alignments(models, batch, method, layers, **options)


def records(task, model, batch):
    found = {}
    host = FairseqModel(model)
    host.read_layers(batch, range(host.layers), found.__setitem__, outputs=True)
    return found


def test_weights_are_what_fairseq_itself_returns(binarized):
    task, model = build(binarized, VARIANTS["plain"])
    batch = sample(task, PAIRS[:1])
    model.eval()
    start = torch.tensor([task.target_dictionary.eos()])
    previous = torch.cat([start, batch.targets[0]])[None]
    _, extra = model(**batch.encoder_input, prev_output_tokens=previous)
    ours = soft(task, [model], batch, "weights")[0][-1]
    np.testing.assert_allclose(ours, extra["attn"][0][0].detach().numpy(), atol=1e-6)


@pytest.mark.parametrize(("name", "sees_all"), [("plain", False), ("guided by all", True), ("aligner", True)])
def test_only_aligners_see_the_words_that_follow(binarized, name, sees_all):
    task, model = build(binarized, VARIANTS[name])
    one, other = (soft(task, [model], sample(task, [("d1 d2 d3", f"x1 x2 {last}")]))[0] for last in ("x3", "x7"))
    assert np.allclose(one[:, :3], other[:, :3]) is not sees_all


def test_an_aligner_starts_from_the_lower_layers_of_a_deeper_model(binarized):
    _, plain = build(binarized, VARIANTS["plain"])
    task, aligner = build(binarized, VARIANTS["aligner"])
    aligner.load_state_dict(plain.state_dict(), strict=True)
    batch = sample(task, [("d1 d2", "x1")])
    ours, theirs = (soft(task, [model], batch, layers=[0])[0][0] for model in (aligner, plain))
    np.testing.assert_array_equal(ours[-1], theirs[-1])  # the last word has seen all words anyway
    assert not np.allclose(ours[0], theirs[0])


def test_a_beam_size_left_over_is_set_aside_and_put_back(binarized):
    task, model = build(binarized, VARIANTS["plain"])
    batch = sample(task, PAIRS * 2)
    before = soft(task, [model], batch)
    model.decoder.set_beam_size(3)
    after = soft(task, [model], batch)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert all(layer.encoder_attn.beam_size == 3 for layer in model.decoder.layers)


def test_pruned_heads(binarized):
    task, model = build(binarized, VARIANTS["plain"])
    attention = model.decoder.layers[1].encoder_attn
    attention._adaptive_prune_heads([(8, 16)])
    attention._set_skip_embed_dim_check()
    found = records(task, model, sample(task, PAIRS))
    assert [record.heads for record in found.values()] == [2, 1, 2]
    assert all(decomposition_error(record) < 1e-5 for record in found.values())


def test_what_hides_attention_is_switched_off():
    module = torch.nn.Linear(1, 1)
    module.can_use_fastpath, module.use_xformers = True, True
    make_readable(torch.nn.Sequential(module))
    assert (module.can_use_fastpath, module.use_xformers) == (False, False)


def test_checkpoints_of_transformer_and_ours_are_the_same_thing(binarized):
    _, plain = build(binarized, VARIANTS["plain"])
    _, ours = build(binarized, VARIANTS["ours"])
    assert list(plain.state_dict()) == list(ours.state_dict())
    ours.load_state_dict(plain.state_dict(), strict=True)
    plain.load_state_dict(ours.state_dict(), strict=True)


@pytest.mark.parametrize("arch", ["transformer_normalign_wmt_en_de", "transformer_normalign_big"])
def test_architectures_have_the_sizes_of_their_namesakes(arch):
    from fairseq.models import ARCH_CONFIG_REGISTRY

    theirs = {"transformer_normalign_wmt_en_de": "transformer_wmt_en_de"}.get(arch, "transformer_vaswani_wmt_en_de_big")
    sizes = []
    for name in (arch, theirs):
        args = Namespace()
        ARCH_CONFIG_REGISTRY[name](args)
        sizes.append(vars(args))
    assert sizes[0] == sizes[1]


def test_a_head_that_is_not_there(binarized):
    task, model = build(binarized, VARIANTS["plain"])
    with pytest.raises(NormalignError, match="no head 3; the layer has 2"):
        soft(task, [model], sample(task, PAIRS), head=2)
