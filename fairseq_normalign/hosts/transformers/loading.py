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
import math
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from ...errors import MissingExtra, NormalignError
from ..loading import faults_of, reason_in, silenced
from ..reading import check_parameters

CONFIG, TOKENIZER_CONFIG, GENERATION_CONFIG = "config.json", "tokenizer_config.json", "generation_config.json"
VOCABULARIES = ("vocab.json", "vocab-src.json", "vocab-tgt.json", "target_vocab.json", "added_tokens.json")
TEXT_FILES = (
    *("tokenizer.json", "vocab.txt", "merges.txt", "special_tokens_map.json", *VOCABULARIES),
    *("source.spm", "target.spm", "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model"),
    "tokenizer.model",
)
"""What a tokenizer may be made of, by its name."""
SAFE, PICKLED = "model*.safetensors", "pytorch_model*.bin"
INDEX = {SAFE: "model.safetensors.index.json", PICKLED: "pytorch_model.bin.index.json"}


def load_model(path: str, *, device: str = "cpu", dtype: torch.dtype | None = None) -> Any:
    """Load the encoder-decoder model of a folder or hub name, in float32 unless another type is asked for.

    >>> load_model("opus-mt-de-en").config.model_type  # doctest: +SKIP
    'marian'
    """
    folder = find_folder(path)
    with library(path) as host, safe_copy(folder) as copy:
        weights = _kind_of_weights(folder)
        check_sizes(_read(folder / CONFIG, folder), folder, weights)
        config = host.AutoConfig.from_pretrained(str(copy), **OWN_FILES)
        if not config.is_encoder_decoder:
            raise NormalignError(
                f"{path}: a model of the kind '{config.model_type}' has no encoder and decoder; alignments come from "
                "the attention between them"
            )
        try:
            model, found = host.AutoModelForSeq2SeqLM.from_pretrained(
                str(copy),
                config=config,
                dtype=dtype or torch.float32,
                use_safetensors=weights == SAFE,
                attn_implementation="eager",
                weights_only=True,
                output_loading_info=True,
                **OWN_FILES,
            )
        except pickle.UnpicklingError:
            raise NormalignError(
                f"{path}: its weights hold more than tensors, or are damaged; they are not loaded"
            ) from None
    missing = sorted(name for name in found["missing_keys"] if "embed_positions" not in name)
    if missing:  # the library would make them up
        raise NormalignError(f"{path}: its weights lack {len(missing)} parameters of the model ({missing[0]}, ...)")
    check_parameters(model, path)
    return model.to(device).eval().requires_grad_(False)


OWN_FILES: Mapping[str, Any] = {"trust_remote_code": False, "local_files_only": True}
"""The library reads the folder and nothing else."""


def load_tokenizer(path: str) -> Any:
    """Load the tokenizer of a folder or hub name."""
    folder = find_folder(path)
    with library(path) as host, safe_copy(folder) as copy:
        return host.AutoTokenizer.from_pretrained(str(copy), **OWN_FILES)


def find_folder(path: str) -> Path:
    """Return the folder that ``path`` names, or that a model of the hub has on this machine, once it is there."""
    folder = Path(path)
    if folder.is_dir():
        if not (folder / CONFIG).is_file():
            raise NormalignError(f"{path}: a folder without {CONFIG} is no model of transformers")
        return folder
    if folder.exists() or not re.fullmatch(r"[^/\\.][^/\\]*(/[^/\\.][^/\\]*)?", path):
        raise NormalignError(f"{path}: no such folder, and no name of a model on the hub")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{path}'") from None
    wanted = [CONFIG, TOKENIZER_CONFIG, GENERATION_CONFIG, *TEXT_FILES, *INDEX.values()]
    reason = ""
    for offline in (True, False):  # what this machine has comes first
        try:
            for weights in (SAFE, PICKLED):
                folder = Path(snapshot_download(path, allow_patterns=[*wanted, weights], local_files_only=offline))
                if (folder / CONFIG).is_file() and any(folder.glob(weights)):
                    return folder
        except Exception as error:  # those of its web client have no common name; most of what they say is advice
            names = [kind.__name__ for kind in type(error).__mro__]
            own = f"the hub did not give it: {reason_in(error)}"
            reason = next((HUB_ERRORS[name] for name in names if name in HUB_ERRORS), own)
    raise NormalignError(f"{path}: neither a file nor a folder, and {reason}")


HUB_ERRORS = {
    "RepositoryNotFoundError": "the hub has no model of this name that may be read",
    "GatedRepoError": "the hub gives the model of this name only to those who asked for it",
    "LocalEntryNotFoundError": "not a model in this machine's cache; the hub cannot be reached",
    "OfflineModeIsEnabled": "not a model in this machine's cache; the hub may not be asked (offline mode)",
    "HFValidationError": "not a name that the hub's models have",
}
"""Why the hub gave nothing, by the name of its error."""


