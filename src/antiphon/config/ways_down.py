"""What routes degrade to: ways down that lead nowhere, or back to where they come from."""

from collections.abc import Iterator

from antiphon.config.local_models import THIS_MACHINE
from antiphon.config.network import Report
from antiphon.config.problems import among
from antiphon.config.route_settings import DegradeSettings, RouteSettings
from antiphon.config.settings import Settings
from antiphon.core.errors import ConfigError


def wrong(settings: Settings, known: frozenset[str], unread: frozenset[str], report: Report) -> Iterator[ConfigError]:
    """Everything that is wrong. ``known`` is what a model can be called by; nothing is said of names among ``unread``."""
    circles: set[frozenset[str]] = set()
    for index, route in enumerate(settings.routes):
        path, degrade = f"routes[{index}].degrade", route.degrade
        if degrade != DegradeSettings() and not (degrade.model or degrade.template):
            what = f'route "{route.name}" says when it degrades, but not to what'
            yield report(path, what, "name a model, a template, or both")
        if degrade.model and degrade.template and degrade.template_below > degrade.below:
            what = f'route "{route.name}": template_below ({degrade.template_below:g}) is above below ({degrade.below:g})'
            yield report(f"{path}.template_below", what, "the template is for when it is worse: give it the lower score")
        if not degrade.model or unread.intersection((degrade.model, *degrade.model.split("/", 1))):
            continue
        if degrade.model not in known:
            what = f'route "{route.name}" degrades to "{degrade.model}", which is not known'
            yield report(f"{path}.model", what, among(degrade.model, known - {route.name}, "nothing else"))
            continue
        circle = _circle(route, settings)
        if circle and frozenset(circle) not in circles:
            circles.add(frozenset(circle))
            what = f'route "{route.name}" degrades in a circle: {" -> ".join(circle)}'
            yield report(f"{path}.model", what, "let it degrade to a model that does not lead back to it")
        elif not circle and _replicas(degrade.model, settings) == _replicas(route.name, settings):
            what = f'route "{route.name}" degrades to "{degrade.model}", which is the same replicas'
            yield report(f"{path}.model", what, "name a model that is served elsewhere")


def _circle(route: RouteSettings, settings: Settings) -> list[str]:
    """The names on the way from a route's lighter model back to the route; empty if there is none."""
    down = {each.name: each.degrade.model for each in settings.routes if each.degrade.model}
    stack, visited = [[route.name, route.degrade.model]], set[str]()
    while stack:
        way = stack.pop()
        name = way[-1]
        if name == route.name:
            return way
        if name not in visited:
            visited.add(name)
            further = (*settings.aliases.get(name, ()), *((down[name],) if name in down else ()))
            stack += [[*way, each] for each in further]
    return []


def _replicas(name: str, settings: Settings) -> set[str]:
    """``provider/model`` of everything that a name stands for."""
    rows = [(model.name, f"{row.name}/{model.upstream or model.name}") for row in settings.providers for model in row.models]
    rows += [(model.name, f"{THIS_MACHINE}/{model.name}") for model in settings.models]
    found, open_, seen = set[str](), [name], set[str]()
    while open_:
        each = open_.pop()
        if each not in seen:
            seen.add(each)
            found |= {address for model, address in rows if each in (model, address)}
            open_ += settings.aliases.get(each, ())
    return found
