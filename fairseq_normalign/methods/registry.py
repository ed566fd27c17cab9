"""The methods by name. A method is a small class; a name on the command line finds it here.

A name may carry options: ``smoothgrad:n=10,sigma=0.1``. They are the keyword arguments of the class.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar, get_args, get_type_hints

from torch import Tensor

from ..errors import NormalignError
from .records import Attention, AttentionBlock, ModelView


class Method(ABC):
    """A method that computes how much each source position gives to each decoder step."""

    name: ClassVar[str]
    layerwise: ClassVar[bool]
    """Whether it can be read at each decoder layer; if not, there is one soft alignment for the whole model."""
    has_heads: ClassVar[bool] = False
    """Whether single heads can be read."""
    steps: ClassVar[tuple[str, ...]] = ("awi", "awo")
    """Which decoder step may stand for a target word. What explains an output belongs to the step that outputs it."""
    default_step: ClassVar[str] = "awi"
    default_layer: ClassVar[str] = "low"
    """Where it is read unless a layer is asked for: the bottom third of the decoder ('low') or its 'top'."""
    needs_gradients: ClassVar[bool] = False
    signed: ClassVar[bool] = False
    """Whether values below zero mean something: a source position that makes the word less likely."""

    @classmethod
    def summary(cls) -> str:
        """Return one line that describes the method."""
        return inspect.cleandoc(cls.__doc__ or "").splitlines()[0]


Record = TypeVar("Record")


class ReadsLayer(Method, Generic[Record]):
    """A method that reads one encoder-decoder attention layer, and so stops the decoder there."""

    layerwise = True
    has_heads = True

    @abstractmethod
    def layer(self, record: Record) -> Tensor:
        """The soft alignment of the layer, all heads together: -> [B, T, S]."""

    @abstractmethod
    def by_head(self, record: Record) -> Tensor:
        """The soft alignment of each head alone: -> [B, H, T, S]."""

    def both(self, record: Record) -> tuple[Tensor, Tensor]:
        """What :meth:`layer` and :meth:`by_head` give, for methods that can share work between them."""
        return self.layer(record), self.by_head(record)


class LayerMethod(ReadsLayer[Attention]):
    """Reads the attention alone."""


class BlockMethod(ReadsLayer[AttentionBlock]):
    """Reads the attention with its residual connection and LayerNorm."""


class ModelMethod(Method):
    """A method that looks at the whole model: it explains what a decoder step puts out, or how far inputs reach."""

    layerwise = False
    steps: ClassVar[tuple[str, ...]] = ("awo",)
    default_step = "awo"
    default_layer = "top"

    @abstractmethod
    def run(self, view: ModelView, layers: Sequence[int]) -> Tensor:
        """-> [len(layers), N, T + 1, S]; a method that is not layerwise ignores ``layers``: -> [1, N, T + 1, S]."""


METHODS: dict[str, type[Method]] = {}

AnyMethod = TypeVar("AnyMethod", bound=type[Method])


def register_method(name: str) -> Callable[[AnyMethod], AnyMethod]:
    """Class decorator: make the method known by ``name``."""

    def register(cls: AnyMethod) -> AnyMethod:
        cls.name = name
        METHODS[name] = cls
        return cls

    return register


def method_class(spec: str) -> type[Method]:
    """Return the class of the method of that name, which may carry options.

    >>> method_class("norms").__name__
    'VectorNorms'
    """
    name = spec.partition(":")[0]
    if name not in METHODS:
        raise NormalignError(f"no method '{name}'; choose one of {', '.join(sorted(METHODS))}")
    return METHODS[name]


def get_method(spec: str) -> Method:
    """Return the method of that name, with the options after its colon; an unknown name is an error that lists all.

    >>> get_method("smoothgrad:n=10").n
    10
    """
    cls = method_class(spec)
    return cls(**_options(cls, spec.partition(":")[2]))


def _options(cls: type[Method], text: str) -> dict[str, object]:
    """The keyword arguments that are written in ``text``; their type says what they may be."""
    known = {name: p.default for name, p in inspect.signature(cls).parameters.items() if p.kind is not p.VAR_KEYWORD}
    types = get_type_hints(cls.__init__) if text else {}
    options: dict[str, object] = {}
    for part in filter(None, text.split(",")):
        key, sign, value = part.partition("=")
        if not sign or key not in known:
            allowed = ", ".join(f"{name}={default}" for name, default in known.items()) or "none"
            raise NormalignError(f"method '{cls.name}': no option '{part}'; its options and defaults: {allowed}")
        try:
            options[key] = type(known[key])(value)
        except ValueError:
            kind = {"int": "a whole number", "float": "a number"}.get(type(known[key]).__name__, "text")
            raise NormalignError(f"method '{cls.name}': {key} is {kind}, not '{value}'") from None
        choices = get_args(types.get(key))  # of a Literal
        if choices and value not in choices:
            raise NormalignError(f"method '{cls.name}': {key} is '{value}'; choose one of {', '.join(choices)}")
    return options
