"""``antiphon config``: check, show and explain the settings."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
import yaml

from antiphon.cli.output import print_json, warn
from antiphon.cli.settings import load_settings
from antiphon.config import Loaded, redacted
from antiphon.config.protocols import page as protocols_page
from antiphon.config.protocols import protocols as known_protocols
from antiphon.config.reference import reference as reference_page

app = typer.Typer(name="config", help="Check, show and explain the settings.", no_args_is_help=True)

File = Annotated[Path | None, typer.Argument(help="Configuration file; by default the one that the server would read.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class CheckResult(msgspec.Struct, frozen=True):
    """What a check found that is no error."""

    valid: bool
    file: str
    warnings: tuple[str, ...]


@app.command()
def check(file: File = None, json: Json = False) -> None:
    """Check the configuration: every error with its file, line and remedy. Exit code 2 if there is one."""
    loaded = load_settings(file, model_files=True)
    name = str(loaded.file) if loaded.file else ""
    if json:
        print_json(CheckResult(True, name, loaded.warnings))
        return
    for warning in loaded.warnings:
        warn(warning)
    typer.echo(f"{name or 'no file: the defaults'}: valid")


@app.command()
def show(
    file: File = None,
    json: Json = False,
    as_yaml: Annotated[bool, typer.Option("--yaml", help="Print YAML without the origins.")] = False,
) -> None:
    """Show every setting in effect and where it comes from. Secrets are shown as ***."""
    loaded = load_settings(file)
    settings = redacted(loaded.settings)
    if json:
        print_json({"file": str(loaded.file) if loaded.file else None, "settings": settings, "origins": loaded.origins})
    elif as_yaml:
        typer.echo(yaml.safe_dump(msgspec.to_builtins(settings), sort_keys=False, allow_unicode=True), nl=False)
    else:
        rows = _leaves(settings, "")
        width = max(len(path) for path, _ in rows)
        for path, value in rows:
            typer.echo(f"{path:{width}} = {value}{_origin(loaded, path)}")


@app.command()
def reference() -> None:
    """Print the reference of all settings, in Markdown."""
    typer.echo(reference_page(), nl=False)


@app.command()
def protocols(
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page of the documentation, in Markdown.")] = False,
) -> None:
    """List what `protocol` of a provider's row may name."""
    found = known_protocols()
    if json:
        print_json(found)
    elif markdown:
        typer.echo(protocols_page(found), nl=False)
    else:
        width, titles = max(len(one.name) for one in found), max(len(one.title) for one in found)
        for one in found:
            typer.echo(f"{one.name:{width}}  {one.title:{titles}}  {one.missing or one.url}".rstrip())


def _leaves(value: Any, path: str) -> list[tuple[str, str]]:
    """Each single value with its dotted path, as JSON."""
    if isinstance(value, dict) and value:
        return [leaf for key, below in value.items() for leaf in _leaves(below, f"{path}.{key}" if path else key)]
    if isinstance(value, list | tuple) and value:
        return [leaf for index, below in enumerate(value) for leaf in _leaves(below, f"{path}[{index}]")]
    return [(path, msgspec.json.encode(value).decode())]


def _origin(loaded: Loaded, path: str) -> str:
    origin = loaded.origins.get(path) or loaded.origins.get(f"{path}_file")
    return f"    # {origin}" if origin else ""
