"""Reads YAML nodes into the settings structs and collects every error on the way, each with its place.

What cannot be read leaves a blank where its struct needs something, so that the whole can be checked all the same; a blank is an
empty text or secret, and never leaves the package, since there is an error for each.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec import inspect

from antiphon.config.document import describe
from antiphon.config.interpolation import interpolate, refers
from antiphon.config.problems import VARIABLE_MARK, Place, nearest
from antiphon.config.route_settings import PolicySettings
from antiphon.config.schema import describe_type, home, is_secret, plain
from antiphon.config.secret import Secret
from antiphon.config.settings import BUILT_IN_MODELS, LocalModelSettings, ProviderModel
from antiphon.core.errors import ConfigError

INVALID: Final = object()
"""Stands for a value that could not be read; its error has been noted."""

MAX_KEY_FILE = 65536
_NO_TEXT = re.compile(r"[\0\ud800-\udfff]")
SECRET_TEXT = re.compile(r"[\x21-\x7e]+")
TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


_CREDENTIALS = re.compile(r"://[^/]*@|\?")
"""What an address looks like that holds a password, or may hold a key in its query."""


class Reader:
    """Reads one configuration. ``folder`` is what relative paths of key files start from.

    Without ``secrets`` every secret is read as an empty one, whether or not it could be had.
    """

    def __init__(self, environ: Mapping[str, str], folder: Path, *, secrets: bool = True) -> None:
        self._environ = environ
        self._folder = folder
        self._secrets = secrets
        self.errors: list[ConfigError] = []
        self.places: dict[str, Place] = {}
        """Dotted path of each setting that was written somewhere, and where."""
        self.literal_secrets: list[str] = []
        """Dotted paths of secrets that stand in the file in clear text."""
        self.secret_files: list[Path] = []
        """Files that secrets were read from."""
        self.unread: set[str] = set()
        """Every text in the parts that could not be read."""

    def read(self, node: yaml.Node, kind: inspect.Type, path: str) -> Any:
        """The value of a node as a type of the settings, or INVALID."""
        self.places[path] = Place.of(node.start_mark)
        written, (kind, secret) = kind, plain(kind)
        if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null"):
            return self._fail(node, path, f"{path} has no value", "give it one, or remove the line")
        if not node.tag.startswith("tag:yaml.org,2002:"):
            return self._fail(node, path, f"the YAML tag {node.tag} is not known here", "remove the tag")
        match kind:
            case inspect.StructType():
                return self._struct(node, kind, path)
            case inspect.DictType():
                return self._dict(node, kind, path)
            case inspect.VarTupleType():
                return self._tuple(node, kind, path)
            case inspect.AnyType():
                return self._anything(node, path)
            case inspect.TupleType():
                return self._row(node, kind, path)
            case _ if secret and not self._secrets:
                return "" if isinstance(kind, inspect.StrType) else Secret()
            case inspect.CustomType():
                return self._secret(node, path)
            case _:
                return self._scalar(node, written, path, secret=secret)

    def _struct(self, node: yaml.Node, kind: inspect.StructType, path: str) -> Any:
        if isinstance(node, yaml.ScalarNode) and kind.cls is LocalModelSettings:
            return self._built_in(node, path)
        fields = {field.name: field for field in kind.fields}
        if isinstance(node, yaml.ScalarNode) and (short := _short_form(kind)):
            value = self.read(node, short.type, path)
            self.places[_join(path, short.name)] = self.places[path]
            return INVALID if value is INVALID else kind.cls(**{short.name: value})
        if not isinstance(node, yaml.MappingNode):
            return self._fail(node, path, f"{path} must hold settings, not {describe(node)}", f"known: {', '.join(fields)}")
        values = self._fields(node, fields, path)
        for name, field in fields.items():
            if field.required and name not in values:
                either = f' (or "{name}_file")' if is_secret(field) else ""
                self._note(node, path, f'{path} lacks "{name}"{either}', f"add {name}: {describe_type(field.type)}", name)
        return _filled(kind, values)

    def _built_in(self, node: yaml.ScalarNode, path: str) -> Any:
        name = self._text(node, path)
        if name is None:
            return INVALID
        self.places[_join(path, "name")] = self.places[path]
        if name in BUILT_IN_MODELS:
            return BUILT_IN_MODELS[name]
        near = nearest(name, list(BUILT_IN_MODELS))
        hint = f'did you mean "{near}"? ' if near else ""
        what = f'{path} is "{name}", which is not a built-in model'
        known = ", ".join(BUILT_IN_MODELS)
        return self._fail(node, path, what, f'{hint}built in: {known}; any other is written as "name: ..." and "source: ..."')

    def _fields(self, node: yaml.MappingNode, fields: Mapping[str, inspect.Field], path: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in self._entries(node, path):
            key, name = key_node.value, key_node.value.removesuffix("_file")
            from_file = key not in fields and is_secret(fields.get(name))
            if not from_file and key not in fields:
                self.errors.append(_unknown(key_node, path, list(fields)))
                self.unread.update(_texts(value_node))
            elif name in values and is_secret(fields.get(name)):
                self._fail(key_node, path, f'{path} has both "{name}" and "{name}_file"', "keep one of them", key)
            elif from_file:
                values[name] = self._secret_file(value_node, _join(path, key)) if self._secrets else Secret()
            else:
                values[key] = self.read(value_node, fields[key].type, _join(path, key))
        return values

    def _dict(self, node: yaml.Node, kind: inspect.DictType, path: str) -> Any:
        if not isinstance(node, yaml.MappingNode):
            return self._fail(
                node, path, f'{path} must be a mapping of "name: value", not {describe(node)}', "write one pair a line"
            )
        result: dict[str, Any] = {}
        for key_node, value_node in self._entries(node, path):
            key = self._scalar(key_node, kind.key_type, _join(path, key_node.value), what=f"a key of {path}")
            value = self.read(value_node, kind.value_type, _join(path, key_node.value))
            if key is not INVALID and value is not INVALID:
                result[key] = value
        return result

    def _anything(self, node: yaml.Node, path: str) -> Any:
        """A value of any shape: what YAML takes it for, and a text where it comes from the environment."""
        if isinstance(node, yaml.MappingNode):
            return {key.value: self._anything(value, _join(path, key.value)) for key, value in self._entries(node, path)}
        if isinstance(node, yaml.SequenceNode):
            return [self._anything(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)
        text = self._text(node, path)
        if text is None or refers(node.value):
            return text
        loader = yaml.SafeLoader("")
        return loader.construct_object(node) if node.tag != "tag:yaml.org,2002:str" else text

    def _tuple(self, node: yaml.Node, kind: inspect.VarTupleType, path: str) -> Any:
        item_kind = plain(kind.item_type)[0]
        if isinstance(node, yaml.ScalarNode) and _fits_alone(item_kind):
            value = self.read(node, kind.item_type, f"{path}[0]")
            return INVALID if value is INVALID else (value,)
        if not isinstance(node, yaml.SequenceNode):
            return self._fail(node, path, f"{path} must be a list, not {describe(node)}", 'begin each item with "- "')
        if len(node.value) < (kind.min_length or 0):
            return self._fail(node, path, f"{path} is an empty list", "name at least one")
        items = [self.read(item, kind.item_type, f"{path}[{index}]") for index, item in enumerate(node.value)]
        if isinstance(item_kind, inspect.StructType):
            return tuple(_filled(item_kind, {}) if item is INVALID else item for item in items)  # each keeps its number
        return tuple(item for item in items if item is not INVALID)

    def _row(self, node: yaml.Node, kind: inspect.TupleType, path: str) -> Any:
        if not isinstance(node, yaml.SequenceNode) or len(node.value) != len(kind.item_types):
            what = f"one of {len(node.value)}" if isinstance(node, yaml.SequenceNode) else describe(node)
            return self._fail(node, path, f"{path} must be {describe_type(kind)}, not {what}", "write them as [a, b, ...]")
        pairs = zip(node.value, kind.item_types, strict=True)
        items = [self.read(item, each, f"{path}[{index}]") for index, (item, each) in enumerate(pairs)]
        return INVALID if INVALID in items else tuple(items)

    def _entries(self, node: yaml.MappingNode, path: str) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """The pairs of a mapping, merge keys (``<<``) resolved; notes keys that come twice and keys that are no text."""
        seen: dict[str, yaml.ScalarNode] = {}
        for key, value in _merged(node, ()):
            if not isinstance(key, yaml.ScalarNode):
                self._fail(key, path, f"{path or 'the file'} has a key that is {describe(key)}", "keys are plain names")
            elif key.value in seen:
                first = Place.of(seen[key.value].start_mark)
                self._fail(key, path, f'"{_join(path, key.value)}" is set twice, first on line {first.line}', "keep one", key.value)
            else:
                seen[key.value] = key
                yield key, value

    def _scalar(self, node: yaml.Node, kind: inspect.Type, path: str, *, secret: bool = False, what: str = "") -> Any:
        if not isinstance(node, yaml.ScalarNode):
            must = f"{what or path} must be {describe_type(kind)}, not {describe(node)}"
            return self._fail(node, path, must, "write the value alone")
        text = self._text(node, path)
        if text is None:
            return INVALID
        value = _parse(text, plain(kind)[0])
        if value is not INVALID:
            return value
        shown = "this value" if secret or _CREDENTIALS.search(node.value) else f'"{node.value}"' if node.value else "an empty text"
        remedy = (
            "the text comes from the environment: correct it there" if refers(node.value) and not secret else "correct the value"
        )
        return self._fail(node, path, f"{what or path} must be {describe_type(kind)}, not {shown}", remedy)

    def _secret(self, node: yaml.Node, path: str) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            return self._fail(node, path, f"{path} must be a text, not {describe(node)}", "write key: ${NAME} or key_file: path")
        text = self._text(node, path)
        if text is None:
            return INVALID
        if text and not refers(node.value) and not _from_environment(node):
            self.literal_secrets.append(path)
        return self._checked_secret(node, text, path, "the environment" if refers(node.value) else "")

    def _secret_file(self, node: yaml.Node, path: str) -> Any:
        self.places[path] = Place.of(node.start_mark)
        if not isinstance(node, yaml.ScalarNode):
            return self._fail(node, path, f"{path} must be the path of a file, not {describe(node)}", "name one file")
        name = self._text(node, path)
        if name is None:
            return INVALID
        try:
            file = self._folder / Path(name).expanduser()
        except RuntimeError:  # ~ of a user that there is not
            return self._fail(node, path, f'{path} is "{name}", and there is no such user', "write the path in full")
        try:
            text = _read_key(file)
            self.secret_files.append(file)
        except OSError as error:
            return self._fail(
                node, path, f"{path}: the file {file} cannot be read: {error.strerror}", "check the path and its rights"
            )
        if text is None:
            return self._fail(
                node, path, f"{path}: the file {file} does not hold a key", "put the key alone into it, as one line of text"
            )
        return self._checked_secret(node, text, path, str(file))

    def _checked_secret(self, node: yaml.Node, text: str, path: str, origin: str) -> Any:
        source = f" from {origin}" if origin else ""
        if len(text.splitlines()) > 1:
            what = f"the key{source} for {path} has more than one line"
            return self._fail(node, path, what, "leave the one line that is the key")
        if text and not SECRET_TEXT.fullmatch(text):
            return self._fail(
                node, path, f"the key{source} for {path} holds blanks or characters that are not ASCII", "check the key"
            )
        if not text and path.startswith("server.keys"):
            return self._fail(node, path, f"the key{source} for {path} is empty", "set it, or remove the entry")
        return Secret(text)

    def _text(self, node: yaml.ScalarNode, path: str) -> str | None:
        text: str = node.value
        if _from_environment(node):
            return text
        try:
            text = interpolate(text, self._environ)
        except ConfigError as error:
            self._fail(node, path, f"{path}: {error.message}", error.remedy)
            return None
        if _NO_TEXT.search(text):
            self._fail(node, path, f"{path} holds a zero byte or half a character", "remove it")
            return None
        return text

    def _fail(self, node: yaml.Node, path: str, message: str, remedy: str, key: str = "") -> Any:
        self._note(node, path, message, remedy, key)
        self.unread.update(_texts(node))
        return INVALID

    def _note(self, node: yaml.Node, path: str, message: str, remedy: str, key: str) -> None:
        self.errors.append(Place.of(node.start_mark).error(message, remedy=remedy, key=_join(path, key) if key else path))


def _filled(kind: inspect.StructType, values: Mapping[str, Any]) -> Any:
    """The struct with what could be read, and with blanks where it needs what could not."""
    needed = [field for field in kind.fields if field.required]
    blanks = {field.name: "" if isinstance(plain(field.type)[0], inspect.StrType) else Secret() for field in needed}
    return kind.cls(**(blanks | {name: value for name, value in values.items() if value is not INVALID}))


def _texts(node: yaml.Node) -> Iterator[str]:
    """All texts in a node and below it, each node looked at once however often it is referred to."""
    open_, seen = [node], set[int]()
    while open_:
        node = open_.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node.value
        elif id(node) not in seen:
            seen.add(id(node))
            open_ += [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else node.value


def _parse(text: str, kind: inspect.Type) -> Any:
    match kind:
        case inspect.StrType():
            return text if _fits_text(text, kind) else INVALID
        case inspect.BoolType():
            return TRUTHS.get(text.lower(), INVALID)
        case inspect.IntType():
            number: float = int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else math.nan
        case inspect.FloatType():
            number = float(text) if re.fullmatch(r"[+-]?([0-9]{1,18}\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text) else math.nan
        case _:
            raise TypeError(f"settings of type {kind} are not supported")
    return number if _fits_number(number, kind) else INVALID


def _fits_text(text: str, kind: inspect.StrType) -> bool:
    return len(text) >= (kind.min_length or 0) and (kind.pattern is None or re.fullmatch(kind.pattern, text) is not None)


def _fits_number(number: float, kind: inspect.IntType | inspect.FloatType) -> bool:
    return (
        math.isfinite(number)
        and (kind.ge is None or number >= kind.ge)
        and (kind.gt is None or number > kind.gt)
        and (kind.le is None or number <= kind.le)
        and (kind.lt is None or number < kind.lt)
    )


def _fits_alone(kind: inspect.Type) -> bool:
    """Whether a plain text will do where a list of these is wanted."""
    return isinstance(kind, inspect.StrType) or (isinstance(kind, inspect.StructType) and kind.cls is PolicySettings)


def _short_form(kind: inspect.StructType) -> inspect.Field | None:
    """The field that a plain text stands for."""
    return next((field for field in kind.fields if kind.cls in (ProviderModel, PolicySettings) and field.name == "name"), None)


def _unknown(key: yaml.ScalarNode, path: str, known: Sequence[str]) -> ConfigError:
    name = _join(path, key.value)
    near = nearest(key.value, known)
    elsewhere = home(key.value.lower().replace("-", "_"))
    meant = _join(path, near) if near else elsewhere
    hint = f'did you mean "{meant}"? ' if meant else ""
    return Place.of(key.start_mark).error(f'unknown setting "{name}"', remedy=f"{hint}known here: {', '.join(known)}", key=name)


def _merged(node: yaml.MappingNode, inside: tuple[yaml.Node, ...]) -> list[tuple[yaml.Node, yaml.Node]]:
    pairs = [pair for pair in node.value if not pair[0].tag.endswith(":merge")]
    own = {key.value for key, _ in pairs if isinstance(key, yaml.ScalarNode)}
    for key, value in node.value:
        if key.tag.endswith(":merge"):
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for source in sources:
                if isinstance(source, yaml.MappingNode) and source not in inside:
                    inherited = [pair for pair in _merged(source, (*inside, node)) if pair[0].value not in own]
                    own.update(pair[0].value for pair in inherited)
                    pairs += inherited
    return pairs


def _from_environment(node: yaml.Node) -> bool:
    return node.start_mark is not None and node.start_mark.name.startswith(VARIABLE_MARK)


def _read_key(file: Path) -> str | None:
    with file.open("rb") as stream:
        data = stream.read(MAX_KEY_FILE + 1)
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        return None
    return text if text and len(data) <= MAX_KEY_FILE else None


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
