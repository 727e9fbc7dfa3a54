"""Reads a YAML file into nodes that know their line; turns what is wrong with the file itself into ConfigError."""

import stat
from pathlib import Path

import yaml

from antiphon.config.problems import Place
from antiphon.core.errors import ConfigError

DEEP = 32
"""Levels that no settings have."""
_OPENING = (yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken, yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)


def compose_file(path: Path) -> yaml.MappingNode | None:
    """The settings in a file, as a mapping node; None where it holds nothing but comments. Raises ConfigError."""
    file = str(path)
    data = _read(path)
    if not data.strip():
        raise ConfigError("the file is empty", remedy="write settings into it, or remove it to run with the defaults", file=file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("the file is not UTF-8 text", remedy="save it as UTF-8", file=file, line=line) from None
    node = compose(text, file)
    if node is None:
        return None
    if not isinstance(node, yaml.MappingNode):
        raise Place.of(node.start_mark).error(
            f"the file must hold settings, not {describe(node)}",
            remedy='write one "name: value" per line, for example "server: {port: 8080}"',
        )
    return node


def compose(text: str, name: str) -> yaml.Node | None:
    """The nodes of a YAML text; ``name`` says in errors where it came from. Raises ConfigError."""
    try:
        loader = yaml.SafeLoader(text)
        loader.name = name
        node: yaml.Node | None = loader.get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError("a control character does not belong in the file", remedy="remove it", file=name, line=line) from None
    except yaml.MarkedYAMLError as error:
        message = f"the YAML is not valid: {error.problem or error.context}"
        if error.context and error.context_mark and error.problem_mark and error.context_mark.line != error.problem_mark.line:
            message += f" ({error.context} that began on line {error.context_mark.line + 1})"
        raise Place.of(error.problem_mark or error.context_mark).error(message, remedy=_remedy(error)) from None
    except RecursionError:
        raise _too_deep(text, name) from None
    return node


def describe(node: yaml.Node) -> str:
    """What a node is, in a reader's words; never its value."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "a plain text" if node.tag.endswith(":str") else "a single value"


def readable_by_all(path: Path) -> bool:
    """Whether any user of this machine may read the file."""
    return bool(path.stat().st_mode & stat.S_IROTH)


def _too_deep(text: str, name: str) -> ConfigError:
    """The error of a text that is nested too deeply, at the place where it gets deeper than settings ever are."""
    place, depth = Place(name, 1), 0
    for token in yaml.scan(text, yaml.SafeLoader):
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth == DEEP:
            place = Place(name, token.start_mark.line + 1, token.start_mark.column + 1)
            break
    remedy = "close the brackets before this place, or remove levels: settings have a few at most"
    return place.error("the YAML is nested too deeply", remedy=remedy)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError("there is no such file", remedy="check the path", file=str(path)) from None
    except OSError as error:
        raise ConfigError(
            f"the file cannot be read: {error.strerror}", remedy="check the path and its rights", file=str(path)
        ) from None


def _remedy(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or ""
    if "'\\t'" in problem:
        return "indent with spaces, not with tabs"
    if "expected ',' or" in problem:
        return 'put quotes around a value that holds any of , [ ] { }, for example "${NAME}"'
    if "mapping values are not allowed" in problem:
        return 'check the indentation, and put quotes around a value that holds ": "'
    if "single document" in (error.context or ""):
        return "keep one document: remove the line ---"
    return "check the indentation, quotes and brackets at this place"
