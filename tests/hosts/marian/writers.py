"""Files of Marian and CTranslate2 written from a tiny random model of transformers."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

PROJECTIONS = (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj"))


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """The parameters, without the piece for padding that only transformers has."""
    state = {name.removeprefix("model."): tensor.numpy() for name, tensor in model.state_dict().items()}
    for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"):
        state[name] = state[name][:-1]
    state["final_logits_bias"] = state["final_logits_bias"][:, :-1]
    return state


def marian_arrays(model: Any) -> dict[str, np.ndarray]:
    """The same under Marian's names: matrices transposed, biases with two dimensions."""
    state, made = arrays_of(model), {}

    def linear(theirs: str, part: str, ours: str) -> None:
        made[f"{theirs}_W{part}"] = np.ascontiguousarray(state[f"{ours}.weight"].T)
        made[f"{theirs}_b{part}"] = state[f"{ours}.bias"][None]

    def norm(theirs: str, ours: str) -> None:
        made[f"{theirs}_ln_scale"] = state[f"{ours}.weight"][None]
        made[f"{theirs}_ln_bias"] = state[f"{ours}.bias"][None]

    for side, layers in (("encoder", model.model.encoder.layers), ("decoder", model.model.decoder.layers)):
        for number in range(len(layers)):
            theirs, ours = f"{side}_l{number + 1}", f"{side}.layers.{number}"
            for kind, name in (("self", "self_attn"), ("context", "encoder_attn"))[: 1 + (side == "decoder")]:
                for part, projection in PROJECTIONS:
                    linear(f"{theirs}_{kind}", part, f"{ours}.{name}.{projection}")
                norm(f"{theirs}_{kind}_Wo", f"{ours}.{name}_layer_norm")
            linear(f"{theirs}_ffn", "1", f"{ours}.fc1")
            linear(f"{theirs}_ffn", "2", f"{ours}.fc2")
            norm(f"{theirs}_ffn_ffn", f"{ours}.final_layer_norm")
    made["Wemb"] = state["encoder.embed_tokens.weight"]
    made["decoder_ff_logit_out_b"] = state["final_logits_bias"]
    return made


def marian_config(model: Any, **options: Any) -> str:
    """special:model.yml."""
    config = model.config
    known = {
        "type": "transformer",
        "enc-depth": config.encoder_layers,
        "dec-depth": config.decoder_layers,
        "transformer-heads": config.encoder_attention_heads,
        "transformer-preprocess": "",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-ffn-activation": {"silu": "swish"}.get(config.activation_function, "relu"),
        "transformer-decoder-autoreg": "self-attention",
        "tied-embeddings-all": True,
        "dim-emb": config.d_model,
        "dim-vocabs": [config.vocab_size - 1] * 2,
        "transformer-dim-ffn": config.encoder_ffn_dim,
        "transformer-decoder-dim-ffn": config.decoder_ffn_dim,
        **options,
    }
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in known.items())


def write_npz(path: Path, arrays: dict[str, np.ndarray], config: str) -> None:
    np.savez(path, **arrays, **{"special:model.yml": np.frombuffer(config.encode() + b"\0", np.int8)})


def write_bin(path: Path, arrays: dict[str, np.ndarray], config: str, bits: int = 32) -> None:
    """Marian's .bin; with 8 or 16 bits: matrices but embeddings transposed, the multiplier behind them."""
    items = []
    for name, array in arrays.items():
        kind, content = 0x404, array.astype("<f4").tobytes()
        if bits < 32 and name.split("_")[-1][0] == "W":
            scale = np.float32((2 ** (bits - 1) - 1) / np.abs(array).max()) if bits == 8 else np.float32(1024)
            whole = np.rint((array if name.endswith("Wemb") else array.T) * scale).astype(f"<i{bits // 8}")
            kind, content = {8: 0x4101, 16: 0x4102}[bits], whole.tobytes() + struct.pack("<f", scale)
        items.append((name, kind, array.shape, content + b"\0" * (-len(content) % 256)))
    items.append(("special:model.yml", 0x101, (len(config) + 1,), config.encode() + b"\0"))
    names = [name.encode() + b"\0" for name, *_ in items]
    header = b"".join(
        struct.pack("<4Q", len(written), kind, len(shape), len(content))
        for written, (_, kind, shape, content) in zip(names, items, strict=True)
    )
    shapes = b"".join(struct.pack(f"<{len(shape)}i", *shape) for _, _, shape, _ in items)
    data = struct.pack("<2Q", 1, len(items)) + header + b"".join(names) + shapes
    padding = -(len(data) + 8) % 256
    path.write_bytes(data + struct.pack("<Q", padding) + b"\0" * padding + b"".join(item[3] for item in items))


