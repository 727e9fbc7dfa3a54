import pytest

from antiphon.bootstrap.doctor import Finding, Subject, read_subject
from antiphon.bootstrap.doctor.configuration import keys, permissions, readable


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTIPHON_DATA_DIR", str(tmp_path / "data"))
    file = tmp_path / "antiphon.yaml"

    def read(text: str, mode: int = 0o600) -> Subject:
        file.write_text(text)
        file.chmod(mode)
        return read_subject(file)

    return read


def provider(rest: str) -> str:
    return "providers:\n  - {name: acme, url: 'https://api.acme.example/v1', models: [m]" + rest + "}\n"


def by_status(findings, status):
    return [(finding.check, finding.found) for finding in findings if finding.status == status]


def test_every_error_is_told_with_its_place_and_leaves_no_settings(read, tmp_path):
    subject = read("server:\n  prot: 1\n  workers: 0\n")
    findings = list(readable(subject))
    assert subject.loaded is None
    assert [finding.status for finding in findings] == ["error", "error"]
    assert findings[0].found.startswith(f"{tmp_path / 'antiphon.yaml'}:2:3: unknown setting")
    assert "server.port" in findings[0].remedy


def test_a_key_that_is_missing_is_named_and_the_rest_is_read(read, monkeypatch):
    monkeypatch.delenv("ACME_KEY", raising=False)
    subject = read(provider(", key: '${ACME_KEY}'"))
    (finding,) = readable(subject)
    assert (finding.check, finding.status) == ("keys", "error")
    assert "ACME_KEY" in finding.found
    assert subject.settings.providers[0].name == "acme"
    assert list(keys(subject)) == []


def test_a_key_is_there_and_is_not_shown(read, tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_KEY", "sk-secret")
    subject = read(provider(", key: '${ACME_KEY}'"))
    findings = [*readable(subject), *keys(subject)]
    assert by_status(findings, "ok")[1] == ("keys", f"provider acme has its key, from {tmp_path / 'antiphon.yaml'}:2")
    assert "sk-secret" not in repr(findings)
    assert "sk-secret" not in repr(subject)


def test_a_provider_elsewhere_without_a_key_is_worth_a_warning(read):
    assert [finding.status for finding in keys(read(provider("")))] == ["warning", "ok"]
    assert [finding.status for finding in keys(read(provider(", headers: {api-key: x}")))] == ["ok", "ok"]
    assert [finding.status for finding in keys(read(provider("").replace("api.acme.example", "localhost")))] == ["ok", "ok"]


def test_key_files_that_others_can_read(read, tmp_path):
    key = tmp_path / "acme.key"
    key.write_text("sk-secret\n")
    key.chmod(0o640)
    subject = read(provider(", key_file: acme.key"))
    assert list(permissions(subject)) == [
        Finding("permissions", "warning", f"{key} holds a key and is open to its group", f'run "chmod 600 {key}"')
    ]
    key.chmod(0o600)
    assert [finding.status for finding in permissions(subject)] == ["ok"]


@pytest.mark.parametrize(("mode", "words"), [(0o640, "its group"), (0o620, "may be changed by other users")])
def test_a_file_with_a_key_that_others_can_read_or_change(read, mode, words):
    findings = list(permissions(read(provider(", key: sk-secret"), mode)))
    assert any(words in finding.found and "chmod" in finding.remedy for finding in findings)
    assert "ok" not in {finding.status for finding in findings}


def test_a_list_of_added_models_that_is_broken_does_not_hide_the_settings(read, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models.json").write_text("{")
    subject = read("server: {port: 9}\n")
    (finding,) = readable(subject)
    assert (finding.status, "models.json" in finding.found) == ("error", True)
    assert subject.settings.server.port == 9


def test_a_file_of_callers_keys_is_counted_and_must_not_be_open_to_changes(read, tmp_path):
    file = tmp_path / "keys"
    file.write_text("")
    settings = "server: {keys_file: keys}\nmodels: []\n"
    assert "nobody may call" in next(keys(read(settings))).found
    file.write_text("alice sha256:" + "0" * 64 + "\n")
    file.chmod(0o664)
    assert next(keys(read(settings))).found == "1 key(s) for callers"
    (finding,) = permissions(read(settings))
    assert finding.status == "warning"
    assert "mode 664" in finding.found
    assert "chmod go-w" in finding.remedy
    file.chmod(0o644)
    assert [finding.status for finding in permissions(read(settings))] == ["ok"]
    file.unlink()
    assert [finding.status for finding in permissions(read(settings))] == ["ok"]
