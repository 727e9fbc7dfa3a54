"""A type checker knows what is given and what is taken, and refuses what is wrong."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
USE = """
from typing import Any, assert_type

import msgspec
import pydantic

from antiphon_client import AsyncClient, ChatCompletion, ChatMessage, Client, ParsedCompletion, Usage, response_format


class Person(msgspec.Struct):
    name: str


class Model(pydantic.BaseModel):
    name: str


def blocking(client: Client) -> None:
    answer = client.chat.create(model="m", messages=[{"role": "user", "content": "hi"}], temperature=None, timeout=5)
    assert_type(answer, ChatCompletion)
    assert_type(answer.message, ChatMessage)
    assert_type(answer.usage, Usage | None)
    client.chat.create(
        model="m",
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "data:"}}]},
            answer.message,
            {"role": "tool", "tool_call_id": "c", "content": "rain"},
        ],
        response_format=response_format(Person),
    )
    assert_type(client.chat.parse(Person, model="m", messages=[]), ParsedCompletion[Person])
    assert_type(client.chat.parse(Model, model="m", messages=[]).parsed, Model)
    assert_type(client.chat.parse({"type": "object"}, model="m", messages=[]).parsed, Any)
    assert_type(client.chat.parse(list[int], model="m", messages=[]).parsed, list[int])
    assert_type(answer.tool_calls[0].parse(Person), Person)
    assert_type(client.embeddings.create(model="m", input=["a"]).vectors, tuple[tuple[float, ...], ...])
    for text in client.chat.stream(model="m", messages=[]).text_stream:
        assert_type(text, str)
    with client.chat.stream(model="m", messages=[]) as stream:
        assert_type(stream.get_final_completion(), ChatCompletion)

    client.chat.create(model="m")  # type: ignore[call-arg]
    client.chat.create(model="m", messages=[], temprature=1)  # type: ignore[call-arg]
    client.chat.create(model="m", messages=[], stream=True)  # type: ignore[call-arg]
    client.chat.create(model=7, messages=[])  # type: ignore[arg-type]
    client.chat.create(model="m", messages=[{"role": "user", "contents": "hi"}])  # type: ignore[list-item]
    client.models.list(extra_body={})  # type: ignore[call-arg]


async def coroutines(client: AsyncClient) -> None:
    assert_type(await client.chat.create(model="m", messages=[]), ChatCompletion)
    assert_type((await client.chat.parse(Person, model="m", messages=[])).parsed, Person)
    async with client.chat.stream(model="m", messages=[]) as stream:
        async for text in stream.text_stream:
            assert_type(text, str)
        assert_type(await stream.get_final_completion(), ChatCompletion)
"""


def test_use_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "use.py"
    file.write_text(USE)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", str(file)],
        env={"MYPYPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
