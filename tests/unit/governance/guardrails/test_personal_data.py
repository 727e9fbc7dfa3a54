import pytest

from antiphon.governance.guardrails.personal_data import KINDS, USUAL, Options, plugin

EVERY = plugin.make(Options(kinds=tuple(sorted(KINDS))))


def found(text: str) -> list[tuple[str, str]]:
    return [(text[each.begin : each.end], each.kind) for each in EVERY.find(text)]


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("my card 4111 1111 1111 1111 expires soon", "4111 1111 1111 1111", "CREDIT_CARD"),
        ("pay with 378282246310005 please", "378282246310005", "CREDIT_CARD"),
        ("卡号6222021234567890128，户名", "6222021234567890128", "CREDIT_CARD"),
        ("write to jane.doe+news@mail.example.org.", "jane.doe+news@mail.example.org", "EMAIL_ADDRESS"),
        ("邮箱zhangsan@163.com收不到", "zhangsan@163.com", "EMAIL_ADDRESS"),
        ("IBAN DE89 3704 0044 0532 0130 00 today", "DE89 3704 0044 0532 0130 00", "IBAN_CODE"),
        ("gb29nwbk60161331926819", "gb29nwbk60161331926819", "IBAN_CODE"),
        ("from 86.121.97.248 only", "86.121.97.248", "IP_ADDRESS"),
        ("ping 2001:db8::8a2e:370:7334 now", "2001:db8::8a2e:370:7334", "IP_ADDRESS"),
        ("SSN 078-05-1120.", "078-05-1120", "US_SSN"),
        ("call (555) 123-4567 now", "(555) 123-4567", "PHONE_NUMBER"),
        ("ring +46 (0)8 928 571 38, fax", "+46 (0)8 928 571 38", "PHONE_NUMBER"),
        ("Phone: 467 3395", "467 3395", "PHONE_NUMBER"),
        ("手机13912345678，谢谢", "13912345678", "PHONE_NUMBER"),
        ("座机010-62345678转", "010-62345678", "PHONE_NUMBER"),
        ("see https://a.example/x?y=1.", "https://a.example/x?y=1", "URL"),
        ("visit shop.example.com today", "shop.example.com", "DOMAIN_NAME"),
        ("Dr. Cettina Fanucci called", "Cettina Fanucci", "PERSON"),
        ("My name is Rubija", "Rubija", "PERSON"),
        ("at 12 Elm Street, Apt. 5", "12 Elm Street, Apt. 5", "ADDRESS"),
        ("I am in Paris", "Paris", "LOCATION"),
        ("身份证号是11010519491231002X，", "11010519491231002X", "CN_ID"),
        ("信用代码91110000600037341L", "91110000600037341L", "CN_USCC"),
        ("护照号码E12345678", "E12345678", "CN_PASSPORT"),
        ("港澳通行证C12345678", "C12345678", "CN_PASSPORT"),
        ("车牌京A·12345的车", "京A·12345", "CN_PLATE"),
        ("绿牌粤BD12345", "粤BD12345", "CN_PLATE"),
        ("我叫王小明，", "王小明", "PERSON"),
        ("欧阳修竹先生您好", "欧阳修竹", "PERSON"),
        ("住在北京市朝阳区建国路88号3号楼1203室", "北京市朝阳区建国路88号3号楼1203室", "ADDRESS"),
    ],
)
def test_personal_data_is_found(text: str, value: str, kind: str) -> None:
    assert (value, kind) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "order 4111 1111 1111 1112",
        "the year 2024-12-31 and 31.12.2024 10:45",
        "version 1.2.3.4 and 127.0.0.1",
        "ISBN 978-7-111-54742-6",
        "pi is 3.14159265358979",
        "between 2010 and 2015-2016, 1 000 000 people",
        "std::string a::b 12:30:45",
        "订单号13812345678",
        "身份证号是110105194912310021",
        "型号E20240115",
        "高兴的时候，他喜欢一个人去爬山。",
        "价格从12800元降到了9999元",
        "a@b and @home and user@localhost",
        "main.rs and index.html and e.g. this",
        "What is my name? Dear Sir or Madam",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_kinds_that_were_not_asked_for_are_left_alone() -> None:
    usual = plugin.make(Options())
    assert usual.find("see https://a.example in Paris") == []
    assert {"URL", "DOMAIN_NAME", "LOCATION"} == KINDS - USUAL


def test_what_is_allowed_is_left_alone_in_any_case() -> None:
    guardrail = plugin.make(Options(allow=("Support@Example.org",)))
    assert [each.kind for each in guardrail.find("support@example.org or me@example.org")] == ["EMAIL_ADDRESS"]


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match='kind "EMAIL" is not known; known: ADDRESS'):
        Options(kinds=("EMAIL",))
