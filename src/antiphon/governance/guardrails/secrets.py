"""Secrets: keys and tokens of well-known vendors, private keys, signed tokens, passwords in addresses and assignments.

A vendor's key is known by its prefix. A value behind a name like ``api_key`` is taken for a secret where it looks drawn by lot; one
behind ``password`` where it is more than a placeholder.

Of a longer secret its first ``LONGEST`` characters are found, without which the rest is of no use, so that nobody has to wait for
its end. A private key is known by its first line, and each line of base64 behind it by the line before.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from antiphon.core.guardrail import Finding, Guardrail
from antiphon.governance.guardrails._candidates import settled
from antiphon.governance.guardrails._words import Words

REACH: Final = 128
LONGEST: Final = 120
"""Characters of a secret that are found."""

_VENDORS: Final = (
    ("sk-ant-", r"[A-Za-z0-9_\-]{20,}", "ANTHROPIC_KEY"),
    ("sk-or-v1-", r"[0-9a-f]{32,}", "OPENROUTER_KEY"),
    ("sk-", r"(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_\-]{20,}|[A-Za-z0-9]{20,})", "OPENAI_KEY"),
    ("sess-", r"[A-Za-z0-9]{32,}", "OPENAI_KEY"),
    ("ap-", r"[A-Za-z0-9_\-]{43}", "ANTIPHON_KEY"),
    ("AKIA", r"[A-Z2-7]{16}", "AWS_KEY"),
    ("ASIA", r"[A-Z2-7]{16}", "AWS_KEY"),
    ("ABIA", r"[A-Z2-7]{16}", "AWS_KEY"),
    ("ABSK", r"[A-Za-z0-9+/=]{40,}", "AWS_KEY"),
    ("ghp_", r"[A-Za-z0-9]{36,}", "GITHUB_TOKEN"),
    ("gho_", r"[A-Za-z0-9]{36,}", "GITHUB_TOKEN"),
    ("ghu_", r"[A-Za-z0-9]{36,}", "GITHUB_TOKEN"),
    ("ghs_", r"[A-Za-z0-9]{36,}", "GITHUB_TOKEN"),
    ("ghr_", r"[A-Za-z0-9]{36,}", "GITHUB_TOKEN"),
    ("github_pat_", r"[A-Za-z0-9_]{36,}", "GITHUB_TOKEN"),
    ("glpat-", r"[A-Za-z0-9_\-.]{20,}", "GITLAB_TOKEN"),
    ("gldt-", r"[A-Za-z0-9_\-]{20,}", "GITLAB_TOKEN"),
    ("glrt-", r"[A-Za-z0-9_\-]{20,}", "GITLAB_TOKEN"),
    ("glptt-", r"[A-Za-z0-9_\-]{20,}", "GITLAB_TOKEN"),
    ("xoxb-", r"[A-Za-z0-9\-]{20,}", "SLACK_TOKEN"),
    ("xoxp-", r"[A-Za-z0-9\-]{20,}", "SLACK_TOKEN"),
    ("xoxa-", r"[A-Za-z0-9\-]{20,}", "SLACK_TOKEN"),
    ("xoxr-", r"[A-Za-z0-9\-]{20,}", "SLACK_TOKEN"),
    ("xoxs-", r"[A-Za-z0-9\-]{20,}", "SLACK_TOKEN"),
    ("xoxe.", r"[A-Za-z0-9\-.]{20,}", "SLACK_TOKEN"),
    ("xapp-", r"[A-Za-z0-9\-]{20,}", "SLACK_TOKEN"),
    ("hooks.slack.com/services/", r"[A-Za-z0-9/]{20,}", "SLACK_TOKEN"),
    ("AIza", r"[A-Za-z0-9_\-]{35}", "GOOGLE_KEY"),
    ("ya29.", r"[A-Za-z0-9_\-]{20,}", "GOOGLE_KEY"),
    ("GOCSPX-", r"[A-Za-z0-9_\-]{20,}", "GOOGLE_KEY"),
    ("sk_live_", r"[A-Za-z0-9]{16,}", "STRIPE_KEY"),
    ("sk_test_", r"[A-Za-z0-9]{16,}", "STRIPE_KEY"),
    ("rk_live_", r"[A-Za-z0-9]{16,}", "STRIPE_KEY"),
    ("rk_test_", r"[A-Za-z0-9]{16,}", "STRIPE_KEY"),
    ("whsec_", r"[A-Za-z0-9+/=]{24,}", "STRIPE_KEY"),
    ("AccountKey=", r"[A-Za-z0-9+/]{40,}={0,2}", "AZURE_KEY"),
    ("SharedAccessKey=", r"[A-Za-z0-9+/]{40,}={0,2}", "AZURE_KEY"),
    ("SharedAccessSignature=", r"[^\s\"']{30,}", "AZURE_KEY"),
    ("hf_", r"[A-Za-z0-9]{30,}", "HUGGING_FACE_TOKEN"),
    ("npm_", r"[A-Za-z0-9]{36}", "NPM_TOKEN"),
    ("pypi-AgE", r"[A-Za-z0-9_\-]{40,}", "PYPI_TOKEN"),
    ("dckr_pat_", r"[A-Za-z0-9_\-]{20,}", "DOCKER_TOKEN"),
    ("dop_v1_", r"[a-f0-9]{60,}", "DIGITALOCEAN_TOKEN"),
    ("SG.", r"[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}", "SENDGRID_KEY"),
    ("shpat_", r"[a-fA-F0-9]{32}", "SHOPIFY_TOKEN"),
    ("shpss_", r"[a-fA-F0-9]{32}", "SHOPIFY_TOKEN"),
    ("gsk_", r"[A-Za-z0-9]{40,}", "GROQ_KEY"),
    ("xai-", r"[A-Za-z0-9]{60,}", "XAI_KEY"),
    ("pplx-", r"[A-Za-z0-9]{40,}", "PERPLEXITY_KEY"),
    ("r8_", r"[A-Za-z0-9]{36,}", "REPLICATE_TOKEN"),
    ("nvapi-", r"[A-Za-z0-9_\-]{40,}", "NVIDIA_KEY"),
    ("hvs.", r"[A-Za-z0-9_\-]{24,}", "VAULT_TOKEN"),
    ("lin_api_", r"[A-Za-z0-9]{32,}", "LINEAR_KEY"),
    ("ntn_", r"[A-Za-z0-9]{40,}", "NOTION_KEY"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}", "PRIVATE_KEY"),
    ("LTAI", r"[A-Za-z0-9]{16,24}", "ALIBABA_KEY"),
    ("AKID", r"[A-Za-z0-9]{28,36}", "TENCENT_KEY"),
    ("eyJ", r"[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?", "JWT"),
    ("glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", "GRAFANA_TOKEN"),
    ("sntrys_", r"[A-Za-z0-9+/=_\-]{40,}", "SENTRY_TOKEN"),
)  # fmt: skip
_PATTERNS: Final = tuple((re.compile(pattern), kind) for _, pattern, kind in _VENDORS)
_PREFIXES: Final = (*(prefix for prefix, _, _ in _VENDORS), "://", "-----BEGIN", "-----END")
_NAMES: Final = (
    "password", "passwd", "pwd", "passphrase", "secret", "api_key", "apikey", "api-key", "api key", "access_key",
    "accesskey", "access-key", "access key", "auth_token", "authtoken", "access_token", "accesstoken", "access token",
    "refresh_token", "private_key", "private-key", "secret_key", "secretkey", "secret key", "client_secret", "clientsecret",
    "token", "bearer", "credential", "密码", "口令", "密钥", "令牌", "passcode", "connection_string",
)  # fmt: skip
_PASSWORDS: Final = frozenset(("password", "passwd", "pwd", "passphrase", "密码", "口令", "passcode"))
_ASSIGNED = re.compile(
    r"""[A-Za-z0-9_\-]{0,16}["'`]?\s{0,2}(?:(?::=|=>|[:=：])|(?:is|为|是)(?=[\s:"'`]|[^\x00-\x7f]?[A-Za-z0-9]))\s{0,2}["'`]?"""
)
_BEARER = re.compile(r"\s{1,2}")
_VALUE = re.compile(r"""[^\s"'`<>,;，。；、（）()\[\]{}]+""")
_PLACEHOLDER = re.compile(
    r"your|<|example|change_?me|placeholder|xxx|\*\*|\.\.|os\.|process\.|env\b|config|self\.|get|input|request|\$|%|@|\{"
    r"|(?:my|the|some|none|null|true|false|undefined|test|string|str|int|bool|bytes|required|optional|password|secret|token|key|md5|sha[0-9]*|bcrypt|hash"
    r"|hashed|not|wrong|too|must|incorrect|invalid|expired|correct|an?|in|for|of|always|never|very|stored|sent|set|still|also|at|on|no|n/a)\Z",
    re.IGNORECASE,
)
_WITH_PASSWORD = re.compile(r"[^\s:/@\"'<>]{0,64}:([^\s/@\"'<>]{2,80})@[A-Za-z0-9\[]")
_FIRST_LINE = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/]{60,78}={0,2}(?![A-Za-z0-9+/=])")
_LINE_BEFORE = re.compile(r"(?:PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/]{58})[\s\\rn]{1,4}\Z")
_LAST_LINE = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{1,59}={0,2}(?=[\s\\rn]{1,4}\Z)")
_END_LINE = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY")
_IN_BASE64: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_HEX = re.compile(r"[0-9a-fA-F]+\Z")


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is looked for."""

    assignments: bool = True
    """Also look at what is assigned to names like ``password`` and ``api_key``, beside what vendors' prefixes tell."""
    allow: tuple[str, ...] = ()
    """Texts that are left alone: the key of an example, say."""


