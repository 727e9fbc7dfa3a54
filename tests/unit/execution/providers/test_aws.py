"""Which region and whose credentials calls to AWS are signed with, and that credentials which end are renewed aside."""

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import BotoCoreError
from botocore.session import Session

from antiphon.core.errors import ConfigError
from antiphon.execution.providers import ProviderOptions, _aws
from antiphon.execution.providers._aws import Signer
from antiphon.transport.client import Origin

BEDROCK = "https://bedrock-runtime.eu-central-1.amazonaws.com"
KEY = b"AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that tells the library nothing."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def signer(url: str = BEDROCK, key: bytes = KEY) -> Signer:
    return Signer(ProviderOptions("aws", Origin.parse(url), key=key))


def signed(by: Signer) -> dict[bytes, bytes]:
    return dict(by.headers("/model/m/converse", b"{}"))


@pytest.mark.parametrize(
    ("url", "region"),
    [
        (BEDROCK, "eu-central-1"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("https://vpce-0a1b.bedrock-runtime.ap-south-1.vpce.amazonaws.com", "ap-south-1"),
        ("https://bedrock-runtime.cn-north-1.amazonaws.com.cn", "cn-north-1"),
    ],
)
def test_the_region_is_that_of_the_address(url: str, region: str) -> None:
    assert f"/{region}/bedrock/aws4_request".encode() in signed(signer(url))[b"authorization"]


def test_an_address_without_a_region_needs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no region") as told:
        signer("https://proxy.example")
    assert "AWS_REGION" in told.value.remedy
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert b"/us-west-2/bedrock/" in signed(signer("https://proxy.example"))[b"authorization"]


def test_no_credentials_anywhere_are_told_of() -> None:
    with pytest.raises(ConfigError, match="no key") as told:
        signer(key=b"")
    assert "AWS_BEARER_TOKEN_BEDROCK" in told.value.remedy


def test_the_files_of_aws_count(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id = AKIAFROMFILE00000000\naws_secret_access_key = s3cret\naws_session_token = t0ken\n"
    )
    headers = signed(signer(key=b""))
    assert b"Credential=AKIAFROMFILE00000000/" in headers[b"authorization"]
    assert headers[b"x-amz-security-token"] == b"t0ken"


def test_a_session_token_goes_along_whatever_is_in_it() -> None:
    assert signed(signer(key=KEY + b":IQoJ:b3Jp=="))[b"x-amz-security-token"] == b"IQoJ:b3Jp=="
    assert b"x-amz-security-token" not in signed(signer())


class Role:
    """A role whose credentials are always about to end; renewing waits until the test says so."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.fails = False
        self.asked = 0

    def credentials(self) -> RefreshableCredentials:
        return RefreshableCredentials.create_from_metadata(self.told(), self.renew, "role")

    def told(self) -> dict[str, str]:
        soon = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=8)
        name = f"AKIA{self.asked:016}"
        return {"access_key": name, "secret_key": "s3cret", "token": "t0ken", "expiry_time": soon.isoformat()}

    def renew(self) -> dict[str, str]:
        self.may_go_on.wait(10)
        if self.fails:
            raise BotoCoreError
        self.asked += 1
        return self.told()


@pytest.fixture
def role(monkeypatch: pytest.MonkeyPatch) -> Role:
    found = Role()
    monkeypatch.setattr(Session, "get_credentials", lambda _: found.credentials())
    monkeypatch.setattr(_aws, "RENEWAL_PAUSE", -1.0)
    return found


def used(by: Signer) -> bytes:
    return signed(by)[b"authorization"].partition(b"Credential=")[2].partition(b"/")[0]


def finished() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("credentials of"):
            thread.join(10)


def test_no_call_waits_for_credentials_to_be_renewed(role: Role) -> None:
    role.may_go_on.set()
    by = signer(key=b"")
    role.may_go_on.clear()
    before = used(by)
    assert used(by) == before
    role.may_go_on.set()
    finished()
    assert used(by) != before
    finished()


def test_credentials_that_cannot_be_renewed_serve_on(role: Role, caplog: pytest.LogCaptureFixture) -> None:
    role.may_go_on.set()
    by = signer(key=b"")
    role.fails = True
    before = used(by)
    finished()
    assert used(by) == before
    finished()
    assert "could not be renewed" in caplog.text


def test_who_failed_a_moment_ago_is_not_asked_again(role: Role, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_aws, "RENEWAL_PAUSE", 60.0)
    role.may_go_on.set()
    by: Any = signer(key=b"")
    by._renewed_at = -1e9
    used(by)
    finished()
    asked = role.asked
    used(by)
    finished()
    assert role.asked == asked
