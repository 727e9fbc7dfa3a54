"""Describes the settings structs: their types in words, their defaults and the text of each field."""

import ast
import functools
import inspect as python_inspect
import itertools
import textwrap
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import inspect

from antiphon.config.secret import Secret
from antiphon.config.settings import Settings


class Field(msgspec.Struct, frozen=True):
    """A setting as the reference tells it."""

    name: str
    kind: inspect.Type
    type: str
    """What its value must be, in words."""
    required: bool
    default: str
    """As written in YAML; empty where it has none or one that depends on the machine."""
    text: str


def struct_type(struct: type[msgspec.Struct]) -> inspect.StructType:
    """What msgspec knows of a struct."""
    return cast("inspect.StructType", inspect.type_info(struct))


def plain(kind: inspect.Type) -> tuple[inspect.Type, bool]:
    """A type without its metadata and its None, and whether its value must not be shown."""
    if isinstance(kind, inspect.UnionType):
        kind = next(known for known in kind.types if not isinstance(known, inspect.NoneType))
    if isinstance(kind, inspect.Metadata):
        return kind.type, bool((kind.extra or {}).get("secret"))
    return kind, isinstance(kind, inspect.CustomType)


def is_secret(field: inspect.Field | None) -> bool:
    """Whether a field holds a secret, so that it may be given as a file too."""
    return field is not None and isinstance(field.type, inspect.CustomType) and field.type.cls is Secret


def describe_type(kind: inspect.Type) -> str:
    """A type in words that go on from "must be"."""
    if isinstance(kind, inspect.Metadata):
        described = (kind.extra_json_schema or {}).get("description")
        return str(described) if described else describe_type(kind.type)
    match kind:
        case inspect.StrType():
            return "a text"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "a whole number" + _range(kind)
        case inspect.FloatType():
            return "a number" + _range(kind)
        case inspect.CustomType():
            return "a secret text"
        case inspect.UnionType():
            return describe_type(plain(kind)[0])
        case inspect.VarTupleType():
            return "a list"
        case inspect.TupleType():
            return f"a list of {len(kind.item_types)}"
        case _:
            return "a mapping"


def fields_text(struct: type) -> dict[str, str]:
    """The docstring under each field of a struct, by the name of the field."""
    tree = ast.parse(textwrap.dedent(python_inspect.getsource(struct)))
    body = cast("ast.ClassDef", tree.body[0]).body
    return {
        field.target.id: python_inspect.cleandoc(text.value.value)
        for field, text in itertools.pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


def fields_of(struct: type[msgspec.Struct]) -> list[Field]:
    """Every setting of a struct, in the order of the source."""
    texts = fields_text(struct)
    return [
        Field(
            field.name,
            plain(field.type)[0],
            describe_type(field.type),
            field.required,
            _default(field.default),
            texts.get(field.name, ""),
        )
        for field in struct_type(struct).fields
    ]


def item_struct(kind: inspect.Type) -> type[msgspec.Struct] | None:
    """The struct that a setting is, or a list of; None where it is neither."""
    if isinstance(kind, inspect.VarTupleType):
        kind = plain(kind.item_type)[0]
    return kind.cls if isinstance(kind, inspect.StructType) else None


@functools.cache
def home(name: str) -> str:
    """Where a setting of that name really belongs, for somebody who wrote it in the wrong place; empty if nowhere."""
    return next((path for path in _paths(Settings, "") if path.rpartition(".")[2] == name), "")


def _paths(struct: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for field in struct_type(struct).fields:
        yield prefix + field.name
        kind = plain(field.type)[0]
        if below := item_struct(kind):
            yield from _paths(below, f"{prefix}{field.name}{'[]' if isinstance(kind, inspect.VarTupleType) else ''}.")


def _range(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {kind.ge} to {kind.le}"
    parts = [
        f"{words} {limit}"
        for words, limit in (("of at least", kind.ge), ("above", kind.gt), ("of at most", kind.le), ("below", kind.lt))
        if limit is not None
    ]
    return " " + " and ".join(parts) if parts else ""


def _default(value: Any) -> str:
    if value is msgspec.NODEFAULT or value is None or isinstance(value, msgspec.Struct | Secret):
        return ""
    if isinstance(value, tuple) and any(isinstance(item, msgspec.Struct) for item in value):
        return ""
    return msgspec.json.encode(value).decode()
