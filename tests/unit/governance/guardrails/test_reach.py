import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.core.guardrail import Guardrail
from antiphon.governance.guardrails import banned_words, personal_data, secrets
from tests.unit.governance.guardrails.streams import found_in_stream, keeps_its_reach

WORDS = ("apple", "ap", "a b", "坏词", "词坏", "ﬁne", "abab", "aba", "straße")
GUARDRAILS: dict[str, Guardrail] = {
    "personal_data": personal_data.plugin.make(personal_data.Options(kinds=tuple(personal_data.KINDS))),
    "secrets": secrets.plugin.make(secrets.Options()),
    "banned_words": banned_words.plugin.make(banned_words.Options(words=WORDS)),
}
PIECES = (
    *(
        "4111 1111 1111 1111",
        "4111111111111111",
        "1111",
        " ",
        " ",
        "-",
        ".",
        "@",
        "a@b.com",
        "john.doe@mail.example.org",
        "://",
        "http://",
        "https://a.b/c?d=e",
    ),
    *(
        "+1 ",
        "(0)",
        "555-123-4567",
        "541.714.1388",
        "call ",
        "SSN ",
        "123-45-6789",
        "10.0.0.1",
        "1",
        "12",
        "0",
        "::",
        "fe80::1",
        ":",
        "2001:db8::1",
        "a",
        "x",
        "Z",
    ),
    *(
        "GB29NWBK60161331926819",
        "DE89 3704 0044 0532 0130 00",
        "order ",
        "11010519491231002X",
        "91110000600037341L",
        "护照E12345678",
        "通行证",
        "京A12345",
        "粤BD12345",
    ),
    *(
        "我叫王小明",
        "王",
        "欧阳",
        "小明",
        "先生",
        "，",
        "的电话",
        "北京市朝阳区建国路88号",
        "号",
        "路",
        "12号楼3单元",
        "住在",
        "Mr. ",
        "John ",
        "Smith",
        "Dr",
        "My name is ",
    ),
    *(
        "12 Main Street",
        " Apt. 5",
        ", NY 10001",
        "\n",
        "sk-",
        "ghp_",
        "A1b2C3d4E5f6G7h8I9j0",
        "AKIAIOSFODNN7EXAMPLE",
        "password",
        "=",
        ": ",
        "hunter2!",
        "api_key",
        '"',
        "'",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "MIIEowIBAAKCAQEA7bq2x3vYl1Qw9cG5Zt8KpN4rXsJdUfHkLmOaBcDeFgHiJkLm",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi",
    ),
    *(
        "user:pass1@",
        "apple",
        "app",
        "le",
        "坏",
        "词",
        "ﬁ",
        "ne",
        "ab",
        "e\u0301",
        "\u0301",
        "ß",
        "İ",
        "ａｐ",
        "ｐｌｅ",
        "strasse",
        "stra",
        "a b",
        "$",
        "x" * 50,
        "1 " * 20,
        "9" * 30,
    ),
)
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=60).map("".join)


@pytest.mark.parametrize("name", GUARDRAILS)
@given(text=TEXTS)
@settings(max_examples=200, deadline=None)
def test_a_finding_depends_on_what_is_within_reach(name: str, text: str) -> None:
    keeps_its_reach(GUARDRAILS[name], text)


@pytest.mark.parametrize("name", GUARDRAILS)
@given(text=TEXTS, seed=st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_a_stream_yields_what_its_whole_text_yields(name: str, text: str, seed: int) -> None:
    guardrail, rng = GUARDRAILS[name], random.Random(seed)
    places = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(20)))
    deltas = [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert found_in_stream(guardrail, deltas) == list(guardrail.find(text))


@pytest.mark.parametrize("name", GUARDRAILS)
def test_long_repeats_keep_their_reach(name: str) -> None:
    for piece in PIECES:
        text = piece * (600 // len(piece) + 1)
        keeps_its_reach(GUARDRAILS[name], text)
        assert found_in_stream(GUARDRAILS[name], [text[at : at + 7] for at in range(0, len(text), 7)]) == list(
            GUARDRAILS[name].find(text)
        )
