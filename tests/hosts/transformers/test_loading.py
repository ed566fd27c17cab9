"""A folder from a stranger runs nothing and reads no file but its own; what is wrong with it is one line."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch

from fairseq_normalign import NormalignError, load
from fairseq_normalign.hosts.transformers.loading import find_folder, load_model, load_tokenizer, safe_copy
from tests.hosts.transformers.tiny_families import transformers


@pytest.fixture
def copied(folder, tmp_path):
    """A function: a copy of a folder that may be spoilt."""

    def get(name: str = "marian") -> Path:
        return Path(shutil.copytree(folder(name), tmp_path / name))

    return get


def change(file: Path, **entries) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**content, **entries}), encoding="utf-8")


class RunsWhenLoaded:
    """Unpickling it makes a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def one_line(error) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_weights_in_the_old_form_are_read_as_tensors_alone(copied, tmp_path):
    path = copied()
    model = load_model(str(path))
    torch.save(model.state_dict(), path / "pytorch_model.bin")
    (path / "model.safetensors").unlink()
    again = load_model(str(path))
    for name, parameter in model.state_dict().items():
        assert torch.equal(parameter, again.state_dict()[name])
    ran = tmp_path / "ran"
    with open(path / "pytorch_model.bin", "wb") as handle:
        pickle.dump({"model.shared.weight": RunsWhenLoaded(ran)}, handle)
    with pytest.raises(NormalignError) as error:
        load_model(str(path))
    assert "its weights hold more than tensors" in one_line(error)
    torch.save({"model.shared.weight": RunsWhenLoaded(ran)}, path / "pytorch_model.bin")
    with pytest.raises(NormalignError):
        load_model(str(path))
    assert not ran.exists()


def test_safetensors_come_first(copied):
    path = copied()
    (path / "pytorch_model.bin").write_bytes(b"never read")
    assert load_model(str(path)).config.model_type == "marian"


def test_code_in_a_folder_is_not_run(copied, tmp_path):
    path, ran = copied(), tmp_path / "ran"
    code = f"open({str(ran)!r}, 'w').close()\nclass Config: pass\nclass Model: pass\nclass Tokenizer: pass\n"
    (path / "code.py").write_text(code, encoding="utf-8")
    classes = {"AutoConfig": "code.Config", "AutoModelForSeq2SeqLM": "code.Model"}
    change(path / "config.json", auto_map=classes)
    change(path / "tokenizer_config.json", auto_map={"AutoTokenizer": ["code.Tokenizer", None]})
    load_model(str(path))
    load_tokenizer(str(path))
    change(path / "config.json", model_type="unheard_of")
    with pytest.raises(NormalignError) as error:
        load_model(str(path))
    one_line(error)
    assert not ran.exists()


@pytest.mark.parametrize("entry", ["vocab", "target_vocab_file", "source_spm", "tokenizer_file", "vocab_file"])
@pytest.mark.parametrize("name", ["marian", "nllb"])
def test_a_configuration_cannot_name_other_files(copied, tmp_path, name, entry):
    path = copied(name)
    outside = tmp_path / "outside.json"
    outside.write_text('{"<unk>": 0, "secret": 1}', encoding="utf-8")
    change(path / "tokenizer_config.json", **{entry: str(outside), "separate_vocabs": False})
    assert "secret" not in load_tokenizer(str(path)).get_vocab()


def test_links_out_of_the_folder_are_not_followed(copied, tmp_path):
    path = copied()
    outside = tmp_path / "outside.json"
    shutil.move(path / "vocab.json", outside)
    os.symlink(outside, path / "vocab.json")
    with pytest.raises(NormalignError, match="leads out of its folder"):
        load_tokenizer(str(path))


def test_the_cache_of_the_hub_is_made_of_links(copied, tmp_path):
    path = copied()
    home = tmp_path / "models--me--mine"
    (home / "blobs").mkdir(parents=True)
    snapshot = home / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    for number, file in enumerate(path.iterdir()):
        shutil.copy(file, home / "blobs" / str(number))
        os.symlink(Path("../../blobs") / str(number), snapshot / file.name)
    assert load_tokenizer(str(snapshot)).get_vocab() == load_tokenizer(str(path)).get_vocab()


