"""Checkpoints of published shapes, each trained once a session, when a test asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def shape_of(tmp_path_factory: pytest.TempPathFactory) -> Callable:
    """A shape of ``published_shapes.SHAPES`` by its name."""
    from tests.hosts.fairseq.published_shapes import Shape, make_shape

    made: dict[str, Shape] = {}

    def find(name: str) -> Shape:
        if name not in made:
            made[name] = make_shape(name, tmp_path_factory.mktemp("shape"))
        return made[name]

    return find
