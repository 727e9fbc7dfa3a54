"""The examples do what they say, and the code of the how-to page runs."""

import json
import re
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from antiphon.testing import Body, MockUpstream, RecordedRequest, Step, answers
from antiphon.testing.answers import Ask, TextAnswer
from tests.integration.gateway.data_plane import Running

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "python-client"
PAGE = ROOT / "docs" / "how-to" / "python-client.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)

Start = Callable[..., Running]
Run = Callable[[str], str]


@pytest.fixture
def workers() -> int:
    return 2


@pytest.fixture
def run(start: Start, upstream: MockUpstream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs an example against our own server, and gives what it prints."""
    monkeypatch.setenv("ANTIPHON_BASE_URL", start(upstream).url)
    monkeypatch.setattr("sys.argv", ["example"])

    def begin(name: str) -> str:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return begin


def answer(request: RecordedRequest) -> Sequence[Step]:
    """What the page's calls get."""
    ask = Ask(request.path.removeprefix("/v1/"), request.body)
    if ask.endpoint == "embeddings":
        return answers.echo(ask)
    if ask.endpoint == "rerank":
        return (Body({"results": [{"index": 1, "relevance_score": 0.5}]}),)
    return answers.speak(TextAnswer(('{"name": "Ada", "age": 36}',)), ask)


def calling(identity: str, place: str) -> Body:
    function = {"name": "Weather", "arguments": json.dumps({"place": place})}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": identity, "type": "function", "function": function}]}
    return Body({"id": "c1", "model": "mock-model", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]})


def test_the_examples(run: Run, upstream: MockUpstream) -> None:
    upstream.chat("A song of two choirs.")
    assert "A song of two choirs.\n" in run("chat.py")

    upstream.chat("Soprano, ", "alto ...")
    assert run("stream.py") == "Soprano, alto ...\nended by stop, 2 tokens\n"

    upstream.chat('{"name": "Ada", "age": 36}').chat("Ada!")
    assert run("structured.py") == "Ada is 36\n"
    assert "'Ada!'" in run("structured.py")

    upstream.script(calling("call_1", "Cologne")).chat("Take one.")
    assert run("tools.py") == "Weather: rain in Cologne\nTake one.\n"

    assert "What is 8 plus 8? What is 8 plus 8?" in run("many_at_once.py")

    upstream.error(400, "`tools` is not supported")
    with pytest.raises(SystemExit, match="`tools` is not supported\nwhat to do: "):
        run("tools.py")

    upstream.error(400, "not today")
    with pytest.raises(SystemExit, match="not today\nwhat to do: "):
        run("chat.py")

    assert "worker-0: ready, 0 restarts" in run("watch.py")


def test_the_examples_are_all_tried() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert {name for name in names if name in Path(__file__).read_text()} == names


def test_the_page_has_code() -> None:
    assert len(BLOCKS) > 5


@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_the_code_of_the_page_runs(block: int, upstream: MockUpstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTIPHON_BASE_URL", upstream.url)
    upstream.script(answer, times=None)
    exec(compile(BLOCKS[block], f"{PAGE.name}, block {block}", "exec"), {"__name__": "page"})
