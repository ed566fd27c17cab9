from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fairseq_normalign.cli import main

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory: pytest.TempPathFactory):
    """Two tiny random models, their dictionaries and a text of 30 pairs."""
    from tiny_pair import make_tiny_pair

    return make_tiny_pair(tmp_path_factory.mktemp("tiny_pair"))


def mistake(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that is wrong; return the one line that says so."""
    code = main([*map(str, arguments)])
    out, err = capsys.readouterr()
    *noted, line = err.splitlines()
    assert (code, out, noted) == (2, "", [])
    verb, _, message = line.partition(": error: ")
    assert verb == f"normalign {arguments[0]}"
    return message
