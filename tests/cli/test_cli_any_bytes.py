"""Whatever bytes are in the files, the answer is a score or one line that says what is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_normalign.cli import main

PIECES = [
    *(
        b"0-0",
        b"1-1",
        b"2p3",
        b"12-7",
        b" ",
        b"\n",
        b"\n",
        b"\r\n",
        b"\t",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\0",
        b"\xe2\x80\xa8",
    ),
    *(
        b"0001 1 1 S\n",
        b"2 0 3 P 0.5\n",
        b"3 0 0\n",
        b"SENT: 1\n",
        b"SENT: 0\n",
        b"S 1 1\n",
        b"P 0 2\n",
        b"-1",
        b"99999999999-1",
    ),
    *(
        b"A-0\t0-0\n",
        b"A-1\t\n",
        b"A-1\t3-3 0-1\n",
        b"S-0\ta b\n",
        b"H-0\t-0.1\tc d\n",
        b"A-0\t0.1,0.2\n",
        b"x",
        b"1234567890123456789012-0",
    ),
]
FILE = st.lists(st.sampled_from(PIECES), max_size=10).map(b"".join)
OPTIONS = st.lists(
    st.sampled_from(
        [
            "--reverse-hyp",
            "--gold-base=1",
            "--hyp-base=0",
            "--skip-goldless",
            "--source=gold",
            "--bootstrap=3",
            "--allow-missing",
        ]
    ),
    max_size=3,
)


@settings(max_examples=300, deadline=None)
@given(gold=FILE, hyp=FILE, options=OPTIONS)
def test_score(tmp_path_factory, gold, hyp, options):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "gold").write_bytes(gold)
    (folder / "hyp").write_bytes(hyp)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["score", "gold", "hyp", *options]) in (0, 2)
        assert main(["symmetrize", "gold", "hyp", "-o", "out"]) in (0, 2)
        assert main(["convert", "hyp", "--to", "talp", "-o", "out"]) in (0, 2)
