import pytest

from fairseq_normalign.cli import main
from fairseq_normalign.links.symmetrize import SYMMETRIZATIONS, symmetrize

FIRST = "0-0 1-1 2-1\n\n3-2 0-0\n"
SECOND = "0-0 2-1 2-2\n\n3-3 2-2\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**contents):
        for name, content in contents.items():
            (tmp_path / name).write_text(content, encoding="utf-8", newline="")

    write(first=FIRST, second=SECOND)
    return write


def links_of(line):
    return [tuple(map(int, link.split("-"))) for link in line.split()]


@pytest.mark.parametrize("method", list(SYMMETRIZATIONS))
def test_every_method_sentence_by_sentence(files, capsys, method):
    assert main(["symmetrize", "first", "second", "--symmetrize", method]) == 0
    out = capsys.readouterr().out.split("\n")
    assert out.pop() == ""
    pairs = zip(FIRST.splitlines(), SECOND.splitlines(), strict=True)
    assert [links_of(line) for line in out] == [symmetrize(links_of(a), links_of(b), method) for a, b in pairs]


def test_second_file_turned_and_another_format(files, capsys, tmp_path):
    files(second="0-0 1-2 2-2\n\n3-3 2-2\n")
    line = "symmetrize first second --reverse-second --to talp -o out --symmetrize intersection"
    assert main(line.split()) == 0
    assert (tmp_path / "out").read_text(encoding="utf-8") == "1-1 3-2\n\n\n"


def refused(capsys, *arguments):
    assert main(["symmetrize", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err.removeprefix("normalign symmetrize: error: ").strip()


def test_errors(files, capsys, tmp_path):
    files(short="0-0\n", first_turned="".join(f"{k}-0 " for k in range(12)), flat="".join(f"0-{k} " for k in range(12)))
    assert refused(capsys, "first", "short", "-o", "out") == "first has 3 sentences, short has 1"
    assert not (tmp_path / "out").exists()
    assert "12 with source and target exchanged" in refused(capsys, "first_turned", "flat")