class Secrets:
    """The guardrail."""

    reach: int | None = REACH

    def __init__(self, options: Options) -> None:
        self._options = options
        self._prefixes = Words(_PREFIXES)
        self._names = Words(_NAMES)

    def find(self, text: str) -> Sequence[Finding]:
        """Secrets."""
        allow = self._options.allow
        return settled(found for found in self._candidates(text) if not (allow and text[found.begin : found.end] in allow))

    def _candidates(self, text: str) -> Iterator[Finding]:
        for index, begin, end in self._prefixes.find(text):
            if index < len(_PATTERNS):
                yield from _key(text, begin, end, index)
            elif _PREFIXES[index] == "://":
                yield from _password_in_address(text, end)
            else:
                yield from _border(text, begin)
        if max(map(len, text.split()), default=0) >= 60:
            yield from _lines(text)
        if self._options.assignments:
            # Lower case where nothing gets longer by it; other signs than ours do not matter.
            lower = text.lower() if text.isascii() else text.translate(_LOWER)
            for index, _, end in self._names.find(lower):
                yield from _assigned(text, end, _NAMES[index])


_LOWER: Final = {sign: sign + 32 for sign in range(ord("A"), ord("Z") + 1)}


def _is_word(sign: str) -> bool:
    return sign.isascii() and (sign.isalnum() or sign == "_")