def test_an_index_names_only_files_of_its_folder(copied, tmp_path):
    path = copied()
    outside = tmp_path / "outside.safetensors"
    shutil.move(path / "model.safetensors", outside)
    index = {"metadata": {}, "weight_map": {"model.shared.weight": "../outside.safetensors"}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(NormalignError, match=r"'\.\./outside\.safetensors' is no file of its folder"):
        load_model(str(path))


def test_what_is_shown_to_the_library_is_gone_afterwards(folder):
    with safe_copy(folder("marian")) as copy:
        assert (copy / "config.json").is_file()
    assert not copy.exists()
    assert (folder("marian") / "model.safetensors").is_file()


def test_a_missing_model_says_what_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(NormalignError) as error:
        find_folder("nobody/has-this-model")
    said = one_line(error)
    assert said.startswith(
        "nobody/has-this-model: neither a file nor a folder, and not a model in this machine's cache"
    )
    with pytest.raises(NormalignError, match="no such folder, and no name of a model on the hub"):
        find_folder(str(tmp_path / "missing"))


def test_a_decoder_alone_cannot_be_aligned(tmp_path):
    config = transformers.GPT2Config(n_embd=8, n_layer=1, n_head=2, vocab_size=9, bos_token_id=0, eos_token_id=0)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    with pytest.raises(NormalignError, match="'gpt2' has no encoder and decoder"):
        load_model(str(tmp_path))


def save(file: Path, **entries) -> None:
    file.write_text(json.dumps(entries), encoding="utf-8")


def written(name: str, content: str | bytes):
    """A file of the folder with this content."""
    return lambda path: (path / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def configured(name: str = "config.json", **entries):
    """Other entries in a configuration."""
    return lambda path: change(path / name, **entries)


def searching(**entries):
    """What a folder says about translating."""
    return lambda path: save(path / "generation_config.json", **entries)


def indexed(index: object):
    """A vocabulary with an odd index."""

    def spoil(path: Path) -> None:
        pieces = json.loads((path / "vocab.json").read_text(encoding="utf-8"))
        save(path / "vocab.json", **{**pieces, list(pieces)[5]: index})

    return spoil


def replacing(pattern: dict, content: str) -> dict:
    return {"type": "Replace", "pattern": pattern, "content": content}


ENDLESS = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
LONGER = {"type": "Sequence", "normalizers": [replacing({"String": "a"}, "a" * 10)] * 9}
STRANGERS = [
    ("marian", written("config.json", "{"), "not a JSON file"),
    ("marian", written("config.json", "[]"), "not a JSON object"),
    ("marian", lambda path: (path / "config.json").unlink(), "without config.json"),
    ("marian", lambda path: (path / "model.safetensors").unlink(), "no weights"),
    ("marian", written("model.safetensors", b"\0" * 20), "its weights have 20 bytes"),
    ("marian", written("vocab.json", b"\xff{"), "not a JSON file"),
    ("marian", written("tokenizer_config.json", b"\xff{"), "not a JSON file"),
    ("marian", written("source.spm", b"\xff{"), "cannot be made into a model"),
    ("marian", configured(d_model="eight"), "cannot be made into a model"),
    ("marian", configured(decoder_layers=5), "its weights lack "),
    ("marian", configured(d_model=16), ""),
    ("marian", configured(model_type=7), "its model_type 7 is not known here"),
    ("marian", configured(eos_token_id=1.5), "eos_token_id cannot be"),
    *(("marian", indexed(index), "has the index") for index in (1.5, "7", None, 1e30, 1.5e9, 1_500_000_000, -1)),
    ("marian", searching(bad_words_ids="all"), "bad_words_ids cannot be"),
    ("marian", searching(length_penalty=float("nan")), "length_penalty cannot be"),
    ("marian", searching(eos_token_id=[None]), "eos_token_id cannot be"),
    ("marian", searching(bad_words_ids=[[1, "a"]]), "bad_words_ids cannot be"),
    ("nllb", configured("tokenizer.json", normalizer=LONGER), "cannot split"),
    ("nllb", configured("tokenizer.json", pre_tokenizer=ENDLESS), "cannot split"),
    ("nllb", configured("tokenizer.json", added_tokens=[{"id": 1.5e9, "content": "x"}]), "has the index"),
    ("fsmt", written("vocab-src.json", '{"a": 0}'), "no piece <unk>"),
    ("fsmt", written("vocab-tgt.json", '{"a": 0}'), "no piece <unk>"),
]
"""Family, what is spoilt in its folder, and what is said."""


@pytest.mark.parametrize(("name", "spoil", "expected"), STRANGERS)
def test_what_a_stranger_may_write_is_one_line(copied, name, spoil, expected):
    path = copied(name)
    spoil(path)
    with pytest.raises(NormalignError) as error:
        load(path, **({"source_lang": "deu_Latn", "target_lang": "eng_Latn"} if name == "nllb" else {}))
    assert expected in one_line(error)
    assert str(path) in one_line(error)


def test_no_kernels_are_fetched_and_odd_search_options_are_ignored(copied):
    path = copied()
    expected = load(path).translate(["der hund"], beam=2)[0][0].target
    hub = {"attn_implementation": "kernels-community/flash-attn", "_attn_implementation": "flex_attention"}
    change(path / "config.json", **hub, quantization_config={"quant_method": "bitsandbytes"}, max_time=0.0)
    odd = {"max_time": 0.0, "stop_strings": "e", "num_beams": "many", "prompt_lookup_num_tokens": -1, "nonsense": {}}
    save(path / "generation_config.json", **odd)
    assert load_model(str(path)).config._attn_implementation == "eager"
    assert load(path).translate(["der hund"], beam=2)[0][0].target == expected
