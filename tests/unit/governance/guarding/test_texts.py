"""Masks in requests, and their way back in answers."""

import json

import pytest

from antiphon.core.errors import ContentBlocked
from antiphon.governance.guarding.masks import Masks
from antiphon.governance.guarding.rules import Acts
from antiphon.governance.guarding.texts import InputGuard, OutputGuard
from tests.unit.governance.guarding.patterns import DIGITS, MAIL, rule

RULES = (rule(DIGITS), rule(MAIL))


def test_the_same_text_has_the_same_placeholder_and_comes_back() -> None:
    masks, acts = Masks(), Acts()
    guard = InputGuard(RULES, masks, acts)
    assert guard.text("ab@cd and 123, ab@cd again") == "[MAIL_1] and [DIGITS_1], [MAIL_1] again"
    assert guard.text("x@y") == "[MAIL_2]"
    assert OutputGuard((), masks, Acts()).text("to [MAIL_1], not [MAIL_2] or [MAIL_3]") == "to ab@cd, not x@y or [MAIL_3]"
    assert acts.told() == ("input.mask.mail.MAIL=3", "input.mask.digits.DIGITS=1")


def test_what_the_caller_gets_back_is_not_masked_again_and_what_the_model_says_is() -> None:
    masks = Masks()
    InputGuard(RULES, masks, Acts()).text("ab@cd")
    acts = Acts()
    assert OutputGuard(RULES, masks, acts).text("[MAIL_1] is not y@z") == "ab@cd is not [MAIL]"
    assert acts.told() == ("output.mask.mail.MAIL=1",)


def test_a_placeholder_that_the_caller_wrote_is_nobodys() -> None:
    masks = Masks(b'{"content": "what is [MAIL_1]? write to ab@cd"}')
    assert InputGuard(RULES, masks, Acts()).text("what is [MAIL_1]? write to ab@cd") == "what is [MAIL_1]? write to [MAIL_2]"
    assert OutputGuard((), masks, Acts()).text("[MAIL_1] [MAIL_2]") == "[MAIL_1] ab@cd"


def test_a_suffix_tells_the_placeholders_of_two_calls_apart() -> None:
    masks = Masks(suffix="abc")
    assert InputGuard(RULES, masks, Acts()).text("ab@cd") == "[MAIL_1abc]"
    assert OutputGuard((), masks, Acts()).text("[MAIL_1] [MAIL_1abc]") == "[MAIL_1] ab@cd"


def test_parts_that_overlap_are_one() -> None:
    assert InputGuard((rule(DIGITS), rule(MAIL, name="other")), Masks(), Acts()).text("ab@cd 12345") == "[MAIL_1] [DIGITS_1]"


def test_within_json_each_text_is_looked_at_and_what_does_not_change_stays_as_it_is_written() -> None:
    masks = Masks()
    guard = InputGuard(RULES, masks, Acts())
    assert guard.json('{"a" :  "nothing", "n": 1.0}') == '{"a" :  "nothing", "n": 1.0}'
    assert guard.json('{"to": "ab@cd", "n": [123, "say \\"123\\""]}') == '{"to":"[MAIL_1]","n":[123,"say \\"[DIGITS_1]\\""]}'
    quoted = Masks()
    quoted.hide("X", 'a "quoted"\nname')
    assert json.loads(OutputGuard((), quoted, Acts()).json('{"who": "[X_1]"}')) == {"who": 'a "quoted"\nname'}
    assert guard.json("no json, ab@cd") == "no json, [MAIL_1]"


def test_a_rule_that_blocks_says_which_and_not_what() -> None:
    with pytest.raises(ContentBlocked) as raised:
        InputGuard((rule(MAIL, "block", "mails"),), Masks(), Acts()).text("write to ab@cd")
    assert '"mails"' in str(raised.value)
    assert "MAIL" in str(raised.value)
    assert "ab@cd" not in str(raised.value)


def test_a_rule_that_observes_changes_nothing() -> None:
    acts = Acts()
    assert InputGuard((rule(MAIL, "observe"),), Masks(), acts).text("ab@cd") == "ab@cd"
    assert acts.told() == ("input.observe.mail.MAIL=1",)