def _key(text: str, begin: int, end: int, index: int) -> Iterator[Finding]:
    if begin and (_is_word(text[begin - 1]) or text[begin - 1] == "-"):
        return
    pattern, kind = _PATTERNS[index]
    match = pattern.match(text, end, begin + LONGEST)
    if match and _drawn(text[end : match.end()], 2.5):
        yield Finding(begin, match.end(), kind)


def _password_in_address(text: str, begin: int) -> Iterator[Finding]:
    match = _WITH_PASSWORD.match(text, begin, begin + LONGEST)
    if match and not _PLACEHOLDER.match(match[1]) and match[1] != "...":
        yield Finding(match.start(1), match.end(1), "PASSWORD", 0.9)


def _border(text: str, begin: int) -> Iterator[Finding]:
    """The first line of a private key, or what stands before its last one."""
    first = _FIRST_LINE.match(text, begin, begin + 80)
    if first:
        yield Finding(begin, first.end(), "PRIVATE_KEY")
    elif _END_LINE.match(text, begin, begin + 80):
        last = _LAST_LINE.search(text, max(0, begin - 66), begin)
        if last:
            yield Finding(last.start(), last.end(), "PRIVATE_KEY", 0.95)


def _lines(text: str) -> Iterator[Finding]:
    """Lines of base64 as private keys are written, behind a first line of one or another such line."""
    for line in _BASE64_LINE.finditer(text):
        begin, end = line.span()
        if (
            (not begin or text[begin - 1] not in _IN_BASE64)
            and _LINE_BEFORE.search(text, max(0, begin - 64), begin)
            and _drawn(line[0], 4.0)
        ):
            yield Finding(begin, end, "PRIVATE_KEY", 0.8)


def _assigned(text: str, end: int, name: str) -> Iterator[Finding]:
    match = _BEARER.match(text, end) if name == "bearer" else _ASSIGNED.match(text, end, end + 32)
    if not match:
        return
    value = _VALUE.match(text, match.end(), match.end() + 96)
    if not value:
        return
    said = value[0].rstrip(".!?:：")
    quoted = text[match.end() - 1] in "\"'`"
    if _PLACEHOLDER.match(said) or not _is_secret(said, name in _PASSWORDS, quoted):
        return
    kind = "PASSWORD" if name in _PASSWORDS else "SECRET"
    yield Finding(match.end(), match.end() + len(said), kind, 0.8)


def _is_secret(said: str, password: bool, quoted: bool) -> bool:
    mixed = any(map(str.isdigit, said)) or any(not sign.isalnum() for sign in said)
    if not said.isascii():
        return False
    if password:
        return len(said) >= 4 and (mixed or (quoted and len(said) >= 6)) and not said.endswith("(")
    return len(said) >= 16 and any(map(str.isdigit, said)) and _drawn(said, 3.0)


def _drawn(said: str, bits: float) -> bool:
    """Whether characters look drawn by lot: their entropy in bits for each (Shannon, 1948) is not that of a filler."""
    if _HEX.match(said):
        bits = min(bits, 2.5)
    counts = Counter(said).values()
    entropy = -sum(count / len(said) * math.log2(count / len(said)) for count in counts)
    return entropy >= bits


class _Plugin:
    options = Options
    mode = "mask"
    input = True
    output = True
    microseconds = 70.0

    def make(self, options: Options) -> Guardrail:
        return Secrets(options)


plugin = _Plugin()
