"""Lets a model call a function, as often as it wants to, and answer with what came of it.

The model has to be one that calls tools: the server refuses the question by name where it does not, as for the model that comes
with the quickstart. Name another: ``python tools.py MODEL``.
"""

import sys

import msgspec

from antiphon_client import APIError, Client, MessageParam, function_tool


class Weather(msgspec.Struct):
    """The weather of a place today."""

    place: str

    def run(self) -> str:
        return f"rain in {self.place}"


def main() -> None:
    messages: list[MessageParam] = [{"role": "user", "content": "Do I need an umbrella in Cologne?"}]
    with Client() as client:
        model = sys.argv[1] if sys.argv[1:] else next(model.id for model in client.models.list() if model.kind == "chat")
        while True:
            answer = client.chat.create(model=model, messages=messages, tools=[function_tool(Weather)])
            messages.append(answer.message)
            if not answer.tool_calls:
                break
            for call in answer.tool_calls:
                result = call.parse(Weather).run()
                print(f"{call.name}: {result}")
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    print(answer.text)


if __name__ == "__main__":
    try:
        main()
    except APIError as error:
        sys.exit(f"{error.message}\nwhat to do: {error.remedy}")
