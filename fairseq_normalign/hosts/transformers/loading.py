"""Folders and hub names made into models and tokenizers; a stranger's folder runs nothing and reads nothing else.

The library is not shown the folder itself but a copy of it: links to the files that belong to a model, and those
entries of its configurations that describe a model, its tokenizer or its special pieces. Whatever names other files,
code, kernels or a way to quantize is left out. Sizes, the indices of pieces and the steps of a tokenizer are checked
first: a small file must not fill the memory. Weights are read as safetensors, or by torch's loader for tensors alone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ...errors import MissingExtra, NormalignError
from ..reading import check_parameters

CONFIG, TOKENIZER_CONFIG, GENERATION_CONFIG = "config.json", "tokenizer_config.json", "generation_config.json"
TEXT_FILES = (
    *("tokenizer.json", "vocab.json", "vocab.txt", "merges.txt", "special_tokens_map.json", "added_tokens.json"),
    *("source.spm", "target.spm", "target_vocab.json", "vocab-src.json", "vocab-tgt.json", "spiece.model"),
    *("sentencepiece.bpe.model", "sentencepiece.model", "spm.model", "tokenizer.model", "generation_config.json"),
)
"""What a tokenizer may be made of, by its name."""
SAFE, PICKLED = "model*.safetensors", "pytorch_model*.bin"
INDEX = {SAFE: "model.safetensors.index.json", PICKLED: "pytorch_model.bin.index.json"}
TOKENIZER_OPTIONS = {
    *("tokenizer_class", "model_max_length", "padding_side", "src_lang", "tgt_lang", "source_lang", "target_lang"),
    *("langs", "do_lower_case", "language_codes", "num_madeup_words", "separate_vocabs", "legacy", "legacy_behaviour"),
    *("extra_ids", "offset", "add_prefix_space", "clean_up_tokenization_spaces", "added_tokens_decoder"),
    *("additional_special_tokens", "extra_special_tokens", "bos_token", "eos_token", "unk_token", "sep_token"),
    *("pad_token", "cls_token", "mask_token", "mask_token_sent", "trim_offsets", "keep_accents", "do_lower_case"),
}
"""What a tokenizer's configuration may say; everything else, above all names of files, is left out."""
SEARCH_OPTIONS = {
    "bos_token_id": int,
    "eos_token_id": (int, list),
    "pad_token_id": int,
    "decoder_start_token_id": int,
    "forced_bos_token_id": int,
    "forced_eos_token_id": (int, list),
    "bad_words_ids": list,
    "early_stopping": bool,
    "renormalize_logits": bool,
    "length_penalty": (int, float),
    "repetition_penalty": (int, float),
    "no_repeat_ngram_size": int,
}
"""What a configuration may say about translating, and the types; everything else is this program's to decide."""
MODEL_OPTIONS = {
    *(
        "model_type",
        "architectures",
        "tokenizer_class",
        "task_specific_params",
        "torch_dtype",
        "max_position_embeddings",
    ),
    *("num_hidden_layers", "n_positions", "normalize_before", "normalize_embedding", "add_final_layer_norm"),
    *("static_position_embeddings", "add_bias_logits", "decoder_vocab_size", "head_dim", "tie_encoder_decoder"),
}
"""Entries of a model's configuration beside those that its class knows."""
NOT_OF_A_MODEL = re.compile(r"_|attn_implementation|experts_implementation|auto_map|quantization|transformers_weights")
"""How entries start that no model needs, even where its class knows them."""
MOST_PIECES = 1 << 22
VOCABULARIES = ("vocab.json", "vocab-src.json", "vocab-tgt.json", "target_vocab.json", "added_tokens.json")
MOST_GROWTH = 100
"""How many times longer the steps of a tokenizer may make a text."""
KNOWN_PATTERNS = {
    r" {2,}",
    r"\s+",
    r"[\r\n]",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
}
PROBE = """
import sys
import tokenizers
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
except ImportError:
    pass
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
for letters in sys.argv[2:]:
    tokenizer.encode(letters * (3000 // len(letters)) + "!")
"""
"""Tries a tokenizer on long texts of equal letters, which patterns that take for ever cannot split."""


