"""Weights put into modules of ``transformers``: mBART with the norms and units that a model has, or T5."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import NormalignError
from ..transformers.loading import hide_broken_audio
from .formats import Weights

hide_broken_audio()
from transformers import (  # noqa: E402
    GenerationConfig,
    MBartConfig,
    MBartForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
    UMT5Config,
    UMT5ForConditionalGeneration,
)
from transformers.models.bart.modeling_bart import BartDecoderLayer, BartEncoderLayer  # noqa: E402

SIDES = ("encoder", "decoder")
POSITIONS = 1024
"""Positions of a model whose positions are computed."""
IMPOSSIBLE = -1e4
"""The logit of a piece that is never put out; finite in half precision."""
ACTIVATIONS = ("relu", "gelu_new", "silu", "gelu", "quick_gelu", "tanh", "sigmoid")
"""CTranslate2's numbers for activations."""
MARIAN_ACTIVATIONS = {"relu": "relu", "swish": "silu", "gelu": "quick_gelu"}


class SSRU(nn.Module):
    """A simpler simple recurrent unit: what some decoders have in place of self-attention, and called like it."""

    def __init__(self, size: int, layer: int = 0) -> None:
        super().__init__()
        self.layer = layer
        self.input, self.forget = nn.Linear(size, size, bias=False), nn.Linear(size, size)

    def forward(self, hidden_states: Tensor, past_key_values: Any = None, **_: Any) -> tuple[Tensor, None]:
        """[B, T, C] -> [B, T, C], from the first step on or, with the cells of earlier steps in a cache, after them."""
        forget = self.forget(hidden_states).sigmoid()
        new = (1 - forget) * self.input(hidden_states)
        past: Any = None if past_key_values is None else past_key_values.self_attention_cache
        known = past is not None and past.get_seq_length(self.layer)
        cell, cells = past.layers[self.layer].keys[:, 0, -1] if known else torch.zeros_like(new[:, 0]), []
        for step in range(new.size(1)):
            cell = forget[:, step] * cell + new[:, step]
            cells.append(cell)
        found = torch.stack(cells, 1)
        if past is not None:
            past.update(found.unsqueeze(1), found.unsqueeze(1), self.layer)
        return found.relu(), None


class PublishedModel(MBartForConditionalGeneration):
    """A model from a file of Marian or CTranslate2: mBART's, with other parts where the file has them."""


def build(weights: Weights, settings: Mapping[str, Any]) -> Any:
    """Return the model of a file, with a piece for padding behind the others; ``settings``: what lies beside it.

    Every array of the file has to find its place: of a model that is built otherwise, one that does not is named.
    """
    read = _of_marian if weights.kind == "marian" else _of_ctranslate2
    model = read(weights, settings)
    left = sorted(name for name in weights.arrays if not _harmless(name, weights.arrays[name]))
    if left:
        raise NormalignError(f"'{left[0]}' ({len(left)} arrays in all) belongs to a kind of model that is not read")
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if not torch.isfinite(tensor).all():
            raise NormalignError(f"damaged: NaN or infinity in what becomes '{name}'")
    return model.eval().requires_grad_(False)


def _harmless(name: str, array: np.ndarray) -> bool:
    """Whether what a file has besides its weights changes nothing: multipliers of activations, options turned off."""
    if name.endswith("_QuantMultA") or re.search(r"/(alignment_\w+|scale_embeddings|embeddings_merge)$", name):
        return True
    if name.startswith(("with_", "user_")) or name.endswith(("/multiply_by_sqrt_depth", "max_distance")):
        return True
    return array.ndim == 0 and not array


# -- Marian -----------------------------------------------------------------------------------------------------------


