"""Wrong arguments are one line, whatever the verb."""

from __future__ import annotations

import pytest

from fairseq_normalign.cli import VERBS, main


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_an_unknown_option_is_one_line(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([verb, "--no-such-option"])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.count("\n") == 1
    assert said.startswith(f"normalign {verb}: error: ")
    assert f"'normalign {verb} --help' lists the options" in said


def test_an_unknown_verb_is_one_line(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["no-such-verb"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_verb_that_moved_says_where(capsys):
    with pytest.raises(SystemExit):
        main(["report", "dump", "-o", "folder"])
    assert "normalign view ... --report FOLDER" in capsys.readouterr().err
