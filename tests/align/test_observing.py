"""What the analyses look at is what the model did."""

from __future__ import annotations

from argparse import Namespace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fairseq_normalign.analysis.attention_batch import PAD
from fairseq_normalign.hosts.fairseq.loading import dictionary_inventory
from fairseq_normalign.hosts.fairseq.masked import MaskedObserver
from fairseq_normalign.hosts.fairseq.model import FairseqModel
from fairseq_normalign.hosts.observer import observe
from fairseq_normalign.methods.block import decomposition_error
from fairseq_normalign.text.encoding import LineEncoder
from fairseq_normalign.text.subwords import AlreadyPieces
from tests.methods.tiny_models import dictionary, tiny_batch, tiny_transformer


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_lengths_are_those_of_the_transformed_vectors(kind):
    model = tiny_transformer()
    host, blocks = FairseqModel(model), {}
    batch = tiny_batch(model.decoder.dictionary)
    host.read_layers(batch, range(host.count(kind)), blocks.__setitem__, kind=kind, blocks=True)
    for index, part in enumerate(host.attention(kind)):
        block, attention = blocks[index], part.attention
        seen = observe(block, mixing=True)
        for sentence in range(2):
            for head in range(2):
                part = slice(4 * head, 4 * head + 4)
                for position, x in enumerate(block.inputs[sentence]):
                    value = attention.v_proj.weight[part] @ x + attention.v_proj.bias[part]
                    length = float((attention.out_proj.weight[:, part] @ value).norm())
                    assert seen.lengths[sentence, head, position] == pytest.approx(length)
        assert seen.inputs == pytest.approx(block.inputs.norm(dim=-1).numpy())
        assert set(seen.mixing) == {"attn", "attn+res", "attn+res+ln"}


def masked_lm(arch: str):
    from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY

    args = Namespace(arch=arch, encoder_layers=2, encoder_embed_dim=8, encoder_ffn_embed_dim=12)
    args.encoder_attention_heads, args.max_positions, args.tokens_per_sample = 2, 30, 30
    ARCH_CONFIG_REGISTRY[arch](args)
    words = dictionary()
    words.add_symbol("<mask>")
    torch.manual_seed(1)
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words, dictionary=words)
    model = ARCH_MODEL_REGISTRY[arch].build_model(args, task).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return args, model, words


def masked_observer(arch: str) -> MaskedObserver:
    _, model, words = masked_lm(arch)
    return MaskedObserver(model, words, LineEncoder(words, AlreadyPieces("words")), max_tokens=100)


@pytest.mark.parametrize("arch", ["roberta", "masked_lm"])
def test_masked_models_of_fairseq(arch):
    observer = masked_observer(arch)
    blocks = []
    tokens = torch.tensor([[0, 5, 6, 2], [0, 7, 2, 1]])
    observer.run(tokens, tokens != 1, lambda index, block: blocks.append(block))
    assert [decomposition_error(block) for block in blocks] == pytest.approx([0, 0], abs=1e-5)
    (observed,) = observer.observed([("w1 w2 w3", ""), ("w4", ""), ("", "")])
    assert observer.skipped == {"empty": 1}
    assert observed.keys.tolist() == [[0, 8, 2, PAD, PAD], [0, 5, 6, 7, 2]]
    for layer in observed.layers:
        assert layer.weights.shape == (2, 2, 5, 5)
        assert np.allclose(layer.weights[:, :, :3].sum(-1), 1, atol=1e-5)
        assert not layer.weights[0, :, :, 3:].any()
    assert len(observer.projections()) == 2


def test_hidden_pieces():
    observer = masked_observer("roberta")
    observer.hide(0.5, seed=1)
    (observed,) = observer.observed([("w1 w2 w3 w4 w5 w6 w7 w8", "")])
    hidden = observed.keys[0] == observer.keys.symbols.index("<mask>")
    assert 0 < hidden[1:-1].sum() < 8
    assert not hidden[[0, -1]].any()


def test_special_pieces_of_a_dictionary():
    words = dictionary()
    words.add_symbol("<2de>")
    words.add_symbol("<mask>")
    inventory = dictionary_inventory(words)
    assert {inventory.symbols[number] for number in inventory.special} == {"<s>", "</s>", "<pad>", "<2de>", "<mask>"}


def test_a_checkpoint_of_a_masked_model(tmp_path, capsys):
    from fairseq_normalign.cli import main

    args, model, words = masked_lm("roberta")
    torch.save({"args": args, "model": model.state_dict()}, tmp_path / "roberta.pt")
    with open(tmp_path / "dict.txt", "w") as handle:
        handle.writelines(f"{symbol} {9 - n}\n" for n, symbol in enumerate(words.symbols[words.nspecial : -1]))
    (tmp_path / "text").write_text("w1 w2 w3 w4\nw0 w5\n")
    command = ["--path", str(tmp_path / "roberta.pt"), "--source", str(tmp_path / "text"), "--cpu"]
    assert main(["analyze", "mixing", *command, "--mask", "0.5"]) == 0
    assert "<mask>" in capsys.readouterr().out
    assert main(["analyze", "mixing", *command, "--attention", "cross"]) == 2
    assert "the encoder's only" in capsys.readouterr().err