CT2_ACTIVATIONS = {"relu": 0, "silu": 2}


def ct2_arrays(model: Any) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Variables and aliases of CTranslate2's TransformerSpec."""
    state, made = arrays_of(model), {}

    def linear(theirs: str, ours: str, *parts: str) -> None:
        for name in ("weight", "bias"):
            made[f"{theirs}/{name}"] = np.concatenate([state[f"{ours}{part}.{name}"] for part in parts])

    def norm(theirs: str, ours: str) -> None:
        made[f"{theirs}/gamma"], made[f"{theirs}/beta"] = state[f"{ours}.weight"], state[f"{ours}.bias"]

    for side, layers in (("encoder", model.model.encoder.layers), ("decoder", model.model.decoder.layers)):
        for number in range(len(layers)):
            theirs, ours = f"{side}/layer_{number}", f"{side}.layers.{number}"
            linear(f"{theirs}/self_attention/linear_0", f"{ours}.self_attn.", "q_proj", "k_proj", "v_proj")
            linear(f"{theirs}/self_attention/linear_1", f"{ours}.self_attn.", "out_proj")
            norm(f"{theirs}/self_attention/layer_norm", f"{ours}.self_attn_layer_norm")
            if side == "decoder":
                linear(f"{theirs}/attention/linear_0", f"{ours}.encoder_attn.", "q_proj")
                linear(f"{theirs}/attention/linear_1", f"{ours}.encoder_attn.", "k_proj", "v_proj")
                linear(f"{theirs}/attention/linear_2", f"{ours}.encoder_attn.", "out_proj")
                norm(f"{theirs}/attention/layer_norm", f"{ours}.encoder_attn_layer_norm")
            linear(f"{theirs}/ffn/linear_0", f"{ours}.", "fc1")
            linear(f"{theirs}/ffn/linear_1", f"{ours}.", "fc2")
            norm(f"{theirs}/ffn/layer_norm", f"{ours}.final_layer_norm")
        made[f"{side}/num_heads"] = np.int16(model.config.encoder_attention_heads)
        made[f"{side}/pre_norm"] = np.int8(0)
        made[f"{side}/scale_embeddings"] = np.int8(1)
        made[f"{side}/activation"] = np.int8(CT2_ACTIVATIONS[model.config.activation_function])
    made["decoder/embeddings/weight"] = state["decoder.embed_tokens.weight"]
    made["decoder/position_encodings/encodings"] = state["decoder.embed_positions.weight"]
    made["decoder/projection/bias"] = state["final_logits_bias"][0]
    made["decoder/start_from_zero_embedding"] = np.int8(1)
    aliases = {
        "decoder/projection/weight": "decoder/embeddings/weight",
        "encoder/embeddings_0/weight": "decoder/embeddings/weight",
        "encoder/position_encodings/encodings": "decoder/position_encodings/encodings",
    }
    return made, aliases


def write_ct2(
    path: Path, arrays: dict[str, np.ndarray], aliases: dict[str, str], *, kind: str = "float32", version: int = 6
) -> None:
    """CTranslate2's model.bin: float32, float16, int16 or int8 (a scale per row, or one)."""
    types = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4}
    made: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if name.endswith("/weight") and kind in ("int8", "int16"):
            most = np.abs(array).max(axis=1) if kind == "int8" else np.array(np.abs(array).max())
            scale = ((127 if kind == "int8" else 1000) / most).astype(np.float32)
            rows = scale[:, None] if scale.ndim else scale
            made[name], made[f"{name}_scale"] = np.rint(array * rows).astype(kind), scale
        else:
            made[name] = array.astype(np.float16) if kind == "float16" and array.dtype == np.float32 else array

    def text(string: str) -> bytes:
        return struct.pack("<H", len(string) + 1) + string.encode() + b"\0"

    data = struct.pack("<I", version) + text("TransformerSpec") + struct.pack("<I", 7)
    if version < 3:  # no aliases yet
        made |= {alias: made[name] for alias, name in aliases.items()}
        made |= {f"{a}_scale": made[f"{n}_scale"] for a, n in aliases.items() if f"{n}_scale" in made}
    data += struct.pack("<I", len(made))
    for name, array in sorted(made.items()):
        data += text(name) + struct.pack("<B", array.ndim) + struct.pack(f"<{array.ndim}I", *array.shape)
        if version >= 4:
            data += struct.pack("<BI", types[array.dtype.name], array.nbytes)
        else:
            data += struct.pack("<BI", array.itemsize, array.size)
        data += array.tobytes()
    if version >= 3:
        data += struct.pack("<I", len(aliases)) + b"".join(text(a) + text(n) for a, n in sorted(aliases.items()))
    path.write_bytes(data)