def load_model(path: str, *, device: str = "cpu", dtype: torch.dtype | None = None) -> Any:
    """Load the encoder-decoder model of a folder or hub name, in float32 unless another type is asked for.

    >>> load_model("opus-mt-de-en").config.model_type  # doctest: +SKIP
    'marian'
    """
    folder = find_folder(path)
    with library(path) as host, safe_copy(folder) as copy:
        weights = _check_weights(folder)
        check_sizes(_read(folder / CONFIG, folder), folder, weights)
        config = host.AutoConfig.from_pretrained(str(copy), trust_remote_code=False, local_files_only=True)
        if not config.is_encoder_decoder:
            raise NormalignError(
                f"{path}: a model of the kind '{config.model_type}' has no encoder and decoder; alignments come from "
                "the attention between them"
            )
        model, found = host.AutoModelForSeq2SeqLM.from_pretrained(
            str(copy),
            config=config,
            dtype=dtype or torch.float32,
            trust_remote_code=False,
            local_files_only=True,
            use_safetensors=weights == SAFE,
            attn_implementation="eager",
            weights_only=True,
            output_loading_info=True,
        )
    missing = sorted(name for name in found["missing_keys"] if "embed_positions" not in name)
    if missing:  # the library would make them up
        raise NormalignError(f"{path}: its weights lack {len(missing)} parameters of the model ({missing[0]}, ...)")
    check_parameters(model, path)
    return model.to(device).eval().requires_grad_(False)


def load_tokenizer(path: str) -> Any:
    """Load the tokenizer of a folder or hub name."""
    folder = find_folder(path)
    with library(path) as host, safe_copy(folder) as copy:
        return host.AutoTokenizer.from_pretrained(str(copy), trust_remote_code=False, local_files_only=True)


def find_folder(path: str) -> Path:
    """Return the folder that ``path`` names, or that a model of the hub has on this machine, once it is there."""
    folder = Path(path)
    if folder.is_dir():
        if not (folder / CONFIG).is_file():
            raise NormalignError(f"{path}: a folder without {CONFIG} is no model of transformers")
        return folder
    if folder.exists() or not _is_hub_name(path):
        raise NormalignError(f"{path}: no such folder, and no name of a model on the hub")
    return _downloaded(path)


def _is_hub_name(path: str) -> bool:
    parts = path.split("/")
    return len(parts) <= 2 and all(part and not part.startswith(".") and "\\" not in part for part in parts)


