"""Bounds what it costs to compile a JSON Schema into a grammar, from its text alone.

The library works out the allowed tokens for every state of the grammar. A state that allows almost any character takes about 15 ms
with a vocabulary of 49,152 tokens on two cores, and a counted repetition of characters has a state for every count; counted
repetitions of array items have not, and are cheap. Nothing stops a compilation that has begun.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

MAX_BYTES: Final = 65_536
"""Bytes of a schema. The library keeps every compiled schema for as long as it runs."""
MAX_DEPTH: Final = 64
"""Levels of JSON; an object within an object takes two."""
MAX_NODES: Final = 2_000
"""JSON values."""
MAX_PROPERTIES: Final = 200
"""Keys of one JSON object. The grammar of optional properties grows with the square of their number."""
MAX_ITEMS: Final = 1_000
MAX_PATTERN: Final = 512
"""Characters of one pattern."""
MAX_CHARACTERS: Final = 256
"""Characters that all different lengths and patterns can count together."""
MAX_QUANTIFIERS: Final = 16
"""Quantifiers of one pattern: a row of optional broad states multiplies the ways to read a text."""
_BROAD: Final = 8
"""Weight of a state that allows many characters, against 1 of one that allows a single character."""
_LENGTHS: Final = ("minLength", "maxLength")
_COUNTS: Final = ("minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")


class TooCostly(ValueError):
    """The schema is not fit to be compiled; the text says what and where."""


def check_cost(schema: str) -> None:
    """Raises TooCostly where ``schema`` is not a JSON Schema at all or exceeds a limit."""
    if len(schema.encode("utf-8", "replace")) > MAX_BYTES:
        raise TooCostly(f"it is longer than {MAX_BYTES} bytes")
    try:
        parsed = json.loads(schema)
    except RecursionError:
        raise TooCostly(f"it is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise TooCostly(f"it is not JSON: {error}") from error
    if not isinstance(parsed, dict | bool):
        raise TooCostly("it must be a JSON object")
    seen: set[str] = set()
    weight = 0
    for path, value in _objects(parsed):
        for key, what, cost in _strings(path, value):
            if what not in seen:
                seen.add(what)
                weight += cost
                if weight > MAX_CHARACTERS * _BROAD:
                    raise TooCostly(
                        f"with {key} its strings count more than {MAX_CHARACTERS} characters in all lengths and patterns together"
                    )


def _objects(parsed: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a schema and their paths. Which ones are schemas is not looked at."""
    nodes = 0
    left: list[tuple[str, int, Any]] = [("", 1, parsed)]
    while left:
        path, depth, value = left.pop()
        nodes += 1
        if nodes > MAX_NODES:
            raise TooCostly(f"it has more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise TooCostly(f"it is nested deeper than {MAX_DEPTH} levels, at {path[:100]}...")
        if isinstance(value, dict):
            _check_counts(path, value)
            yield path, value
            left.extend((_join(path, key), depth + 1, item) for key, item in value.items())
        elif isinstance(value, list):
            left.extend((f"{path}[{index}]", depth + 1, item) for index, item in enumerate(value))


def _check_counts(path: str, value: dict[str, Any]) -> None:
    if len(value) > MAX_PROPERTIES:
        raise TooCostly(f"{path or 'it'} has {len(value)} keys; at most {MAX_PROPERTIES} are allowed")
    for keys, most in ((_LENGTHS, MAX_CHARACTERS), (_COUNTS, MAX_ITEMS)):
        for key in keys:
            if _number(value.get(key)) > most:
                raise TooCostly(f"{_join(path, key)} is {value[key]}; at most {most} is allowed")


def _strings(path: str, value: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """What counts characters in one JSON object: where it is, what it is, and its weight."""
    lengths = [_number(value.get(key)) for key in _LENGTHS]
    if any(lengths):
        key = _LENGTHS[1] if lengths[1] else _LENGTHS[0]
        yield _join(path, key), f"length {lengths}", int(max(lengths)) * _BROAD
    patterns = [value.get("pattern")]
    places = [_join(path, "pattern")]
    keyed = value.get("patternProperties")
    if isinstance(keyed, dict):
        patterns += keyed
        places += [_join(path, "patternProperties")] * len(keyed)
    for place, pattern in zip(places, patterns, strict=True):
        if isinstance(pattern, str):
            yield place, f"pattern {pattern}", _pattern_weight(place, pattern)


def _pattern_weight(place: str, pattern: str) -> int:
    """States that a regular expression takes, each by its weight. A faulty one is left to the library to refuse."""
    if len(pattern) > MAX_PATTERN:
        raise TooCostly(f"{place} is longer than {MAX_PATTERN} characters")
    sums = [0]
    last = at = quantifiers = 0
    while at < len(pattern):
        char, end = pattern[at], at + 1
        if char == "{" and (bound := _bound(pattern[at : pattern.find("}", at) + 1])) is not None:
            end = pattern.find("}", at) + 1
            quantifiers += 1
            sums[-1] += last * (bound - 1)
            last *= bound
            if last > MAX_CHARACTERS * _BROAD:
                raise TooCostly(f"the repetitions in {place} count more than {MAX_CHARACTERS} characters")
        elif char == "(":
            sums.append(0)
        elif char == ")" and len(sums) > 1:
            last = max(1, sums.pop())
            sums[-1] += last
        elif char in "*+?":
            quantifiers += 1
        elif char != "|":
            last = _BROAD if char in ".[\\" else 1
            end = _set_end(pattern, at) if char == "[" else at + 2 if char == "\\" else end
            sums[-1] += last
        if quantifiers > MAX_QUANTIFIERS:
            raise TooCostly(f"{place} has more than {MAX_QUANTIFIERS} quantifiers")
        at = end
    return sum(sums)


def _set_end(pattern: str, at: int) -> int:
    """Where the set of characters that begins at ``at`` is over."""
    at += 1
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _bound(quantifier: str) -> int | None:
    """How often ``{m}``, ``{m,}`` or ``{m,n}`` repeats what is before it, in states; None where it is none of them."""
    numbers = quantifier[1:-1].replace(" ", "").split(",")
    if len(numbers) > 2 or not all(number.isdecimal() or not number for number in numbers) or not any(numbers):
        return None
    return max(1, *(int(number or 0) if len(number) < 10 else 10**9 for number in numbers))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _join(path: str, key: str) -> str:
    return f"{path}.{key[:60]}" if path else key[:60]