def _of_marian(weights: Weights, settings: Mapping[str, Any]) -> Any:
    options = {**settings, **weights.config}
    pre, post = (
        str(options.get(f"transformer-{place}process", default) or "").replace("d", "")
        for place, default in (("pre", ""), ("post", "an"))
    )
    expected: dict[str, tuple] = {
        "type": ("transformer",),
        "transformer-tied-layers": ([], None),
        "transformer-decoder-autoreg": ("self-attention", "rnn"),
        "transformer-ffn-depth": (2,),
        "transformer-no-projection": (False,),
        "transformer-ffn-activation": tuple(MARIAN_ACTIVATIONS),
        "transformer-pool": (False,),
        "ulr": (False,),
        "lemma-dim-emb": (0,),
        "input-types": ([],),
        "right-left": (False,),
    }
    for name, allowed in expected.items():
        if name in options and options[name] not in allowed:
            raise NormalignError(f"a model of Marian with {name} '{options[name]}' is not read")
    if (pre, post) not in (("", "an"), ("n", "a")):
        raise NormalignError(f"a model of Marian with preprocess '{pre}' and postprocess '{post}' is not read")
    recurrent = options.get("transformer-decoder-autoreg", "self-attention") == "rnn"
    if recurrent and (options.get("dec-cell") != "ssru" or options.get("dec-cell-base-depth", 2) != 2):
        raise NormalignError(f"a decoder of Marian with the cell '{options.get('dec-cell')}' is not read; ssru is")

    arrays, suffix = weights.arrays, "_pre" if pre else ""
    wrong = [name for name, array in arrays.items() if "_QuantMultA" not in name and array.ndim != 2]
    if wrong:
        raise NormalignError(f"damaged: '{wrong[0]}' has {arrays[wrong[0]].ndim} dimensions, not 2")
    shared = arrays.pop("Wemb", None)
    source, target = (arrays.pop(f"{side}_Wemb", shared) for side in ("encoder", "decoder"))
    if source is None or target is None:
        raise NormalignError("it has no embeddings (Wemb)")
    size = source.shape[-1]
    out = arrays.pop("decoder_ff_logit_out_Wt", None)
    if out is None:
        out = arrays["decoder_ff_logit_out_W"].T if "decoder_ff_logit_out_W" in arrays else target
        arrays.pop("decoder_ff_logit_out_W", None)
    arrays.pop("Wpos", None)  # Marian itself never reads it: its transformers ask for an option that is never set
    state: dict[str, np.ndarray] = {}

    def linear(name: str, prefix: str, part: str) -> None:
        state[f"{name}.weight"] = weights.take(f"{prefix}_W{part}", None, None).T
        state[f"{name}.bias"] = weights.take(f"{prefix}_b{part}", 1, None)[0]

    def norm(name: str, prefix: str, ending: str = suffix) -> None:
        state[f"{name}.weight"] = weights.take(f"{prefix}_ln_scale{ending}", 1, size)[0]
        state[f"{name}.bias"] = weights.take(f"{prefix}_ln_bias{ending}", 1, size)[0]

    for side in ("encoder", "decoder"):
        for layer in range(_depth(arrays, rf"{side}_l(\d+)_", 1)):
            theirs, ours = f"{side}_l{layer + 1}", f"{side}.layers.{layer}"
            kinds = {"self_attn": "self"} if side == "encoder" else {"self_attn": "self", "encoder_attn": "context"}
            for mine, kind in kinds.items():
                if recurrent and (side, kind) == ("decoder", "self"):
                    state[f"{ours}.self_attn.input.weight"] = weights.take(f"{theirs}_rnn_W", size, size).T
                    state[f"{ours}.self_attn.forget.weight"] = weights.take(f"{theirs}_rnn_Wf", size, size).T
                    state[f"{ours}.self_attn.forget.bias"] = weights.take(f"{theirs}_rnn_bf", 1, size)[0]
                    norm(f"{ours}.self_attn_layer_norm", f"{theirs}_rnn_ffn")
                    continue
                for part, name in zip("qkvo", ("q_proj", "k_proj", "v_proj", "out_proj"), strict=True):
                    linear(f"{ours}.{mine}.{name}", f"{theirs}_{kind}", part)
                norm(f"{ours}.{mine}_layer_norm", f"{theirs}_{kind}_Wo")
            linear(f"{ours}.fc1", f"{theirs}_ffn", "1")
            linear(f"{ours}.fc2", f"{theirs}_ffn", "2")
            norm(f"{ours}.final_layer_norm", f"{theirs}_ffn_ffn")
        state[f"{side}.embed_positions.weight"] = sinusoids(size)
        if "n" in str(options.get("transformer-postprocess-emb") or ""):
            norm(f"{side}.layernorm_embedding", f"{side}_emb", "_pre")
        if "n" in str(options.get("transformer-postprocess-top") or ""):
            norm(f"{side}.layer_norm", f"{side}_top", "")
    bias = arrays.pop("decoder_ff_logit_out_b", np.zeros((1, len(out)), np.float32))
    heads = options.get("transformer-heads")
    return _marian_model(
        state,
        (source, target, out),
        bias.reshape(-1),
        heads=(heads, heads),
        scales=(math.sqrt(size),) * 2,
        activation=MARIAN_ACTIVATIONS[options.get("transformer-ffn-activation", "relu")],
        norm_first=bool(pre),
        epsilon=1e-6,
        from_zero=True,
    )