def _downloaded(name: str) -> Path:
    """The files of a model on the hub: those on this machine if it has them, else from the hub."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{name}'") from None
    wanted = [CONFIG, TOKENIZER_CONFIG, *TEXT_FILES, *INDEX.values()]
    reason = ""
    for offline in (True, False):
        try:
            for weights in (SAFE, PICKLED):
                folder = Path(snapshot_download(name, allow_patterns=[*wanted, weights], local_files_only=offline))
                if (folder / CONFIG).is_file() and any(folder.glob(weights)):
                    return folder
        except Exception as error:  # those of its web client have no common name
            reason = _why_not(error)
    raise NormalignError(f"{name}: neither a file nor a folder, and {reason}")


def _why_not(error: Exception) -> str:
    """Why the hub gave nothing, by the name of its error: most of what it says is advice about its own settings."""
    known = {
        "RepositoryNotFoundError": "the hub has no model of this name that may be read",
        "GatedRepoError": "the hub gives the model of this name only to those who asked for it",
        "LocalEntryNotFoundError": "not a model in this machine's cache; the hub cannot be reached",
        "OfflineModeIsEnabled": "not a model in this machine's cache; the hub may not be asked (offline mode)",
        "HFValidationError": "not a name that the hub's models have",
    }
    names = [kind.__name__ for kind in type(error).__mro__]
    return next((known[name] for name in names if name in known), f"the hub did not give it: {_first_line(error)}")


@contextlib.contextmanager
def library(path: str) -> Iterator[Any]:
    """The library, silent; what goes wrong in it is the fault of the folder, and reported in one line."""
    hide_broken_audio()
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{path}'") from None
    before = transformers.utils.logging.get_verbosity(), logging.root.manager.disable
    showed_progress = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield transformers
    except NormalignError:
        raise
    except pickle.UnpicklingError:
        raise NormalignError(
            f"{path}: its weights hold more than tensors, or are damaged; they are not loaded"
        ) from None
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # the library raises errors of any kind, its tokenizers even outside of Exception
        raise NormalignError(f"{path}: cannot be made into a model: {_first_line(error)}") from None
    finally:
        if showed_progress:
            transformers.utils.logging.enable_progress_bar()
        transformers.utils.logging.set_verbosity(before[0])
        logging.disable(before[1])


def hide_broken_audio() -> None:
    """transformers imports torchaudio, which fairseq asks for, if it is there; built for another torch, it crashes."""
    try:
        importlib.import_module("torchaudio")
    except ImportError:
        pass
    except (OSError, RuntimeError):
        sys.modules["torchaudio"] = None  # type: ignore[assignment]


def _first_line(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


@contextlib.contextmanager
def safe_copy(folder: Path) -> Iterator[Path]:
    """A folder with what may be loaded of another: for as long as it is being loaded."""
    with tempfile.TemporaryDirectory(prefix="normalign-") as made:
        copy = Path(made)
        patterns = (*TEXT_FILES, SAFE, PICKLED, *INDEX.values())
        for file in sorted({file for pattern in patterns for file in folder.glob(pattern)}):
            if file.name != GENERATION_CONFIG:
                os.symlink(_inside(file, folder), copy / file.name)
        written = {
            CONFIG: lambda options: {**_of_model(options, folder), **_of_search(options, folder / CONFIG)},
            GENERATION_CONFIG: lambda options: _of_search(options, folder / GENERATION_CONFIG),
            TOKENIZER_CONFIG: lambda options: {key: options[key] for key in options if key in TOKENIZER_OPTIONS},
        }
        for name, kept in written.items():
            if (folder / name).is_file():
                (copy / name).write_text(json.dumps(kept(_read(folder / name, folder))), encoding="utf-8")
        _check_vocabularies(folder)
        yield copy


def _of_model(options: Mapping[str, object], folder: Path) -> dict[str, object]:
    """The entries of a model's configuration that its class knows; none that names files, code or kernels."""
    from transformers import CONFIG_MAPPING

    kind = options.get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        raise NormalignError(f"{folder / CONFIG}: its model_type {json.dumps(kind)[:60]} is not known here")
    known = {*CONFIG_MAPPING[kind]().to_dict(), *CONFIG_MAPPING[kind].attribute_map, *MODEL_OPTIONS}
    return {key: value for key, value in options.items() if key in known and not NOT_OF_A_MODEL.match(key)}


