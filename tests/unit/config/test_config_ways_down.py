"""What a route may degrade to."""

from pathlib import Path

import pytest

from antiphon.config import DegradeSettings, load
from antiphon.core.errors import ConfigError

SERVED = """
models: []
providers:
  - {name: one, url: "https://one.example/v1", models: [big, small]}
  - {name: two, url: "https://two.example/v1", models: [big, tiny]}
aliases: {light: [tiny], both: [big, small], again: both}
routes:
"""


def loaded(folder: Path, *routes: str):
    file = folder / "antiphon.yaml"
    file.write_text(SERVED + "".join(f"  - {route}\n" for route in routes))
    return load(file, {}).routes


@pytest.mark.parametrize(
    "route",
    [
        "{name: big, degrade: {model: small}}",
        "{name: big, degrade: {model: light}}",
        "{name: big, degrade: {model: two/tiny, template: sorry}}",
        "{name: big, degrade: {model: one/big}}",  # one of its two replicas
        "{name: big, degrade: {template: sorry, template_below: 0.99}}",
        "{name: both, degrade: {model: small}}",
    ],
)
def test_what_is_right_is_taken(tmp_path: Path, route: str) -> None:
    (taken,) = loaded(tmp_path, route)
    assert taken.degrade != DegradeSettings()


@pytest.mark.parametrize(
    ("routes", "message", "remedy"),
    [
        (["{name: big, degrade: {model: smal}}"], 'route "big" degrades to "smal", which is not known', 'did you mean "small"?'),
        (["{name: big, degrade: {model: big}}"], "degrades in a circle: big -> big", "does not lead back"),
        (["{name: big, degrade: {model: both}}"], "degrades in a circle: big -> both -> big", "does not lead back"),
        (["{name: big, degrade: {model: again}}"], "degrades in a circle: big -> again -> both -> big", "does not lead back"),
        (
            ["{name: big, degrade: {model: small}}", "{name: small, degrade: {model: big}}"],
            "degrades in a circle: big -> small -> big",
            "does not lead back",
        ),
        (["{name: small, degrade: {model: one/small}}"], "which is the same replicas", "served elsewhere"),
        (["{name: both, degrade: {model: again}}"], "degrades in a circle: both -> again -> both", "does not lead back"),
        (["{name: big, degrade: {when_busy: true}}"], "says when it degrades, but not to what", "a template, or both"),
        (
            ["{name: big, degrade: {model: small, template: sorry, below: 0.7}}"],
            "template_below (0.8) is above below (0.7)",
            "give it the lower score",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, routes: list[str], message: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as told:
        loaded(tmp_path, *routes)
    assert message in str(told.value)
    assert remedy in str(told.value)
    assert "antiphon.yaml:8" in str(told.value)


def test_a_circle_of_two_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as told:
        loaded(tmp_path, "{name: big, degrade: {model: small}}", "{name: small, degrade: {model: big}}")
    assert str(told.value).count("in a circle: big") == 1