@contextlib.contextmanager
def library(path: str) -> Iterator[Any]:
    """The library, silent; what goes wrong in it is the fault of the folder, and reported in one line."""
    hide_broken_audio()
    try:
        import transformers
    except ImportError:
        raise MissingExtra("transformers", "transformers", f"the model '{path}'") from None
    showed_progress = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        with silenced(), faults_of(f"{path}: cannot be made into a model"):
            yield transformers
    finally:
        if showed_progress:
            transformers.utils.logging.enable_progress_bar()


def hide_broken_audio() -> None:
    """transformers imports torchaudio, which fairseq asks for, if it is there; built for another torch, it crashes."""
    try:
        importlib.import_module("torchaudio")
    except ImportError:
        pass
    except (OSError, RuntimeError):
        sys.modules["torchaudio"] = None  # type: ignore[assignment]


# -- what the library is shown ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def safe_copy(folder: Path) -> Iterator[Path]:
    """A folder with what may be loaded of another: for as long as it is being loaded."""
    check_tokenizer(folder)
    with tempfile.TemporaryDirectory(prefix="normalign-") as made:
        copy = Path(made)
        for pattern in (*TEXT_FILES, SAFE, PICKLED, *INDEX.values()):
            for file in folder.glob(pattern):
                if not (copy / file.name).is_symlink():
                    os.symlink(_inside(file, folder), copy / file.name)
        for name, kept in ((CONFIG, _of_model), (GENERATION_CONFIG, _of_search), (TOKENIZER_CONFIG, _of_tokenizer)):
            if (folder / name).is_file():
                entries = kept(_read(folder / name, folder), folder / name)
                (copy / name).write_text(json.dumps(entries), encoding="utf-8")
        yield copy


def _of_tokenizer(options: Mapping[str, object], file: Path) -> dict[str, object]:
    """What a tokenizer's configuration may say; everything else, above all names of files, is left out."""
    return {key: value for key, value in options.items() if key in TOKENIZER_OPTIONS}


TOKENIZER_OPTIONS = {
    *("tokenizer_class", "model_max_length", "padding_side", "src_lang", "tgt_lang", "source_lang", "target_lang"),
    *("langs", "do_lower_case", "language_codes", "num_madeup_words", "separate_vocabs", "legacy", "legacy_behaviour"),
    *("extra_ids", "offset", "add_prefix_space", "clean_up_tokenization_spaces", "added_tokens_decoder"),
    *("additional_special_tokens", "extra_special_tokens", "bos_token", "eos_token", "unk_token", "sep_token"),
    *("pad_token", "cls_token", "mask_token", "mask_token_sent", "trim_offsets", "keep_accents"),
}


def _of_model(options: Mapping[str, object], file: Path) -> dict[str, object]:
    """The entries of a model's configuration that its class knows; none that names files, code or kernels."""
    from transformers import CONFIG_MAPPING

    kind = options.get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        raise NormalignError(f"{file}: its model_type {json.dumps(kind)[:60]} is not known here")
    known = {*CONFIG_MAPPING[kind]().to_dict(), *CONFIG_MAPPING[kind].attribute_map, *MODEL_OPTIONS}
    kept = {key: value for key, value in options.items() if key in known and not NOT_OF_A_MODEL.match(key)}
    return {**kept, **_of_search(options, file)}


MODEL_OPTIONS = {
    *("model_type", "architectures", "tokenizer_class", "task_specific_params", "torch_dtype", "num_hidden_layers"),
    *("max_position_embeddings", "n_positions", "normalize_before", "normalize_embedding", "add_final_layer_norm"),
    *("static_position_embeddings", "add_bias_logits", "decoder_vocab_size", "head_dim", "tie_encoder_decoder"),
}
"""Entries of a model's configuration beside those that its class knows."""
NOT_OF_A_MODEL = re.compile(r"_|attn_implementation|experts_implementation|auto_map|quantization|transformers_weights")
"""How entries start that no model needs, even where its class knows them."""


def _of_search(options: Mapping[str, object], file: Path) -> dict[str, object]:
    """The entries of a configuration that say how to translate; a value of another type is refused."""
    kept = {key: value for key, value in options.items() if key in SEARCH_OPTIONS and value is not None}
    for key, value in kept.items():
        allowed: Any = SEARCH_OPTIONS[key]
        fits = isinstance(value, allowed) and (allowed is bool or not isinstance(value, bool))
        if not fits or not all(isinstance(one, int | float) and -1e6 < one < 1e9 for one in _leaves(value)):  # NaN, too
            raise NormalignError(f"{file}: its {key} cannot be {json.dumps(value)[:60]}")
    return kept