def sinusoids(size: int, first: int = 0) -> np.ndarray:
    """Return Marian's positions [POSITIONS, size], counted from ``first``: half sines, half cosines."""
    half = size // 2
    steps = np.exp(np.arange(half) * -math.log(10000) / max(half - 1, 1))
    angles = np.arange(first, first + POSITIONS)[:, None] * steps
    return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)


def _depth(arrays: Mapping[str, np.ndarray], pattern: str, first: int = 0) -> int:
    """Return how many layers the names of arrays announce; each has to be there."""
    found = {int(match[1]) for match in map(re.compile(pattern).match, arrays) if match and len(match[1]) < 5}
    if not found or found != set(range(first, first + len(found))):
        raise NormalignError(f"its layers are numbered {', '.join(map(str, sorted(found)[:9])) or 'not at all'}")
    return len(found)


# -- CTranslate2 ------------------------------------------------------------------------------------------------------


def _of_ctranslate2(weights: Weights, settings: Mapping[str, Any]) -> Any:
    arrays = weights.arrays
    for side in ("encoder", "decoder"):  # before version 4 of the program, and with a single table, without a number
        if f"{side}/embeddings_0/weight" in arrays:
            arrays[f"{side}/embeddings/weight"] = arrays.pop(f"{side}/embeddings_0/weight")
    source, target = (weights.take(f"{side}/embeddings/weight", None, None) for side in ("encoder", "decoder"))
    out = weights.take("decoder/projection/weight", None, None)
    size = source.shape[1]
    plain = "encoder/layer_0/self_attention/layer_norm/beta" in arrays
    state: dict[str, np.ndarray] = {}

    def linear(stacked: tuple[str, ...], theirs: str) -> None:
        weight = weights.take(f"{theirs}/weight", None, None)
        bias = arrays.pop(f"{theirs}/bias", None)
        if len(weight) % len(stacked) or (bias is not None and bias.shape != weight.shape[:1]):
            raise NormalignError(f"the parts of '{theirs}' do not fit together")
        rows = len(weight) // len(stacked)
        for number, name in enumerate(stacked):
            part = slice(number * rows, (number + 1) * rows)
            state[f"{name}.weight"] = weight[part]
            if plain:
                state[f"{name}.bias"] = np.zeros(rows, np.float32) if bias is None else bias[part]

    def norm(name: str, theirs: str) -> None:
        state[f"{name}.weight"] = weights.take(f"{theirs}/gamma", size)
        if plain:
            state[f"{name}.bias"] = weights.take(f"{theirs}/beta", size)

    heads, distances, scales = [], [128], []
    for side in ("encoder", "decoder"):
        heads.append(int(weights.number(f"{side}/num_heads", 8)))
        scale = weights.number(f"{side}/scale_embeddings", 1)
        if weights.number(f"{side}/embeddings/multiply_by_sqrt_depth"):
            scale = 1
        scales.append(math.sqrt(size) if scale == 1 else scale or 1.0)
        for layer in range(_depth(arrays, rf"{side}/layer_(\d+)/")):
            theirs = f"{side}/layer_{layer}"
            ours = f"{side}.layers.{layer}"
            places = [("self_attn", f"{theirs}/self_attention")]
            if side == "decoder":
                places.append(("encoder_attn", f"{theirs}/attention"))
            for attention, place in places:
                q, k, v, o = (f"{ours}.{attention}.{name}_proj" for name in ("q", "k", "v", "out"))
                own = attention == "self_attn"
                linear((q, k, v) if own else (q,), f"{place}/linear_0")
                if not own:
                    linear((k, v), f"{place}/linear_1")
                linear((o,), f"{place}/linear_{1 if own else 2}")
                norm(f"{ours}.{attention}_layer_norm", f"{place}/layer_norm")
                if plain:
                    continue
                weights.number(f"{place}/queries_scale", 1)
                distances[0] = int(weights.number(f"{place}/relative_attention_max_distance", distances[0]))
                bias = arrays.pop(f"{place}/relative_attention_bias", None)
                if bias is not None:
                    state[f"{ours}.{attention}.relative_attention_bias.weight"] = bias
            gated = not plain and f"{theirs}/ffn/linear_0_noact/weight" in arrays
            linear((f"{ours}.fc1_0" if gated else f"{ours}.fc1",), f"{theirs}/ffn/linear_0")
            if gated:
                linear((f"{ours}.fc1_1",), f"{theirs}/ffn/linear_0_noact")
            linear((f"{ours}.fc2",), f"{theirs}/ffn/linear_1")
            norm(f"{ours}.final_layer_norm", f"{theirs}/ffn/layer_norm")
        if f"{side}/layer_norm/gamma" in arrays:
            norm(f"{side}.layer_norm", f"{side}/layer_norm")
        if f"{side}/layernorm_embedding/gamma" in arrays:
            norm(f"{side}.layernorm_embedding", f"{side}/layernorm_embedding")
        if plain:
            table = f"{side}/position_encodings/encodings"
            known = table in arrays
            state[f"{side}.embed_positions.weight"] = weights.take(table, None, size) if known else sinusoids(size, 1)
    activations = {weights.number(f"{side}/activation") for side in ("encoder", "decoder")}
    number = activations.pop()
    if activations or number not in range(len(ACTIVATIONS)):
        raise NormalignError("its encoder and decoder have different activations, or one that is not known")
    norm_first = {bool(weights.number(f"{side}/pre_norm", 1)) for side in ("encoder", "decoder")}
    epsilon = settings.get("layer_norm_epsilon") or (1e-5 if plain else 1e-6)
    out_scale = weights.number("decoder/scale_outputs", 1)
    out = out if out_scale == 1 else out * np.float32(out_scale)
    if not isinstance(epsilon, float) or not 0 < epsilon < 1 or len(norm_first) > 1:
        raise NormalignError("its norms are not all of one kind")
    if plain:
        return _marian_model(
            state,
            (source, target, out),
            weights.take("decoder/projection/bias", len(out))
            if "decoder/projection/bias" in arrays
            else np.zeros(len(out), np.float32),
            heads=(heads[0], heads[1]),
            scales=(scales[0], scales[1]),
            activation=ACTIVATIONS[int(number)],
            norm_first=norm_first.pop(),
            epsilon=epsilon,
            from_zero=bool(weights.number("decoder/start_from_zero_embedding")),
        )
    state = {_t5_name(name): array for name, array in state.items()}
    return _t5_model(state, (source, target, out), heads, distances[0], ACTIVATIONS[int(number)], epsilon)


