"""What of the operator's environment a child process gets: everything but secrets.

A child is told its settings, keys included, over standard input, so it needs no variable that a secret came from. And others can
see its environment: whoever has its user's rights, and whatever collects crash reports. Everything else is passed on, since engines
and their libraries read variables that nobody here knows (``SSL_CERT_FILE``, ``OPENVINO_*``, ``LD_LIBRARY_PATH``).
"""

from collections.abc import Iterator, Mapping

from antiphon.config import Settings

OWN = "ANTIPHON_"
"""Begins the names of variables that are settings."""
SECRET_WORDS = frozenset(
    (
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "TOKENS",
        "SECRET",
        "SECRETS",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "CREDENTIALS",
    )
)
"""A variable with one of these in its name, between underscores, is taken for a secret."""
POINTERS = frozenset(
    (
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_SHARED_CREDENTIALS_FILE",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
    )
)
"""They say where a secret is and hold none, so they are for those who call out: the library of AWS finds its role by them."""
PROXIES = frozenset(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"))
"""Those with a password are for the processes alone that call out: the workers."""
PLAIN = frozenset(("HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "TZ", "USER"))
"""Passed on whatever they hold."""
MIN_SECRET = 6
"""Characters from which a value of the settings is looked for in the environment: a shorter one is found everywhere."""


def child_environment(role: str, settings: Settings, given: Mapping[str, str], operator: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process of this role: ``given`` by its plan, and over it what of the ``operator``'s is no secret."""
    keys = {row.key.reveal() for row in settings.server.keys}
    secrets = tuple(secret for secret in _provider_secrets(settings) if len(secret) >= MIN_SECRET)
    return {
        **given,
        **{
            name: value
            for name, value in operator.items()
            if name in PLAIN or not (_secret_by_name(name, value, role) or value in keys or _holds(name, value, secrets))
        },
    }


def _provider_secrets(settings: Settings) -> Iterator[str]:
    for row in settings.providers:
        yield row.key.reveal()
        yield from row.headers.values()
        yield row.proxy.rpartition("@")[0].rpartition(":")[2]


def _secret_by_name(name: str, value: str, role: str) -> bool:
    upper = name.upper()
    if upper in PROXIES:
        return "@" in value and role != "worker"
    if upper in POINTERS:
        return role != "worker"
    return upper.startswith(OWN) or not SECRET_WORDS.isdisjoint(upper.split("_"))


def _holds(name: str, value: str, secrets: tuple[str, ...]) -> bool:
    """Whether a value has a secret of the settings in it, or is the main part of one, as the key of a header's value is."""
    if name.upper() in PROXIES:
        return False
    return any(secret in value or (len(value) >= MIN_SECRET and secret.endswith(value)) for secret in secrets)
