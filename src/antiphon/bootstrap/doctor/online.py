"""The providers, asked over the network: whether each takes its key, and what time it has."""

import email.utils
import os
import time
from collections.abc import Iterator

from antiphon.bootstrap.data_plane import provider_options
from antiphon.bootstrap.doctor.asking import Answer, Question, ask_all
from antiphon.bootstrap.doctor.subject import Finding, Subject
from antiphon.config import ProviderSettings
from antiphon.core.errors import AntiphonError
from antiphon.execution.providers import PROVIDERS, ProviderPlugin

SKEW = 60.0
"""Seconds between this machine's clock and a provider's beyond which it is told."""


def providers(subject: Subject) -> Iterator[Finding]:
    """Ask each provider for its models, with its key; of the answer only status and date are looked at."""
    rows = {provider.name: provider for provider in subject.settings.providers}
    if subject.errors:
        yield Finding("providers", "warning", "no provider is asked, because keys are missing", "mend the configuration first")
        return
    if not rows:
        yield Finding("providers", "ok", "there is none to ask")
        return
    skews: list[float] = []
    for name, answer in ask_all({name: _question(row) for name, row in rows.items()}).items():
        if isinstance(answer, AntiphonError):
            remedy = f"check the url of provider {name}, the network and its proxy"
            yield Finding("providers", "error", f"{name}: {answer.message}", remedy)
            continue
        yield _judged(name, answer)
        if (skew := _skew(answer)) is not None:
            skews.append(skew)
    yield from _clock(skews)


def _question(row: ProviderSettings) -> Question:
    options = provider_options(row, os.environ)
    plugin: ProviderPlugin = PROVIDERS.load(row.protocol)
    return Question(options.origin, f"{options.base_path}/{plugin.models_path}", plugin.headers(options), 0, options.route)


def _judged(name: str, answer: Answer) -> Finding:
    status = answer.status
    said = f"{name}: GET /models is answered with status {status}"
    if status == 200:
        return Finding("providers", "ok", said)
    if status in (401, 403):
        return Finding("providers", "error", f"{said}: it does not take the key", f"set the right key of provider {name}")
    if status in (404, 405):
        what = f"{said}: it does not list its models, or its url is not the right one"
        return Finding("providers", "warning", what, f"check that the url of provider {name} ends with its version, such as /v1")
    if status == 429:
        return Finding("providers", "warning", f"{said}: its limit is reached", "wait, or have it raised")
    if status >= 500:
        return Finding("providers", "warning", f"{said}: it has trouble of its own", "wait, and see its status page")
    return Finding("providers", "warning", said, f"check the url of provider {name}")


def _skew(answer: Answer) -> float | None:
    """Seconds that this machine's clock is ahead of the server's; None where the server does not tell."""
    try:
        return time.time() - email.utils.parsedate_to_datetime(answer.header("date")).timestamp()
    except (ValueError, TypeError):
        return None


def _clock(skews: list[float]) -> Iterator[Finding]:
    if not skews:
        return
    skew = sorted(skews)[len(skews) // 2]  # one provider's own clock may be wrong
    if abs(skew) > SKEW:
        what = f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} that of the providers"
        yield Finding("clock", "warning", what, "have it set by NTP (timedatectl set-ntp true), or certificates and logs go wrong")
    else:
        yield Finding("clock", "ok", f"agrees with the providers' within {max(1.0, abs(skew)):.0f} s")