def _t5_name(name: str) -> str:
    """What a parameter is called in T5."""
    last = f".layer.{1 if name.startswith('encoder') else 2}"
    for ours, theirs in (
        (".layers.", ".block."),
        (".final_layer_norm", f"{last}.layer_norm"),
        (".fc1", f"{last}.DenseReluDense.wi"),
        (".fc2", f"{last}.DenseReluDense.wo"),
        (".self_attn_layer_norm", ".layer.0.layer_norm"),
        (".self_attn.", ".layer.0.SelfAttention."),
        (".encoder_attn_layer_norm", ".layer.1.layer_norm"),
        (".encoder_attn.", ".layer.1.EncDecAttention."),
        (".out_proj", ".o"),
        ("_proj", ""),
        ("coder.layer_norm", "coder.final_layer_norm"),
    ):
        name = name.replace(ours, theirs)
    return name


# -- modules ----------------------------------------------------------------------------------------------------------


def _marian_model(
    state: dict[str, np.ndarray],
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
    bias: np.ndarray,
    *,
    heads: tuple[Any, Any],
    scales: tuple[float, float],
    activation: str,
    norm_first: bool,
    epsilon: float,
    from_zero: bool,
) -> PublishedModel:
    """A model of Marian's kind; ``tables``: embeddings of the source and the target, and those of the output layer."""
    size = tables[0].shape[1]
    for number in heads:
        if not isinstance(number, int) or not 0 < number <= size or size % number:
            raise NormalignError(f"{ascii(number)[:20]} heads do not divide {size} channels")
    if any(table.shape[1:] != (size,) for table in tables) or not len(tables[1]) == len(tables[2]) == len(bias):
        raise NormalignError("its embeddings and its output layer do not fit together")
    pad = max(len(table) for table in tables)
    with torch.device("meta"):
        config = MBartConfig(
            vocab_size=pad + 1,
            d_model=size,
            encoder_layers=_depth(state, r"encoder\.layers\.(\d+)\."),
            decoder_layers=_depth(state, r"decoder\.layers\.(\d+)\."),
            encoder_attention_heads=heads[0],
            decoder_attention_heads=heads[1],
            encoder_ffn_dim=len(state["encoder.layers.0.fc1.weight"]),
            decoder_ffn_dim=len(state["decoder.layers.0.fc1.weight"]),
            max_position_embeddings=len(state["encoder.embed_positions.weight"]),
            activation_function=activation,
            tie_word_embeddings=False,
            pad_token_id=pad,
            eos_token_id=0,
            bos_token_id=None,
            decoder_start_token_id=pad,
            forced_eos_token_id=None,
            dropout=0.0,
        )
        model = PublishedModel(config)
        for name, scale, layer_kind in zip(SIDES, scales, (BartEncoderLayer, BartDecoderLayer), strict=True):
            side = getattr(model.model, name)
            side.embed_tokens.embed_scale = scale
            for part in ("layernorm_embedding", "layer_norm"):
                if f"{name}.{part}.weight" not in state:
                    setattr(side, part, nn.Identity())
            for number in range(len(side.layers)):
                if not norm_first:
                    side.layers[number] = layer_kind(config, **({"layer_idx": number} if name == "decoder" else {}))
                if f"{name}.layers.{number}.self_attn.forget.weight" in state:
                    side.layers[number].self_attn = SSRU(size, number)
        model.model.shared = model.model.encoder.embed_tokens
    model.generation_config = GenerationConfig.from_model_config(config)
    for name in SIDES:  # mBART leaves two rows free in front of its positions
        state[f"{name}.embed_positions.weight"] = np.pad(state[f"{name}.embed_positions.weight"], ((2, 0), (0, 0)))
    state = {f"model.{name}": array for name, array in state.items()}
    rows = {id(table): np.pad(table, ((0, pad + 1 - len(table)), (0, 0))) for table in tables}
    for name, table in zip(
        ("model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"), tables, strict=True
    ):
        state[f"{name}.weight"] = rows[id(table)]
    state["model.shared.weight"] = rows[id(tables[0])]
    state["final_logits_bias"] = np.pad(bias, (0, pad + 1 - len(bias)), constant_values=IMPOSSIBLE)[None]
    model.pieces, model.starts_from_zero = (len(tables[0]), len(tables[1])), from_zero
    return _filled(model, state, epsilon)


