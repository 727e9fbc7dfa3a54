"""Settings from the environment: ``ANTIPHON_SERVER__PORT=9000`` is ``server.port: 9000``."""

from collections.abc import Mapping

import yaml
from msgspec import inspect

from antiphon.config.document import compose
from antiphon.config.problems import VARIABLE_MARK, Place, nearest
from antiphon.config.schema import plain, struct_type
from antiphon.config.settings import Settings
from antiphon.core.errors import ConfigError

PREFIX = "ANTIPHON_"
SEPARATOR = "__"


def overlay(root: yaml.MappingNode, environ: Mapping[str, str], errors: list[ConfigError]) -> yaml.MappingNode:
    """The file's nodes with the environment's settings put over them; what is wrong with a variable is added to ``errors``.

    An empty variable counts as not set. A variable of one level that is no setting (``ANTIPHON_CONFIG``, or what Kubernetes sets
    for a service called antiphon) is left alone. Lists and mappings are written as YAML.
    """
    for name in sorted(environ):
        if name.startswith(PREFIX) and environ[name]:
            path = name.removeprefix(PREFIX).lower().split(SEPARATOR)
            try:
                kind = _type_of(name, path)
                if kind is not None:
                    root = _graft(root, path, _value(name, environ[name], kind))
            except ConfigError as error:
                errors.append(error)
    return root


def _type_of(name: str, path: list[str]) -> inspect.Type | None:
    """The type that a variable sets; None where it is none of ours. Raises ConfigError where it seems to be but is not."""
    kind: inspect.Type = struct_type(Settings)
    for depth, part in enumerate(path):
        if isinstance(kind, inspect.DictType) and part:
            kind = plain(kind.value_type)[0]
            continue
        fields = {field.name: field for field in kind.fields} if isinstance(kind, inspect.StructType) else {}
        if part not in fields:
            if len(path) == 1:
                return None
            near = nearest(part, list(fields))
            hint = f"did you mean {_variable([*path[:depth], near])}? " if near else ""
            known = f"known here: {', '.join(fields)}" if fields else "a list is set as a whole, written as YAML"
            dotted = ".".join(path)
            raise Place(variable=name).error(f'unknown setting "{dotted}"', remedy=hint + known, key=dotted)
        kind = plain(fields[part].type)[0]
    return kind


def _value(name: str, text: str, kind: inspect.Type) -> yaml.Node:
    mark = VARIABLE_MARK + name
    if isinstance(kind, inspect.StructType | inspect.DictType | inspect.VarTupleType):
        try:
            node = compose(text, mark)
        except ConfigError as error:
            raise Place(variable=name).error(error.message, remedy="write the value as YAML", key=name) from None
        if node is not None:
            return node
    return _scalar(text, mark)


def _graft(node: yaml.MappingNode, path: list[str], value: yaml.Node) -> yaml.MappingNode:
    """A copy of a mapping with a value at a path; nodes that are shared through YAML anchors stay as they are."""
    head, *rest = path
    old = next((child for key, child in node.value if key.value == head), None)
    if rest:
        below = old if isinstance(old, yaml.MappingNode) else yaml.MappingNode("tag:yaml.org,2002:map", [], value.start_mark)
        value = _graft(below, rest, value)
    pairs = [(key, child) for key, child in node.value if key.value != head]
    key_node = _scalar(head, value.start_mark.name)
    return yaml.MappingNode(node.tag, [*pairs, (key_node, value)], node.start_mark, node.end_mark)


def _scalar(text: str, mark_name: str) -> yaml.ScalarNode:
    mark = yaml.Mark(mark_name, 0, 0, 0, None, 0)
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, mark, mark)


def _variable(path: list[str]) -> str:
    return PREFIX + SEPARATOR.join(path).upper()
