"""What no single setting shows: names that collide, aliases that lead nowhere, settings that are unwise together."""

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from antiphon.config import access, guardrails, limits, local_models, network, records, ways_down
from antiphon.config.keys_file import check_keys
from antiphon.config.local_models import THIS_MACHINE
from antiphon.config.problems import ConfigErrors, Place, among, nearest
from antiphon.config.settings import ProviderSettings, Settings
from antiphon.core.errors import ConfigError
from antiphon.core.moments import HOW, parse_moment
from antiphon.execution.providers import PROVIDERS, ChecksRow
from antiphon.scheduling.choice import POLICIES

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
MIN_POLL_LOAD = 0.1
"""Seconds between two questions for a replica's load, at least."""
HTTP_OWN_HEADERS = {"host", "connection", "content-length", "transfer-encoding", "content-type"}


class Checker:
    """Checks settings as a whole. ``places`` says where each dotted path was written.

    ``known`` are names of models that are not in the settings but can be called. ``unread`` are the texts of what could not be
    read, which left blanks: nothing is said of a blank, nor of a name that may be among these texts.
    """

    def __init__(
        self,
        settings: Settings,
        places: Mapping[str, Place],
        known: frozenset[str] = frozenset(),
        unread: frozenset[str] = frozenset(),
    ) -> None:
        self._settings = settings
        self._places = places
        self._known = known
        self._unread = unread

    def errors(self) -> list[ConfigError]:
        """Everything that is wrong."""
        return [
            *self._keys(),
            *self._providers(),
            *network.conflicts(self._settings, self._error),
            *local_models.unknown_parts(self._settings, self._error),
            *self._models(),
            *self._added(),
            *self._aliases(),
            *self._loops(),
            *self._routes(),
            *ways_down.wrong(self._settings, frozenset(self._referable()), self._unread, self._error),
            *records.wrong(self._settings, self._error),
            *access.wrong(self._settings, frozenset(self._referable()), self._unread, self._error),
            *guardrails.wrong(self._settings, frozenset(self._referable()), self._unread, self._error),
            *limits.wrong(self._settings, frozenset(self._referable()), self._unread, self._error, self._places.__contains__),
        ]

    def file_errors(self) -> list[ConfigError]:
        """Files that the settings name and that cannot be used."""
        return [*network.file_errors(self._settings, self._error), *self._keys_file()]

    def model_file_errors(self) -> list[ConfigError]:
        """Files of models that the settings name and that cannot be used."""
        return list(local_models.file_errors(self._settings, self._error))

    def proxy_errors(self, environ: Mapping[str, str]) -> list[ConfigError]:
        """Proxies that the environment names for a provider and that cannot be used."""
        return list(network.environment_errors(self._settings, environ, self._error))

    def warnings(self, literal_secrets: list[str]) -> Iterator[str]:
        """What is allowed but unwise."""
        server = self._settings.server
        for path in literal_secrets:
            yield f"{self._at(path)}: {path} stands in the file in clear text; write ${{NAME}} or use key_file"
        if server.host not in LOOPBACK and not server.keys and not server.keys_file:
            yield f"server.host is {server.host} and there are no server.keys: whoever reaches this machine may call"
        for index, provider in enumerate(self._settings.providers):
            url = urlsplit(provider.url)
            if provider.key and url.scheme == "http" and url.hostname not in LOOPBACK:
                yield f"{self._at(f'providers[{index}].url')}: the key of provider {provider.name} travels unencrypted"
            if not provider.verify:
                where = self._at(f"providers[{index}].verify")
                yield f"{where}: the certificate of provider {provider.name} is not checked: its key can be read on the way"
            if not provider.models:
                yield f"{self._at(f'providers[{index}]')}: provider {provider.name} lists no models, so no call goes to it"

    def _keys(self) -> Iterator[ConfigError]:
        keys = self._settings.server.keys
        yield from self._twice("key", [(f"server.keys[{i}].name", key.name) for i, key in enumerate(keys)])
        first: dict[str, int] = {}
        for index, key in enumerate(keys):
            try:
                parse_moment(key.expires or "0")
            except ValueError:
                what = f'server.keys[{index}].expires is "{key.expires}", which is no time'
                yield self._error(f"server.keys[{index}].expires", what, f"write {HOW}")
            if not key.key:  # read without secrets
                continue
            other = first.setdefault(key.key.reveal(), index)
            if other != index:
                path = f"server.keys[{index}].key"
                yield self._error(
                    path, f'the keys of "{keys[other].name}" and "{key.name}" are the same', "give each caller its own"
                )

    def _keys_file(self) -> Iterator[ConfigError]:
        try:
            check_keys(self._settings.server)
        except ConfigErrors as errors:
            yield from errors.errors
        except ConfigError as error:
            yield error

    def _providers(self) -> Iterator[ConfigError]:
        providers = self._settings.providers
        yield from self._twice("provider", [(f"providers[{i}].name", provider.name) for i, provider in enumerate(providers)])
        for index, provider in enumerate(providers):
            path = f"providers[{index}]"
            if provider.name == THIS_MACHINE:
                what = f'a provider cannot be called "{THIS_MACHINE}": that is what this machine is called'
                yield self._error(f"{path}.name", what, "give it another name")
            if not provider.url and f"{path}.url" not in self._places and self._is_written(path):
                yield self._error(f"{path}.url", f'{path} lacks "url"', "add url: the address of its API, such as https://host/v1")
            if not _valid_port(provider.url):
                yield self._error(f"{path}.url", f"{path}.url has a port that is not a number from 1 to 65535", "correct the port")
            if provider.protocol and provider.protocol not in (known := PROVIDERS.names()):
                what = f'provider "{provider.name}": protocol "{provider.protocol}" is not known'
                yield self._error(f"{path}.protocol", what, f"known: {', '.join(known)}")
            elif provider.protocol:
                yield from self._loadable(provider, path)
            yield from self._headers(provider, path)

    def _is_written(self, path: str) -> bool:
        """Whether there are settings at this place, and not something else."""
        return any(place.startswith(f"{path}.") for place in self._places)

    def _loadable(self, provider: ProviderSettings, path: str) -> Iterator[ConfigError]:
        """Protocols that need what is not installed, or is not in the row."""
        try:
            plugin = PROVIDERS.load(provider.protocol)
            if provider.url and isinstance(plugin, ChecksRow):
                plugin.check(provider.url, provider.api_version or "")
        except ConfigError as error:
            yield self._error(f"{path}.protocol", f'provider "{provider.name}": {error.message}', error.remedy)

    def _headers(self, provider: ProviderSettings, path: str) -> Iterator[ConfigError]:
        for name in provider.headers:
            lower = name.lower()
            if lower in HTTP_OWN_HEADERS:
                yield self._error(f"{path}.headers.{name}", f'the header "{name}" is set by Antiphon itself', "remove it")
            if lower == "authorization" and provider.key:
                yield self._error(
                    f"{path}.headers.{name}", f'provider "{provider.name}" has both "key" and an authorization header', "keep one"
                )

    def _models(self) -> Iterator[ConfigError]:
        first: dict[str, str] = {}
        names: list[tuple[str, str]] = []
        for path, name in self._model_names():
            provider = path.partition(".models[")[0]
            if provider.startswith("providers") and first.setdefault(name, provider) not in ("", provider):
                continue  # a model that several providers serve: they are tried in this order
            if not provider.startswith("providers"):
                first.setdefault(name, "")
            names.append((path, name))
        yield from self._twice("model", names, 'give one of them another name (in a provider: "name: ..., upstream: ...")')

    def _added(self) -> Iterator[ConfigError]:
        local = {model.name for model in self._settings.models}
        taken = [*self._model_names(), *((f"aliases.{alias}", alias) for alias in self._settings.aliases)]
        for path, name in taken:
            if name in self._known - local:
                what = f'"{name}" is also the name of a model that was added with "antiphon models add"'
                yield self._error(path, what, f'choose another name, or "antiphon models rm {name}"')

    def _aliases(self) -> Iterator[ConfigError]:
        models = {name for _, name in self._model_names()}
        known = sorted(self._referable())
        for alias, targets in self._settings.aliases.items():
            path = f"aliases.{alias}"
            if alias in models:
                yield self._error(path, f'"{alias}" is an alias and a model', "give the alias another name")
            for index, target in enumerate(targets):
                if target not in known and not self._unread.intersection((target, *target.split("/", 1))):
                    others = [name for name in known if name != alias]
                    near = nearest(target, others)
                    hint = f'did you mean "{near}"? ' if near else ""
                    what = f'alias "{alias}" leads to "{target}", which is not known'
                    remedy = f"{hint}known: {', '.join(others)}" if others else "add the model first: nothing is configured"
                    yield self._place(f"{path}[{index}]").error(what, remedy=remedy, key=path)
            for target in sorted({target for target in targets if targets.count(target) > 1}):
                yield self._error(path, f'alias "{alias}" names "{target}" twice', "keep one")

    def _loops(self) -> Iterator[ConfigError]:
        aliases = self._settings.aliases
        models = {name for _, name in self._model_names()}
        reported: set[frozenset[str]] = set()
        for alias in (alias for alias in aliases if alias not in models):
            loop = _loop_from(alias, lambda name: aliases.get(name, ()))
            if loop and frozenset(loop) not in reported:
                reported.add(frozenset(loop))
                yield self._error(
                    f"aliases.{alias}", f"aliases lead in a circle: {' -> '.join(loop)}", "let one of them lead to a model"
                )

    def _routes(self) -> Iterator[ConfigError]:
        routes = self._settings.routes
        yield from self._twice("route", [(f"routes[{i}].name", route.name) for i, route in enumerate(routes)])
        known = {name for _, name in self._model_names()} | self._known | set(self._settings.aliases)
        policies = [name.replace("_", "-") for name in POLICIES.names()]
        for index, route in enumerate(routes):
            path = f"routes[{index}]"
            if route.name and route.name not in known and route.name not in self._unread:
                what = f'the route "{route.name}" is for no model and no alias that is known'
                yield self._error(f"{path}.name", what, among(route.name, known))
            if 0 < route.poll_load < MIN_POLL_LOAD:
                what = f'route "{route.name}": poll_load is {route.poll_load:g}, which asks too often'
                yield self._error(f"{path}.poll_load", what, f"set it to {MIN_POLL_LOAD:g} to 5 seconds, or to 0 to ask never")
            for number, policy in enumerate(route.policy):
                if policy.name and policy.name.replace("_", "-") not in policies:
                    what = f'route "{route.name}": policy "{policy.name}" is not known'
                    yield self._error(f"{path}.policy[{number}].name", what, f"known: {', '.join(policies)}")

    def _model_names(self) -> Iterator[tuple[str, str]]:
        return ((path, name) for path, name in self._all_model_names() if name)

    def _all_model_names(self) -> Iterator[tuple[str, str]]:
        for index, provider in enumerate(self._settings.providers):
            for number, model in enumerate(provider.models):
                yield f"providers[{index}].models[{number}]", model.name
        for index, local in enumerate(self._settings.models):
            yield f"models[{index}].name", local.name
        if self._settings.embeddings.enabled:
            yield "embeddings.name", self._settings.embeddings.name

    def _referable(self) -> set[str]:
        """Everything that another setting can call a model."""
        return {name for _, name in self._model_names()} | self._known | set(self._settings.aliases) | set(self._addresses())

    def _addresses(self) -> Iterator[str]:
        """``provider/model`` for each model, as the directory knows it."""
        for provider in self._settings.providers:
            yield from (
                f"{provider.name}/{model.upstream or model.name}" for model in provider.models if provider.name and model.name
            )
        yield from (f"{THIS_MACHINE}/{model.name}" for model in self._settings.models if model.name)

    def _twice(self, noun: str, names: list[tuple[str, str]], remedy: str = "give each its own name") -> Iterator[ConfigError]:
        first: dict[str, str] = {}
        for path, name in names:
            other = first.setdefault(name, path)
            if name and other != path:
                if path not in self._places:  # a default: the one that was written is the one to change
                    path, other = other, path  # noqa: PLW2901
                yield self._error(path, f'{noun} "{name}" is there twice: {other} ({self._at(other)}) and {path}', remedy)

    def _place(self, path: str) -> Place:
        """Where a setting was written; where it is a default, its nearest ancestor that was written."""
        while path and path not in self._places:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self._places.get(path, Place())

    def _at(self, path: str) -> str:
        return str(self._place(path)) if path in self._places else "a default"

    def _error(self, path: str, message: str, remedy: str) -> ConfigError:
        return self._place(path).error(message, remedy=remedy, key=path)


def _valid_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _loop_from(start: str, targets: Callable[[str], tuple[str, ...]]) -> list[str]:
    """The names of a circle that begins and ends at ``start``; empty if there is none."""
    stack = [(start, [start])]
    visited: set[str] = set()
    while stack:
        name, path = stack.pop()
        for target in targets(name):
            if target == start:
                return [*path, start]
            if target not in visited:
                visited.add(target)
                stack.append((target, [*path, target]))
    return []
