import pytest

from antiphon.bootstrap.state import read_state, write_state
from antiphon.core.errors import InternalError
from antiphon.core.processes import ProcessError, ProcessState, ServerState

STATE = ServerState(
    pid=1,
    epoch=2,
    host="127.0.0.1",
    port=8080,
    started_at=1000.0,
    serving=True,
    processes=(
        ProcessState(
            "engine-x", "engine", 2, "waiting", 1001.0, restarts=3, error=ProcessError("it died", remedy="feed it"), model="x"
        ),
    ),
)


def test_what_is_written_is_read_and_leaves_no_other_file(tmp_path):
    write_state(str(tmp_path), STATE)
    write_state(str(tmp_path), STATE)
    assert read_state(str(tmp_path)) == STATE
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_no_state_is_an_error(tmp_path):
    with pytest.raises(InternalError, match="state of the processes"):
        read_state(str(tmp_path))


def test_an_error_says_what_and_what_to_do():
    assert str(ProcessError("it died", remedy="feed it")) == "it died; feed it"
    assert str(ProcessError("it died")) == "it died"