def _of_search(options: Mapping[str, object], file: Path) -> dict[str, object]:
    """The entries of a configuration that say how to translate; a value of another type is refused."""
    kept = {key: value for key, value in options.items() if key in SEARCH_OPTIONS and value is not None}
    for key, value in kept.items():
        allowed: Any = SEARCH_OPTIONS[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        wrong = not isinstance(value, allowed) or (isinstance(value, bool) and allowed is not bool)
        if wrong or (is_number and not -1e6 < float(value) < 1e9):  # type: ignore[arg-type]
            raise NormalignError(f"{file}: its {key} cannot be {json.dumps(value)[:60]}")
    return kept


def _check_vocabularies(folder: Path) -> None:
    """Refuse indices of pieces that are no whole numbers or far too large, and tokenizers that never end."""
    for name in VOCABULARIES:
        if (folder / name).is_file():
            found = _read(folder / name, folder)
            _check_indices(found.items(), folder / name)
            if name.startswith("vocab-") and "<unk>" not in found:
                raise NormalignError(f"{folder / name}: there is no piece <unk>, which FSMT's tokenizer needs")
    file = folder / "tokenizer.json"
    if not file.is_file():
        return
    found = _read(file, folder)
    model = found.get("model")
    pieces = model.get("vocab") if isinstance(model, dict) else None
    _check_indices(pieces.items() if isinstance(pieces, dict) else (), file)
    added = found.get("added_tokens")
    _check_indices(
        [(str(one.get("content")), one.get("id")) for one in added or () if isinstance(one, dict)]
        if isinstance(added, list)
        else (),
        file,
    )
    growth, patterns = 1.0, set()
    for step in _steps([found.get(part) for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder")]):
        pattern = step.get("pattern")
        written = pattern if isinstance(pattern, dict) else {}
        if "Regex" in written:
            patterns.add(str(written["Regex"]))
        if "content" in step:
            growth *= max(1.0, len(str(step["content"])) / max(1, len(str(written.get("String", "")))))
    if growth > MOST_GROWTH:
        raise NormalignError(f"{file}: refused: its steps make a text {growth:.0f} times longer")
    if not patterns <= KNOWN_PATTERNS:
        letters = sorted(set("".join(patterns)) & set(map(chr, range(33, 0x3000))))[:40]
        command = [sys.executable, "-c", PROBE, str(_inside(file, folder)), " ", "a ", *letters]
        try:
            failed = subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            failed = True
        if failed:
            raise NormalignError(f"{file}: refused: its patterns cannot split a long text ({sorted(patterns)[0][:60]})")


def _check_indices(pieces: Any, file: Path) -> None:
    for piece, index in pieces:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < MOST_PIECES:
            raise NormalignError(
                f"{file}: the piece {json.dumps(piece)[:60]} has the index {json.dumps(index)[:60]}; "
                f"a whole number below {MOST_PIECES} is needed"
            )


def _steps(found: object) -> Iterator[Mapping[str, Any]]:
    """Every JSON object in nested lists and objects."""
    if isinstance(found, dict):
        yield found
    for inner in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from _steps(inner)


def _inside(file: Path, folder: Path) -> Path:
    """The real place of a file: in the folder, or where the hub's cache keeps what its folders link to."""
    place, home = file.resolve(), folder.resolve()
    roots = [home] + ([home.parent.parent / "blobs"] if home.parent.name == "snapshots" else [])
    if not any(place.is_relative_to(root) for root in roots):
        raise NormalignError(f"{file}: a link that leads out of its folder is not followed")
    return place


def _read(file: Path, folder: Path) -> dict[str, object]:
    try:
        found = json.loads(_inside(file, folder).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise NormalignError(f"{file}: not a JSON file: {_first_line(error)}") from None
    if not isinstance(found, dict):
        raise NormalignError(f"{file}: not a JSON object")
    return found


def _check_weights(folder: Path) -> str:
    """The kind of weights that a folder has; an index may only name files of the folder."""
    for kind in (SAFE, PICKLED):
        index = folder / INDEX[kind]
        if index.is_file():
            named = _read(index, folder).get("weight_map")
            for name in set(named.values()) if isinstance(named, dict) else {None}:
                if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_file():
                    raise NormalignError(f"{index}: '{name}' is no file of its folder")
        if any(folder.glob(kind)):
            return kind
    raise NormalignError(f"{folder}: no weights ({SAFE} or {PICKLED})")


MOST_LAYERS, MOST_POSITIONS = 1000, 1 << 17
SIZE = re.compile(
    r"(layers|heads|d_model|d_ff|d_kv|hidden_size|ffn_dim|vocab_size|max_position_embeddings|embed_dim)$|^num_"
)
"""Names of sizes."""
AT_LEAST_ONE = re.compile(r"^((en|de)coder_(layers|attention_heads|ffn_dim)|num_heads|num_layers|d_model|d_ff|d_kv)$")


def check_sizes(config: Mapping[str, object], folder: Path, weights: str) -> None:
    """Refuse sizes that no model has, or that the files of the weights (their pattern) have no room for."""
    room = sum(file.stat().st_size for file in folder.glob(weights))
    for key, value in config.items():
        if "drop" in key and isinstance(value, int | float) and not 0 <= value <= 1:
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; it is from 0 to 1")
        if not SIZE.search(key) or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = 1 if AT_LEAST_ONE.match(key) else 0
        if not value >= least:
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; {least} is the least")
        most = MOST_LAYERS if "layers" in key else MOST_POSITIONS if "position" in key else None
        if most is not None and value > most:
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; {most} is the most")
        if value > room:
            raise NormalignError(f"{folder}: its configuration asks for {key} {value}, its weights have {room} bytes")
