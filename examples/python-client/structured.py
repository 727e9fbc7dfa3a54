"""Has a model fill in a type. A pydantic model, a dataclass or a JSON Schema would do as well.

It wants a model that answers to the point; that of the quickstart is so small that it may go on until it is cut off. Name another:
``python structured.py MODEL``.
"""

import sys
from typing import Annotated

import msgspec

from antiphon_client import Client, ParseError


class Person(msgspec.Struct):
    """Somebody whom the text tells of."""

    name: Annotated[str, msgspec.Meta(max_length=40)]
    age: int


def main() -> None:
    with Client() as client:
        model = sys.argv[1] if sys.argv[1:] else next(model.id for model in client.models.list() if model.kind == "chat")
        try:
            read = client.chat.parse(
                Person,
                model=model,
                messages=[{"role": "user", "content": "Who is meant? Ada is 36 years old."}],
                max_tokens=80,
                temperature=0,
            )
        except ParseError as error:
            print(f"{error.message}: {error.text.strip()!r}\nwhat to do: {error.remedy}")
            return
    print(f"{read.parsed.name} is {read.parsed.age}")


if __name__ == "__main__":
    main()
