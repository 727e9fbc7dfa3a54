import signal

import pytest

from antiphon.supervisor.child import describe_exit


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, "control ended by itself with exit code 0"),
        (1, "control ended by itself with exit code 1"),
        (70, "control lost its connection to the supervisor"),
        (-signal.SIGSEGV, "control was ended by SIGSEGV"),
        (-signal.SIGKILL, "control was killed (SIGKILL)"),
        (-63, "control was ended by signal 63"),
    ],
)
def test_every_exit_code_is_put_into_words(code, said):
    assert describe_exit("control", code).message == said


def test_a_kill_without_a_killer_hints_at_memory():
    assert "memory" in describe_exit("control", -signal.SIGKILL).remedy
