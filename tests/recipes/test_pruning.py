"""Gates and pruning: by hand on tiny models, and by the commands that users type."""

from __future__ import annotations

import copy
import re
from argparse import Namespace
from types import SimpleNamespace

import pytest
import recipe_steps.__main__ as recipe_steps
import torch
from fairseq.models.transformer.transformer_legacy import base_architecture
from normalign_training.gated_heads import GatedTransformerModel, gates_of
from normalign_training.pruning import prune, write_heads

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.hosts.fairseq.checkpoints import FUSED, safe_load
from fairseq_normalign.hosts.fairseq.loading import load_models
from fairseq_normalign.models.transformer_normalign import TransformerNormalignModel, attentions, read_heads
from tests.conftest import PACKAGE, REPOSITORY, TINY_TRAINING, lines_of, succeed
from tests.methods.tiny_models import dictionary, soft_alignments, tiny_batch

COMMON = REPOSITORY / "recipes/common"
TRAINING = COMMON / "normalign_training"
ALL = "encoder,decoder,cross"
LOCATIONS = {"encoder": [[1.0, -1.0], [-1.0, -2.0]], "decoder": [[-1.0, 0.5], [1.0, 1.0]], "cross": [[2.0, -0.1]] * 2}


def arguments(**options) -> Namespace:
    sizes = {"embed_dim": 8, "ffn_embed_dim": 12, "attention_heads": 2, "layers": 2}
    each = {f"{side}_{name}": size for side in ("encoder", "decoder") for name, size in sizes.items()}
    args = Namespace(arch="transformer_normalign_gated", **each, **options)
    base_architecture(args)
    return args


def tiny(args: Namespace):
    kind = TransformerNormalignModel if args.arch == "transformer_normalign" else GatedTransformerModel
    words = dictionary()
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words)
    torch.manual_seed(3)
    model = kind.build_model(args, task)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "gates" not in name:
                parameter.normal_(std=0.5)
    return model.eval()


def gated():
    model = tiny(arguments(normalign_gates=ALL))
    for kind, layers in LOCATIONS.items():
        for attention, locations in zip(attentions(model, kind), layers, strict=True):
            attention.gates.location.data = torch.tensor(locations)
    return model


def output(model):
    batch = tiny_batch(model.decoder.dictionary)
    previous = torch.tensor([[2, 5, 6, 7], [2, 6, 4, 5]])
    return model(**batch.encoder_input, prev_output_tokens=previous)[0]


def saved(model, args, path):
    torch.save({"args": args, "model": model.state_dict(), "last_optimizer_state": {"much": torch.ones(3)}}, path)
    return path


def test_without_gates_the_keys_are_those_of_the_transformer():
    from fairseq.models.transformer import TransformerModel

    words = dictionary()
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words)
    plain = TransformerModel.build_model(arguments(), task)
    assert list(tiny(arguments()).state_dict()) == list(plain.state_dict())
    extra = set(tiny(arguments(normalign_gates="cross")).state_dict()) - set(plain.state_dict())
    assert extra == {f"decoder.layers.{layer}.encoder_attn.gates.location" for layer in (0, 1)}


def test_a_closed_head_adds_nothing():
    model = gated()
    by_hand = copy.deepcopy(model)
    for kind, layers in LOCATIONS.items():
        for attention, locations in zip(attentions(by_hand, kind), layers, strict=True):
            attention.gates.location.data.fill_(1)
            for head, location in enumerate(locations):
                if location < 0:
                    attention.out_proj.weight.data[:, 4 * head : 4 * head + 4] = 0
    assert torch.allclose(output(model), output(by_hand), atol=1e-6)
    assert not torch.allclose(output(model), output(tiny(arguments())), atol=1e-3)


def test_copies_have_gates_of_their_own():
    model = gated()
    before = output(model)
    other = copy.deepcopy(model)
    for _, gates in gates_of(other):
        gates.location.data.fill_(5)
    assert torch.equal(output(model), before)
    assert not torch.allclose(output(other), before, atol=1e-3)


def test_in_training_gates_learn():
    model = gated().train()
    output(model).logsumexp(-1).sum().backward()
    assert any(bool(gates.location.grad.ne(0).any()) for _, gates in gates_of(model))
    assert {kind for kind, _ in gates_of(model)} == {"encoder", "decoder", "cross"}


