"""Random lines of many scripts, with everything that makes offsets hard."""

from __future__ import annotations

import random
import unicodedata

WORDS = (
    "Straße naïve Ｆｕｌｌ ｗｉｄｔｈ ﬁne office ﬀ ½ ² ℃ ㎏ Ⅷ … İstanbul ΣΟΦΟΣ ǅ don't U.S.A. 3,14 @user #tag a@@b ▁x "
    "我爱 北京 天安门 東京 テスト ｶﾞｷﾞ です ひらがな 한국어 한국어 สวัสดี ครับ नमस्ते क्षत्रिय "
    "العَرَبِيَّة مُحَمَّد שָׁלוֹם Việt tiếng e\u0301a\u0308o\u0302\u0301 q\u0323\u0307 q\u0307\u0323 "
    "Å \u212b 👍 👍🏽 👨\u200d👩\u200d👧 🇩🇪🇫🇷 ❤\ufe0f soft\u00adhyphen "
    "zero\u200bwidth no\u00a0break \u201equoted\u201c «x» (a) [b] {c} <d> & &amp; % $5 €7 -- — ..."
).split(" ")
GAPS = (" ", " ", " ", " ", "  ", "   ", "\t", " \t ", "\u3000", "\u00a0")


def random_line(rng: random.Random, longest: int = 12) -> str:
    """Words of many scripts, in any normalization form, between one or more spaces."""
    parts = []
    for _ in range(rng.randint(1, longest)):
        word = rng.choice(WORDS) if rng.random() < 0.8 else random_word(rng)
        if rng.random() < 0.3:
            word = unicodedata.normalize(rng.choice(("NFC", "NFD", "NFKC", "NFKD")), word)
        parts += [word, rng.choice(GAPS)]
    return "".join(parts[: rng.choice((-1, None))]) if rng.random() < 0.9 else " " + "".join(parts)


def random_word(rng: random.Random) -> str:
    blocks = (
        (0x21, 0x7E),
        (0xA1, 0x24F),
        (0x370, 0x3FF),
        (0x400, 0x4FF),
        (0x4E00, 0x4EFF),
        (0xAC00, 0xADFF),
        (0x1F600, 0x1F64F),
    )
    low, high = rng.choice(blocks)
    letters = [chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))]
    return "".join(filter(is_whole, letters)) or "x"


def is_whole(letter: str) -> bool:
    """No mark without a letter: U+00B8 is a space with a mark under it to Unicode, so a normalizer splits the word."""
    first = unicodedata.normalize("NFKD", letter)[0]
    return unicodedata.category(letter) not in ("Cn", "Cf", "Cc", "Mn", "Me") and not first.isspace()
