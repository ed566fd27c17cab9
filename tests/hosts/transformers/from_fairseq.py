"""A fairseq Transformer made into a model of transformers: post-norm into FSMT, pre-norm into M2M100."""

from __future__ import annotations

from typing import Any

from fairseq_normalign.hosts.fairseq.checkpoints import without_fused_projections
from tests.hosts.transformers.tiny_families import transformers


def converted(model: Any, pre_norm: bool) -> Any:
    """The same model, the same parameters, in the other host."""
    words = model.decoder.dictionary
    encoder, decoder = model.encoder.layers, model.decoder.layers
    sizes = {
        "d_model": decoder[0].embed_dim,
        "encoder_layers": len(encoder),
        "decoder_layers": len(decoder),
        "encoder_attention_heads": encoder[0].self_attn.num_heads,
        "decoder_attention_heads": decoder[0].self_attn.num_heads,
        "encoder_ffn_dim": encoder[0].fc1.out_features,
        "decoder_ffn_dim": decoder[0].fc1.out_features,
        "vocab_size": len(words),
        "max_position_embeddings": 60,
        "pad_token_id": words.pad(),
        "bos_token_id": words.bos(),
        "eos_token_id": words.eos(),
        "decoder_start_token_id": words.eos(),
        "activation_function": "relu",
        "scale_embedding": True,
        "tie_word_embeddings": False,
    }
    if pre_norm:
        twin = transformers.M2M100ForConditionalGeneration(transformers.M2M100Config(**sizes))
    else:
        vocabularies = {"src_vocab_size": len(words), "tgt_vocab_size": len(words), "langs": ["de", "en"]}
        twin = transformers.FSMTForConditionalGeneration(transformers.FSMTConfig(**sizes, **vocabularies))
    parameter = next(model.parameters())
    twin.to(parameter.dtype).eval().requires_grad_(False)
    _fill(twin, model.state_dict(), pre_norm)
    return twin


def _fill(twin: Any, parameters: dict[str, Any], pre_norm: bool) -> None:
    plain = without_fused_projections({"model": dict(parameters)})["model"]  # fairseq 0.12.2 has them
    named = {f"model.{name}": tensor for name, tensor in plain.items() if "version" not in name}
    named = {name: tensor for name, tensor in named.items() if "embed_positions" not in name}
    if pre_norm:
        named["lm_head.weight"] = named.pop("model.decoder.output_projection.weight")
    missing, unexpected = twin.load_state_dict(named, strict=False)
    assert not unexpected
    assert all("embed_positions" in name or name == "model.shared.weight" for name in missing), missing