def test_pruned_is_gated_and_smaller(tmp_path):
    model, args = gated(), arguments(normalign_gates=ALL)
    found = prune(saved(model, args, tmp_path / "gated.pt"), tmp_path / "small.pt")
    assert found.after == {"encoder": [1, 0], "decoder": [1, 2], "cross": [1, 1]}
    state = safe_load(tmp_path / "small.pt")
    assert state["last_optimizer_state"] is None
    assert state["args"].normalign_heads == "encoder:1,0;decoder:1,2;cross:1,1"
    small = tiny(state["args"])
    small.load_state_dict(state["model"], strict=True)
    assert torch.allclose(output(small), output(model), atol=1e-6)
    learned = [p.numel() for name, p in small.named_parameters() if name.rpartition(".")[2] not in FUSED]
    assert sum(learned) == found.parameters[1] < found.parameters[0]
    assert [attention.num_heads for attention in attentions(small, "cross")] == [1, 1]
    batch = tiny_batch(model.decoder.dictionary)
    for one, other in zip(*(soft_alignments([either], batch, "norms") for either in (model, small)), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_what_cannot_be_pruned_is_refused(tmp_path, capsys):
    plain = saved(tiny(arguments()), arguments(), tmp_path / "plain.pt")
    assert recipe_steps.main(["prune", str(plain), "-o", str(tmp_path / "out.pt")]) == 2
    assert "has no gates" in capsys.readouterr().err
    assert not (tmp_path / "out.pt").exists()
    with pytest.raises(NormalignError, match="no attention 'encodr'"):
        tiny(arguments(normalign_gates="encodr"))
    with pytest.raises(NormalignError, match="3 heads"):
        tiny(arguments(normalign_heads="cross:3,1"))
    with pytest.raises(NormalignError, match="cannot be read"):
        read_heads("cross:x")
    assert read_heads(write_heads({"cross": [1, 0]})) == {"cross": [1, 0]}


def test_the_whole_way_by_commands(binarized, plain_checkpoint, tmp_path):
    """Fine-tune a stock checkpoint with gates, close some, prune, translate: the same with gates and without heads."""
    gates, small = tmp_path / "gates" / "checkpoint_last.pt", tmp_path / "small.pt"
    steps = ("python", "-m", "recipe_steps")
    given = ("model-options", plain_checkpoint, "--arch", "transformer_normalign_gated")
    architecture = succeed(*steps, *given, cwd=COMMON).stdout.split()
    trained = succeed(
        *("fairseq-train", binarized, "--user-dir", TRAINING, "--save-dir", gates.parent, "--max-update", 25),
        *("--finetune-from-model", plain_checkpoint, *architecture, "--task", "translation_normalign"),
        *("--normalign-gates", ALL, "--normalign-gates-speed", 60, *TINY_TRAINING),
        *("--criterion", "label_smoothed_cross_entropy_with_head_gates", "--normalign-gates-lambda", 0.05),
        *("--log-interval", 5, "--log-format", "simple"),
    )
    heads = [int(float(count)) for count in re.findall(r"heads_cross=([\d.]+)", trained.stdout + trained.stderr)]
    assert heads
    assert heads[-1] < 6, "no head was closed: raise lambda"
    assert "cross" in succeed(*steps, "prune", gates, "-o", small, cwd=COMMON).stdout
    before, after = (
        succeed(
            *("fairseq-generate", binarized, "--path", path, "--user-dir", user_dir, "-s", "de", "-t", "en", "--cpu"),
            *("--task", "translation_normalign", "--beam", 3, "--max-len-b", 20, "--gen-subset", "test1"),
            *("--print-alignment", "hard"),
        ).stdout
        for path, user_dir in ((gates, TRAINING), (small, PACKAGE))
    )
    assert lines_of(before, "A")
    assert lines_of(before, "H")
    said = [[line[0].split("\t")[1] for line in lines_of(log, "H").values()] for log in (before, after)]
    assert said[0] == said[1]
    assert lines_of(before, "A") == lines_of(after, "A")
    models = load_models(small, data=binarized).models
    assert sum(attention.num_heads for attention in attentions(models[0], "cross")) <= 6
