"""Reads the fleet and the callers that traffic is replayed against."""

import os
from pathlib import Path

import yaml

from antiphon.config.document import compose_file
from antiphon.config.problems import Place, raise_all
from antiphon.config.reader import Reader
from antiphon.config.schema import struct_type
from antiphon.core.errors import ConfigError
from antiphon.scheduling.simulator.scenario import Scenario

SHIPPED = Path(__file__).with_name("fleet.yaml")


def read_fleet(path: Path | None, block_tokens: int) -> Scenario:
    """The fleet of a file, of the shipped one where none is named. Raises ConfigError, with file and line.

    ``block_tokens`` is the size of the trace's prefix blocks, 0 where it has none: the fleet's must be the same.
    """
    file = path or SHIPPED
    root = compose_file(file) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    reader = Reader(os.environ, file.parent.resolve())
    scenario = reader.read(root, struct_type(Scenario), "")
    if not reader.errors:
        reader.errors += _errors(scenario, reader.places, block_tokens)
    raise_all(reader.errors)
    checked: Scenario = scenario
    return checked


def _errors(scenario: Scenario, places: dict[str, Place], block_tokens: int) -> list[ConfigError]:
    errors = []
    if not any(scenario.callers.tiers):
        what = "callers.tiers leaves no call in any tier"
        errors.append(places["callers.tiers"].error(what, remedy="give one of them a share above 0", key="callers.tiers"))
    if block_tokens:
        sizes = {f"fleet[{index}].replica": group.replica.block_tokens for index, group in enumerate(scenario.fleet)}
        sizes["scheduler"] = scenario.scheduler.block_tokens
        for key, tokens in sizes.items():
            if tokens != block_tokens:
                what = f"{key}.block_tokens is {tokens}, and the trace's prefix blocks have {block_tokens} tokens"
                place = places.get(f"{key}.block_tokens") or places.get(key) or places[""]
                errors.append(place.error(what, remedy=f"set it to {block_tokens}", key=f"{key}.block_tokens"))
    return errors
