import logging
import os

import pytest

from antiphon.bootstrap.doctor import Subject, examine
from antiphon.bootstrap.doctor.revoked import revocations
from antiphon.bootstrap.revocations import Revocation, Revocations, append, revocations_file
from antiphon.config import Loaded, Settings


@pytest.fixture
def file(tmp_path):
    path = revocations_file(str(tmp_path))
    append(path, [Revocation(str(digit) * 64, f"caller-{digit}") for digit in range(3)])
    return path


@pytest.fixture
def subject(tmp_path):
    return Subject(Loaded(Settings(models=(), data_dir=str(tmp_path)), None, {}, ()))


def damage(file, *numbers, by=b'{"digest": "torn'):
    lines = file.read_bytes().splitlines(keepends=True)
    for number in numbers:
        lines[number - 1] = by + b"\n"
    file.write_bytes(b"".join(lines))


def the_one(findings):
    (finding,) = findings
    return finding


def test_there_need_be_no_file(subject):
    assert the_one(revocations(subject)).status == "ok"


def test_a_whole_file_is_fine_with_blank_lines_too(subject, file):
    damage(file, 2, by=b"  ")
    assert the_one(revocations(subject)).status == "ok"


@pytest.mark.parametrize("by", [b'{"digest": "torn', b'{"digest": "xy"}', b"[1]", b"\xff", b'{"name": "' + b"a" * 64 + b'"}'])
def test_a_damaged_line_is_told_with_its_number_as_the_server_logs_it(subject, file, caplog, by):
    damage(file, 2, by=by)
    finding = the_one(revocations(subject))
    assert (finding.status, f"{file}: line 2 cannot be read" in finding.found) == ("error", True)
    assert "antiphon keys revoke" in finding.remedy
    assert caplog.records == []
    with caplog.at_level(logging.ERROR):
        Revocations(file).refresh()
    assert [record.getMessage().startswith(f"{file}:2 is damaged") for record in caplog.records] == [True]


def test_of_many_damaged_lines_some_are_named(subject, file):
    append(file, [Revocation("a" * 64)] * 10)
    damage(file, *range(1, 10))
    assert "line 1, 2, 3, 4, 5 and 4 more cannot be read" in the_one(revocations(subject)).found


def test_a_last_line_without_an_end_counts_for_nothing_and_is_told(subject, file):
    file.write_bytes(file.read_bytes()[:-1])
    known = Revocations(file)
    known.refresh()
    assert len(known.digests) == 2
    finding = the_one(revocations(subject))
    assert (finding.status, "has no end" in finding.found) == ("error", True)


def test_a_file_that_cannot_be_read(subject, tmp_path):
    revocations_file(str(tmp_path)).mkdir(parents=True)
    finding = the_one(revocations(subject))
    assert (finding.status, "Is a directory" in finding.found, finding.remedy) == ("error", True, "check the rights of the file")


def test_a_pipe_in_its_place_keeps_nobody_waiting(subject, file):
    file.unlink()
    os.mkfifo(file)
    finding = the_one(revocations(subject))
    assert (finding.status, "no ordinary file" in finding.found) == ("error", True)


def test_doctor_makes_this_check(subject, file):
    damage(file, 1)
    assert ("revocations", "error") in [(finding.check, finding.status) for finding in examine(subject)]
