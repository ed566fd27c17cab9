"""Models of the library transformers, made here; skipped where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairseq_normalign.hosts.transformers.loading import hide_broken_audio
from fairseq_normalign.hosts.transformers.masked import BertObserver
from fairseq_normalign.methods.block import decomposition_error

hide_broken_audio()
transformers = pytest.importorskip("transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "."]


@pytest.fixture
def bert(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=12,
        max_position_embeddings=16,
    )
    torch.manual_seed(1)
    model = transformers.BertModel(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    model.save_pretrained(tmp_path)
    return tmp_path


def test_blocks_add_up(bert):
    observer, blocks = BertObserver(bert), []
    tokens = torch.tensor([[2, 5, 6, 3], [2, 7, 3, 0]])
    observer.run(tokens, tokens != 0, lambda index, block: blocks.append(block))
    assert [decomposition_error(block) for block in blocks] == pytest.approx([0, 0], abs=1e-5)


def test_lines_and_categories(bert, capsys):
    from fairseq_normalign.cli import main

    observer = BertObserver(bert)
    (observed,) = observer.observed([("the cats sat .", ""), ("cat", ""), ("cat " * 20, "")])
    assert [WORDS[piece] for piece in observed.keys[1]] == ["[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]"]
    assert observer.skipped == {"too long": 1}
    assert np.allclose(observed.layers[0].weights[1].sum(-1), 1, atol=1e-5)
    (bert / "text").write_text("the cats sat .\n")
    assert main(["analyze", "categories", "--path", str(bert), "--source", str(bert / "text"), "--cpu"]) == 0
    assert "[CLS]  [SEP]  punctuation  others" in capsys.readouterr().out


def test_other_directories_are_refused(tmp_path, capsys):
    from fairseq_normalign.cli import main

    assert main(["analyze", "singular", "--path", str(tmp_path), "--cpu"]) == 2
    assert "config.json" in capsys.readouterr().err