SEARCH_OPTIONS = {
    **dict.fromkeys(("bos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id"), int),
    **dict.fromkeys(("eos_token_id", "forced_eos_token_id"), (int, list)),
    **dict.fromkeys(("length_penalty", "repetition_penalty"), (int, float)),
    **dict.fromkeys(("early_stopping", "renormalize_logits"), bool),
    "bad_words_ids": list,
    "no_repeat_ngram_size": int,
}
"""What a configuration may say about translating, and the types; everything else is this program's to decide."""


def _leaves(value: object) -> Iterator[object]:
    """What nested lists hold."""
    if isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _inside(file: Path, folder: Path) -> Path:
    """The real place of a file: in the folder, or where the hub's cache keeps what its folders link to."""
    place, home = file.resolve(), folder.resolve()
    roots = [home] + ([home.parent.parent / "blobs"] if home.parent.name == "snapshots" else [])
    if not any(place.is_relative_to(root) for root in roots):
        raise NormalignError(f"{file}: a link that leads out of its folder is not followed")
    return place


def _read(file: Path, folder: Path) -> dict[str, Any]:
    try:
        found = json.loads(_inside(file, folder).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise NormalignError(f"{file}: not a JSON file: {reason_in(error)}") from None
    if not isinstance(found, dict):
        raise NormalignError(f"{file}: not a JSON object")
    return found


# -- what is checked first --------------------------------------------------------------------------------------------


def _kind_of_weights(folder: Path) -> str:
    """The kind of weights that a folder has; an index may only name files of the folder."""
    for kind in (SAFE, PICKLED):
        index = folder / INDEX[kind]
        if index.is_file():
            named = _read(index, folder).get("weight_map")
            for name in set(map(str, named.values())) if isinstance(named, dict) else {""}:
                if Path(name).name != name or not (folder / name).is_file():
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
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        most: float = 1
        least = 0
        if SIZE.search(key) and "drop" not in key:
            least = 1 if AT_LEAST_ONE.match(key) else 0
            most = MOST_LAYERS if "layers" in key else MOST_POSITIONS if "position" in key else math.inf
        elif "drop" not in key:
            continue
        if not least <= value <= most:
            limit = f"{most} is the most" if value > most else f"{least} is the least"
            raise NormalignError(f"{folder}: refused: its configuration asks for {key} {value}; {limit}")
        if value > room:
            raise NormalignError(f"{folder}: its configuration asks for {key} {value}, its weights have {room} bytes")


MOST_PIECES = 1 << 22
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
"""Tries a tokenizer on long texts of equal letters, with bounded memory."""


def check_tokenizer(folder: Path) -> None:
    """Refuse indices of pieces that are no whole numbers or far too large, and steps that never end or fill the memory.

    Steps that lengthen a text, or split it by patterns that are not known to be harmless, are tried in a process first.
    """
    named: list[tuple[Path, str, object]] = []
    for file in (folder / name for name in VOCABULARIES):
        pieces = _read(file, folder) if file.is_file() else {"<unk>": 0}
        named += [(file, piece, index) for piece, index in pieces.items()]
        if file.name.startswith("vocab-") and "<unk>" not in pieces:
            raise NormalignError(f"{file}: there is no piece <unk>, which FSMT's tokenizer needs")
    file = folder / "tokenizer.json"
    found = _read(file, folder) if file.is_file() else {}
    model, added = found.get("model"), found.get("added_tokens")
    listed = model.get("vocab") if isinstance(model, dict) else None  # a list of pieces and scores has no indices
    named += [(file, piece, index) for piece, index in listed.items()] if isinstance(listed, dict) else []
    named += [(file, str(one.get("content")), one.get("id")) for one in _objects(added) if "content" in one]
    for place, piece, index in named:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < MOST_PIECES:
            raise NormalignError(
                f"{place}: the piece {json.dumps(piece)[:60]} has the index {json.dumps(index)[:60]}; "
                f"a whole number below {MOST_PIECES} is needed"
            )

    odd = set()
    for step in _objects([found.get(part) for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder")]):
        pattern, content = step.get("pattern"), str(step.get("content", ""))
        regex, text = (str(pattern.get(kind, "")) if isinstance(pattern, dict) else "" for kind in ("Regex", "String"))
        odd |= {regex} - KNOWN_PATTERNS - {""}
        if len(content) > max(1, len(text)):
            odd.add(text + content)
    if odd:
        letters = sorted(set("".join(odd)) & set(map(chr, range(33, 0x3000))))[:40]
        command = [sys.executable, "-c", PROBE, str(_inside(file, folder)), " ", "a ", *letters]
        try:
            failed = subprocess.run(command, capture_output=True, timeout=60, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            failed = True
        if failed:
            shown = ascii(min(odd, key=len)[:60])
            raise NormalignError(f"{file}: refused: its steps ({shown}) cannot split a long text in time and memory")


def _objects(found: object) -> Iterator[Mapping[str, Any]]:
    """Every JSON object in nested lists and objects."""
    if isinstance(found, dict):
        yield found
    for inner in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from _objects(inner)
