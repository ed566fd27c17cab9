"""How much each source position gives to each target step: one file a method. torch only, no fairseq."""

from . import norms, weights  # each registers itself
from .records import CrossAttention
from .registry import METHODS, LayerMethod, Method, get_method, register_method

__all__ = ["METHODS", "CrossAttention", "LayerMethod", "Method", "get_method", "norms", "register_method", "weights"]
