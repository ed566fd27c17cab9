"""Folders and hub names made into models and tokenizers; a stranger's folder runs nothing and reads nothing else.

The library is not shown the folder itself but a copy of it: links to the files that belong to a model, and its
configuration without anything that names other files or code. Weights are read as safetensors, or by torch's loader
for tensors alone.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ...errors import MissingExtra, NormalignError
from .sizes import check_sizes
from .transformers_lm import hide_broken_audio

CONFIG, TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
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
NOT_OF_A_MODEL = {"auto_map", "_name_or_path", "transformers_weights", "custom_pipelines", "adapter_kwargs"}


def load_model(path: str, *, device: str = "cpu", dtype: torch.dtype | None = None) -> Any:
    """Load the encoder-decoder model of a folder or hub name, in float32 unless another type is asked for.

    >>> load_model("opus-mt-de-en").config.model_type  # doctest: +SKIP
    'marian'
    """
    folder = find_folder(path)
    with _library(path) as library, safe_copy(folder) as copy:
        weights = _check_weights(folder)
        check_sizes(_read(folder / CONFIG, folder), folder, weights)
        config = library.AutoConfig.from_pretrained(str(copy), trust_remote_code=False, local_files_only=True)
        if not config.is_encoder_decoder:
            raise NormalignError(
                f"{path}: a model of the kind '{config.model_type}' has no encoder and decoder; alignments come from "
                "the attention between them"
            )
        model, found = library.AutoModelForSeq2SeqLM.from_pretrained(
            str(copy),
            config=config,
            dtype=dtype or torch.float32,
            trust_remote_code=False,
            local_files_only=True,
            use_safetensors=weights == SAFE,
            weights_only=True,
            output_loading_info=True,
        )
    missing = sorted(name for name in found["missing_keys"] if "embed_positions" not in name)
    if missing:  # the library would make them up
        raise NormalignError(f"{path}: its weights lack {len(missing)} parameters of the model ({missing[0]}, ...)")
    return model.to(device).eval().requires_grad_(False)


def load_tokenizer(path: str) -> Any:
    """Load the tokenizer of a folder or hub name."""
    folder = find_folder(path)
    with _library(path) as library, safe_copy(folder) as copy:
        return library.AutoTokenizer.from_pretrained(str(copy), trust_remote_code=False, local_files_only=True)


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
def _library(path: str) -> Iterator[Any]:
    """The library, silent; what goes wrong in it is the fault of the folder, and said in one line."""
    hide_broken_audio()
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{path}'") from None
    before = transformers.utils.logging.get_verbosity(), logging.root.manager.disable
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
    except Exception as error:  # the library ends in errors of any kind when a folder makes no sense
        raise NormalignError(f"{path}: cannot be made into a model: {_first_line(error)}") from None
    finally:
        transformers.utils.logging.set_verbosity(before[0])
        logging.disable(before[1])


def _first_line(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:200]


@contextlib.contextmanager
def safe_copy(folder: Path) -> Iterator[Path]:
    """A folder with what may be loaded of another: for as long as it is being loaded."""
    with tempfile.TemporaryDirectory(prefix="normalign-") as name:
        copy = Path(name)
        patterns = (*TEXT_FILES, SAFE, PICKLED, *INDEX.values())
        for file in sorted({file for pattern in patterns for file in folder.glob(pattern)}):
            os.symlink(_inside(file, folder), copy / file.name)
        config = {key: value for key, value in _read(folder / CONFIG, folder).items() if key not in NOT_OF_A_MODEL}
        (copy / CONFIG).write_text(json.dumps(config), encoding="utf-8")
        if (folder / TOKENIZER_CONFIG).is_file():
            options = _read(folder / TOKENIZER_CONFIG, folder)
            kept = {key: value for key, value in options.items() if key in TOKENIZER_OPTIONS}
            (copy / TOKENIZER_CONFIG).write_text(json.dumps(kept), encoding="utf-8")
        yield copy


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