def _t5_model(
    state: dict[str, np.ndarray],
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
    heads: Sequence[int],
    distance: int,
    activation: str,
    epsilon: float,
) -> Any:
    """A model of T5's kind; one in which every layer has positions of its own is an UMT5."""
    biases = [name for name in state if name.endswith("relative_attention_bias.weight")]
    first: dict[str, Any] = {
        side: state.get(f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight") for side in SIDES
    }
    kinds: Any = (T5Config, T5ForConditionalGeneration)
    if any(not np.array_equal(state[name], first[name.split(".")[0]]) for name in biases):
        kinds = (UMT5Config, UMT5ForConditionalGeneration)
    else:
        for name in biases:
            if ".block.0." not in name:
                del state[name]
    bias = first["encoder"]
    if bias is None or bias.ndim != 2 or heads[0] != heads[1] or not 0 < heads[0] == bias.shape[1]:
        raise NormalignError("its heads and its relative positions do not fit together")
    size, inner = tables[0].shape[1], len(state["encoder.block.0.layer.0.SelfAttention.q.weight"])
    gated = "encoder.block.0.layer.1.DenseReluDense.wi_0.weight" in state
    names = [f"encoder.block.0.layer.1.DenseReluDense.{'wi_0' if gated else 'wi'}.weight"]
    if inner % heads[0] or len(tables[1]) != len(tables[2]) or len(tables[0]) != len(tables[1]):
        raise NormalignError("its heads, its embeddings and its output layer do not fit together")
    with torch.device("meta"):
        config = kinds[0](
            vocab_size=len(tables[0]),
            d_model=size,
            d_kv=inner // heads[0],
            d_ff=len(state[names[0]]),
            num_layers=_depth(state, r"encoder\.block\.(\d+)\."),
            num_decoder_layers=_depth(state, r"decoder\.block\.(\d+)\."),
            num_heads=heads[0],
            relative_attention_num_buckets=len(bias),
            relative_attention_max_distance=distance,
            feed_forward_proj=f"gated-{activation}" if gated else activation,
            tie_word_embeddings=False,
            pad_token_id=0,
            eos_token_id=1,
            dropout_rate=0.0,
        )
        config.dense_act_fn, config.is_gated_act = activation, gated
        config.tie_word_embeddings = config.scale_decoder_outputs = False
        model = kinds[1](config)
    for name, table in zip(("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"), tables, strict=True):
        state[f"{name}.weight"] = table
    if "shared.weight" in dict(model.named_parameters(remove_duplicate=False)):
        state["shared.weight"] = tables[0]
    model.pieces, model.starts_from_zero = (len(tables[0]), len(tables[1])), False
    return _filled(model, state, epsilon)


def _filled(model: Any, state: Mapping[str, np.ndarray], epsilon: float) -> Any:
    """The module with its weights, which all have to be there and to fit."""
    seen: dict[int, Tensor] = {}
    tensors = {}
    for name, array in state.items():
        if id(array) not in seen:
            seen[id(array)] = torch.from_numpy(np.require(array, np.float32, ["C", "W"]))
        tensors[name] = seen[id(array)]
    try:
        model.load_state_dict(tensors, assign=True)
    except RuntimeError as error:
        reasons = str(error).split("\n")[1:] or [str(error)]
        raise NormalignError(f"its parts do not fit together: {' '.join(reasons[0].split())[:200]}") from None
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            module.variance_epsilon = epsilon
        elif isinstance(module, nn.LayerNorm):
            module.eps = epsilon
    return model
