"""Numbers of records as a short text: ``3,7-9``."""

from collections.abc import Iterable, Iterator


def as_text(numbers: Iterable[int]) -> str:
    """Numbers, which rise, as a text."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def from_text(text: str) -> Iterator[int]:
    """The numbers of a text. Raises ValueError where it is none."""
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1)
