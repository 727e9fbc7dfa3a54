"""Typed settings: one optional YAML file, the environment, and defaults that work."""

from antiphon.config.loading import Loaded, find_file, load, load_with_origins
from antiphon.config.network import listening_tls, proxy_rules, tls_options
from antiphon.config.problems import ConfigErrors
from antiphon.config.route_settings import BreakerSettings, DegradeSettings, PolicySettings, RouteSettings, TierSettings
from antiphon.config.secret import MASK, Secret, decode_hook, encode_hook
from antiphon.config.settings import (
    DEFAULT_MODEL,
    Capabilities,
    EmbeddingSettings,
    KeySettings,
    LocalModelSettings,
    ProviderModel,
    ProviderSettings,
    ResponseSettings,
    ServerSettings,
    Settings,
    decode_settings,
    encode_settings,
    redacted,
)

__all__ = [
    "DEFAULT_MODEL",
    "MASK",
    "BreakerSettings",
    "Capabilities",
    "ConfigErrors",
    "DegradeSettings",
    "EmbeddingSettings",
    "KeySettings",
    "Loaded",
    "LocalModelSettings",
    "PolicySettings",
    "ProviderModel",
    "ProviderSettings",
    "ResponseSettings",
    "RouteSettings",
    "Secret",
    "ServerSettings",
    "Settings",
    "TierSettings",
    "decode_hook",
    "decode_settings",
    "encode_hook",
    "encode_settings",
    "find_file",
    "listening_tls",
    "load",
    "load_with_origins",
    "proxy_rules",
    "redacted",
    "tls_options",
]
