"""Folders of every family, made once."""

from __future__ import annotations

import pytest

from tests.hosts.transformers.folders import MAKERS


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A function: the folder of a family, by its name."""
    made = {}

    def get(name: str):
        if name not in made:
            made[name] = MAKERS[name](tmp_path_factory.mktemp(name))
        return made[name]

    return get
