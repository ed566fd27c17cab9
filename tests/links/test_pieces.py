import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairseq_normalign.errors import NormalignError
from fairseq_normalign.links.pieces import SCHEMES, Segmentation, segment

EXAMPLES = [
    ("subword_nmt", "a@@ b@@ c d e@@ f", ("abc", "d", "ef"), ((0, 3), (3, 4), (4, 6))),
    ("subword_nmt", "a b@@", ("a", "b"), ((0, 1), (1, 2))),
    ("subword_nmt", "@@", ("@@",), ((0, 1),)),
    ("sentencepiece", "▁the ▁cat s", ("the", "cats"), ((0, 1), (1, 3))),
    ("sentencepiece", "the ▁cat", ("the", "cat"), ((0, 1), (1, 2))),
    ("sentencepiece", "▁ the ▁ c ▁at", ("the", "c", "at"), ((0, 2), (2, 4), (4, 5))),
    ("sentencepiece", "▁a ▁ ▁b", ("a", "b"), ((0, 1), (1, 3))),
    ("sentencepiece", "▁a ▁ ▁", ("a",), ((0, 3),)),
    ("sentencepiece", "t h e ▁ c a t", ("the", "cat"), ((0, 3), (3, 7))),
    ("gpt2", "the Ġcat Ã¼ Ġ .", ("the", "catü", "."), ((0, 1), (1, 3), (3, 5))),
    ("bytebpe", "▁the ▁stra ÃƟ e", ("the", "straße"), ((0, 1), (1, 4))),
    ("words", "a@@ ▁b", ("a@@", "▁b"), ((0, 1), (1, 2))),
]


@pytest.mark.parametrize(("scheme", "pieces", "words", "spans"), EXAMPLES)
def test_words_and_spans_by_hand(scheme, pieces, words, spans):
    assert segment(pieces.split(" "), scheme) == Segmentation(words, spans, ())


def test_specials_are_in_no_word_and_break_words():
    pieces = ["__de__", "a@@", "</s>", "b", "</s>"]
    expected = Segmentation(("a", "b"), ((1, 2), (3, 4)), (0, 2, 4))
    assert segment(pieces, specials={"__de__", "</s>"}) == expected


def test_marks_without_a_word_are_special():
    assert segment(["▁", "</s>"], "sentencepiece", specials=["</s>"]) == Segmentation((), (), (0, 1))


def test_a_piece_over_two_words_is_an_error():
    with pytest.raises(NormalignError, match="'▁of▁the'"):
        segment(["▁of▁the"], "sentencepiece")


def test_unknown_scheme_lists_the_choices():
    with pytest.raises(NormalignError) as error:
        segment(["a"], "wordpiece")
    assert all(scheme in str(error.value) for scheme in SCHEMES)


@given(
    pieces=st.lists(st.sampled_from(["a", "b@@", "@@", "▁", "▁c", "Ġd", "Ġ", "ß", "<s>"])),
    scheme=st.sampled_from(SCHEMES),
)
def test_spans_and_specials_partition_the_sentence(pieces, scheme):
    found = segment(pieces, scheme, specials=["<s>"])
    covered = [p for start, stop in found.spans for p in range(start, stop)]
    assert len(found.words) == len(found.spans)
    assert covered == sorted(covered)
    assert sorted([*covered, *found.specials]) == list(range(len(pieces)))
    assert all(start < stop for start, stop in found.spans)


@given(words=st.lists(st.text("abcß", min_size=1, max_size=5), min_size=1), data=st.data())
def test_splitting_words_and_joining_them_again(words, data):
    pieces = []
    for word in words:
        cut = data.draw(st.integers(0, len(word) - 1))
        pieces += [word[:cut] + "@@", word[cut:]] if cut else [word]
    assert segment(pieces).words == tuple(words)
