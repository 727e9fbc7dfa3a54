import pytest

from antiphon.core.guardrail import Finding
from antiphon.governance.guardrails import json_schema, language, length
from antiphon.governance.guardrails._candidates import settled


def test_what_is_too_long_is_told_from_the_first_character_too_many() -> None:
    guardrail = length.plugin.make(length.Options(characters=5))
    assert guardrail.find("12345") == []
    assert guardrail.find("1234567") == [Finding(5, 7, "TOO_LONG")]
    with pytest.raises(ValueError, match="characters is 0"):
        length.Options(characters=0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Please tell me what the weather is like", "en"),
        ("今天天气怎么样", "zh"),
        ("これは日本語の文章です", "ja"),
        ("오늘 날씨가 어때요", "ko"),
        ("Какая сегодня погода", "ru"),
        ("كيف حال الطقس اليوم", "ar"),
        ("Wie ist das Wetter und was ist los", "de"),
    ],
)
def test_a_language_passes_where_it_is_allowed_and_nowhere_else(text: str, code: str) -> None:
    assert language.plugin.make(language.Options(allowed=(code,))).find(text) == []
    others = tuple({"en", "zh", "ja", "ko", "ru", "ar", "latin"} - {code, "latin" if code == "de" else code})
    found = language.plugin.make(language.Options(allowed=others)).find(text)
    assert found
    assert {each.kind for each in found} == {"LANGUAGE"}


def test_names_code_and_quotations_in_other_languages_pass() -> None:
    guardrail = language.plugin.make(language.Options(allowed=("zh",)))
    assert guardrail.find("请问如何在Kubernetes里部署nginx服务，我想看一个完整的例子，谢谢大家") == []
    assert guardrail.find("12345 !?") == []


def test_the_parts_in_other_languages_are_told() -> None:
    text = "你好。Какая сегодня погода? 谢谢"
    (finding,) = language.plugin.make(language.Options(allowed=("zh",))).find(text)
    assert text[finding.begin : finding.end] == "Какая сегодня погода"


def test_unknown_languages_and_shares_are_named() -> None:
    with pytest.raises(ValueError, match='language "xx" is not known'):
        language.Options(allowed=("xx",))
    with pytest.raises(ValueError, match=r"share is 1\.0"):
        language.Options(share=1.0)


SCHEMA = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "pattern": "^(x+)+$"}}}


@pytest.mark.parametrize("text", ['{"a": "xx"}', "", ' {"a": "x", "b": 1}\n'])
def test_an_answer_that_is_as_it_must_be_passes(text: str) -> None:
    assert json_schema.plugin.make(json_schema.Options(schema=SCHEMA)).find(text) == []


@pytest.mark.parametrize(
    "text", ["{}", "no", '{"a": 1}', "[" * 5_000, "\ud800", '```json\n{"a": "x"}\n```', '{"a": "' + "x" * 200 + '!"}']
)
def test_another_answer_is_found_whole(text: str) -> None:
    assert json_schema.plugin.make(json_schema.Options(schema=SCHEMA)).find(text) == [Finding(0, len(text), "JSON_SCHEMA")]


def test_a_block_of_code_passes_where_that_is_said() -> None:
    guardrail = json_schema.plugin.make(json_schema.Options(schema=SCHEMA, fenced=True))
    assert guardrail.find('```json\n{"a": "x"}\n```') == []
    assert guardrail.find("```json\n{}\n```")


@pytest.mark.parametrize(
    "schema", [{"type": "objekt"}, {"$ref": "http://example.com/s.json"}, {"$ref": "file:///s.json"}, {"pattern": "(?=a)"}]
)
def test_a_schema_that_cannot_be_used_is_named(schema: dict) -> None:
    with pytest.raises(ValueError, match="the schema cannot be used"):
        json_schema.Options(schema=schema)


def test_whoever_begins_first_covers_and_the_rest_sticks_out() -> None:
    assert settled([Finding(3, 8, "B"), Finding(0, 5, "A"), Finding(0, 4, "C"), Finding(1, 2, "D"), Finding(9, 9 + 1, "E")]) == [
        Finding(0, 5, "A"), Finding(5, 8, "B"), Finding(9, 10, "E"),
    ]  # fmt: skip
