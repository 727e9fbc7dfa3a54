import pytest

from antiphon.bootstrap import doctor
from antiphon.bootstrap.doctor import Finding, Subject, examine
from antiphon.config import Loaded, Settings
from antiphon.core.errors import SetupError


def fine(_subject):
    yield Finding("fine", "ok", "it is")


def fails(_subject):
    yield Finding("half", "ok", "so far")
    raise ZeroDivisionError("by zero")


def refuses(_subject):
    raise SetupError("it cannot", remedy="mend it")


@pytest.fixture
def checks(monkeypatch):
    monkeypatch.setattr(doctor, "ALWAYS", {"half": fails, "refused": refuses, "fine": fine})
    monkeypatch.setattr(doctor, "WITH_SETTINGS", {"settings": fine})
    monkeypatch.setattr(doctor, "ONLINE", {"online": refuses})


def test_a_check_that_fails_keeps_none_of_the_others_back(checks):
    assert list(examine(Subject())) == [
        Finding("half", "ok", "so far"),
        Finding("half", "warning", "this check itself failed: ZeroDivisionError: by zero", "please report it"),
        Finding("refused", "error", "it cannot", "mend it"),
        Finding("fine", "ok", "it is"),
    ]


@pytest.mark.parametrize(("online", "count"), [(False, 5), (True, 6)])
def test_settings_and_providers_are_looked_at_where_there_are_settings_and_leave(checks, online, count):
    loaded = Loaded(Settings(), None, {}, ())
    assert len(list(examine(Subject(loaded, online=online)))) == count
