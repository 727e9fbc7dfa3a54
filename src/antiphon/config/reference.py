"""Writes the page that documents every setting, from the settings structs themselves."""

from collections.abc import Iterator

import msgspec
from msgspec import inspect

from antiphon.config.schema import Field, fields_of, item_struct
from antiphon.config.settings import Settings

INTRODUCTION = """\
# Configuration

Antiphon runs without any configuration. What should differ from the defaults goes into one YAML file:

```yaml
server:
  port: 8080
  keys:
    - name: alice
      key: ${ALICE_KEY}          # from the environment

providers:
  - name: groq
    url: https://api.groq.com/openai/v1
    key_file: secrets/groq       # from a file, relative to this one
    models:
      - llama-3.3-70b-versatile
      - name: small              # as callers say it
        upstream: llama-3.1-8b-instant

aliases:
  fast: small
  best: [llama-3.3-70b-versatile, small]   # tried in order
```

## Where it is found

The first of these that exists: the file given with `--config`, the one that the environment variable `ANTIPHON_CONFIG` names,
`antiphon.yaml` in the working folder, and `antiphon.yaml` in the user's configuration folder (on Linux `~/.config/antiphon/`).
Of the first two, one that is named but missing is an error.

`antiphon config check` checks it, `antiphon config show` tells each value in effect and where it comes from. On SIGHUP the server
reads it again; `antiphon doctor` tells the process that takes it, and under systemd it is `systemctl reload`.

## Rules

- An unknown setting, a value out of its range and a name that leads nowhere are refused, with file, line and column, and all errors
  are shown at once.
- `${NAME}` in a value stands for a variable of the environment, and it is an error if that is not set. `${NAME:-default}` has a
  default, which also stands in for an empty variable. `$$` is a dollar sign.
- A variable `ANTIPHON_SECTION__SETTING` goes before the file: `ANTIPHON_SERVER__PORT=9000`, `ANTIPHON_DATA_DIR=/var/lib/antiphon`.
  Lists and mappings are written as YAML: `ANTIPHON_ALIASES='{fast: small}'`. An empty variable counts as not set.
- For each `key` you may write `key_file` instead: the path of a file that holds the key alone. A relative path starts from the
  folder of the configuration file. Keys are never printed or logged; a key in clear text in the file is allowed, and
  `antiphon config check` warns of it.
- Where a list of texts is wanted, a single text will do. A model of a provider may be a plain text, its name; a model on this
  machine may, if it is a built-in one: `models: [smollm2-135m-instruct]`. With `providers` and without `models` there is none.
- Names of models are unique over providers, models of this machine and the encoder. An alias may lead to aliases, but not in a
  circle.
"""


def reference() -> str:
    """The page, in Markdown."""
    return "\n".join([INTRODUCTION, *_section(Settings, "")])


def _section(struct: type[msgspec.Struct], path: str) -> Iterator[str]:
    yield f"## `{path}`\n" if path else "## Settings\n"
    yield f"{_markdown(_first_line(struct))}\n"
    yield "| setting | value | default | meaning |"
    yield "|---|---|---|---|"
    for field in fields_of(struct):
        yield f"| `{field.name}` | {_cell(field.type)} | {_default(field)} | {_cell(_markdown(field.text))} |"
    yield ""
    for field in fields_of(struct):
        if below := item_struct(field.kind):
            is_list = isinstance(field.kind, inspect.VarTupleType)
            name = f"{path}.{field.name}" if path else field.name
            yield from _section(below, f"{name}[]" if is_list else name)


def _first_line(struct: type[msgspec.Struct]) -> str:
    return (struct.__doc__ or "").strip().splitlines()[0]


def _default(field: Field) -> str:
    if field.required:
        return "required"
    return f"`{field.default}`" if field.default else ""


def _markdown(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
