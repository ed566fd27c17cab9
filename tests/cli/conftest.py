from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory: pytest.TempPathFactory):
    """Two tiny random models, their dictionaries and a text of 30 pairs."""
    from tiny_pair import make_tiny_pair

    return make_tiny_pair(tmp_path_factory.mktemp("tiny_pair"))
