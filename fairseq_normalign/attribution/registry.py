"""The methods by name. A method is a small class; a name on the command line finds it here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar

from torch import Tensor

from ..errors import NormalignError
from .records import CrossAttention


class Method(ABC):
    """A way to say how much each source position gives to each decoder step."""

    name: ClassVar[str]


class LayerMethod(Method):
    """A method that reads one encoder-decoder attention layer, and so stops the decoder there."""

    @abstractmethod
    def layer(self, attention: CrossAttention) -> Tensor:
        """The soft alignment of the layer, all heads together: -> [B, T, S]."""

    @abstractmethod
    def by_head(self, attention: CrossAttention) -> Tensor:
        """The soft alignment of each head alone: -> [B, H, T, S]."""

    def both(self, attention: CrossAttention) -> tuple[Tensor, Tensor]:
        """What :meth:`layer` and :meth:`by_head` give, for methods that can share work between them."""
        return self.layer(attention), self.by_head(attention)


METHODS: dict[str, type[Method]] = {}

AnyMethod = TypeVar("AnyMethod", bound=type[Method])


def register_method(name: str) -> Callable[[AnyMethod], AnyMethod]:
    """Class decorator: make the method known by ``name``."""

    def register(cls: AnyMethod) -> AnyMethod:
        cls.name = name
        METHODS[name] = cls
        return cls

    return register


def get_method(name: str) -> Method:
    """The method of that name; an unknown one is an error that lists the known."""
    if name not in METHODS:
        raise NormalignError(f"no method '{name}'; choose one of {', '.join(sorted(METHODS))}")
    return METHODS[name]()
