import pytest

from antiphon.governance.guardrails.secrets import Options, plugin

GUARDRAIL = plugin.make(Options())
DRAWN = "q7RtY2mZ9xK4vB8nL1pWc5sD3fG6hJ0a"


def found(text: str) -> list[tuple[str, str]]:
    return [(text[each.begin : each.end], each.kind) for each in GUARDRAIL.find(text)]


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        (f"sk-proj-{DRAWN}", "OPENAI_KEY"),
        (f"sk-ant-api03-{DRAWN}", "ANTHROPIC_KEY"),
        (f"ap-{DRAWN}q7RtY2mZ9xK", "ANTIPHON_KEY"),
        ("AKIAQ7RTY2MZ4XK4VB5N", "AWS_KEY"),
        (f"ghp_{DRAWN}abcd", "GITHUB_TOKEN"),
        (f"glpat-{DRAWN[:20]}", "GITLAB_TOKEN"),
        (f"xoxb-{DRAWN}", "SLACK_TOKEN"),
        (f"AIza{DRAWN}abc", "GOOGLE_KEY"),
        (f"sk_live_{DRAWN}", "STRIPE_KEY"),
        (f"hf_{DRAWN}", "HUGGING_FACE_TOKEN"),
        (f"npm_{DRAWN}abcd", "NPM_TOKEN"),
        (f"pypi-AgE{DRAWN}{DRAWN}", "PYPI_TOKEN"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "JWT"),
        ("-----BEGIN RSA PRIVATE KEY-----", "PRIVATE_KEY"),
    ],
)
def test_keys_of_vendors_are_found(secret: str, kind: str) -> None:
    assert (secret, kind) in found(f"use {secret} here")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("postgres://admin:S3cr3t!pw@db.example.com/x", "S3cr3t!pw"),
        ("password = 'hunter22'", "hunter22"),
        ("数据库密码是Abc@1234，请保存", "Abc@1234"),
        (f'"api_key": "{DRAWN}"', DRAWN),
        (f"Authorization: Bearer {DRAWN}", DRAWN),
        (f"export AWS_SECRET_ACCESS_KEY={DRAWN}", DRAWN),
    ],
)
def test_what_is_assigned_to_the_names_of_secrets_is_found(text: str, value: str) -> None:
    assert value in [what for what, _ in found(text)]


@pytest.mark.parametrize(
    "text",
    [
        "the password is required",
        "def login(password: str) -> bool",
        'password=os.environ["PASSWORD"]',
        "password: your_password_here",
        "a task-based, risk-aware sk-something",
        "token count: 1234",
        "api_key = None",
        "https://example.com:8080/path@2",
        "data:image/png;base64," + "iVBORw0KGgo" * 30,
    ],
)
def test_placeholders_and_words_are_left_alone(text: str) -> None:
    assert found(text) == []


def test_every_line_of_a_private_key_is_found() -> None:
    lines = [f"{DRAWN}{DRAWN[::-1]}", f"{DRAWN[::-1]}{DRAWN}", "abcdEFGH12=="]
    text = "\n".join(("-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"))
    assert [what for what, _ in found(text)] == ["-----BEGIN PRIVATE KEY-----", *lines]


def test_assignments_may_be_left_out_and_examples_allowed() -> None:
    assert plugin.make(Options(assignments=False)).find("password = 'hunter22'") == []
    assert plugin.make(Options(allow=("AKIAQ7RTY2MZ4XK4VB5N",))).find("AKIAQ7RTY2MZ4XK4VB5N") == []
