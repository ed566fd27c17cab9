"""How much each source position gives to each target step: one file per method. torch only, no fairseq."""

from . import block, erasure, gradients, norms, relevance, rollout  # each registers itself
from .records import Attention, AttentionBlock
from .registry import METHODS, BlockMethod, LayerMethod, Method, ModelMethod, get_method, method_class, register_method

__all__ = [
    "METHODS",
    "Attention",
    "AttentionBlock",
    "BlockMethod",
    "LayerMethod",
    "Method",
    "ModelMethod",
    "block",
    "erasure",
    "get_method",
    "gradients",
    "method_class",
    "norms",
    "register_method",
    "relevance",
    "rollout",
]
