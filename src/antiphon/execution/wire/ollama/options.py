"""What Ollama groups under ``options``: those that other dialects have too, and its own, which are kept as ``options.NAME``."""

from typing import Any, Final

import msgspec

from antiphon.execution.wire import reading
from antiphon.execution.wire.reading import NULL
from antiphon.execution.wire.wrong_values import decode_at

PREFIX: Final = "options."
"""What the names of Ollama's own options begin with, among the fields of its dialect alone."""
HINTS: Final = frozenset(
    {
        "draft_num_predict", "embedding_only", "f16_kv", "logits_all", "low_vram", "main_gpu", "mirostat_eta", "mirostat_tau",
        "num_batch", "num_ctx", "num_gpu", "num_keep", "num_thread", "numa", "use_mlock", "use_mmap", "vocab_only",
    }
)  # fmt: skip
"""Those about how a model is loaded; ``num_ctx`` among them, for a server that cannot be told keeps its whole window. Two are
details of ``mirostat``, which is refused itself."""
_NEUTRAL: Final[dict[str, tuple[Any, ...]]] = {
    "mirostat": (0,),
    "penalize_newline": (True,),
    "repeat_last_n": (-1,),
    "tfs_z": (1,),
    "typical_p": (1,),
}
"""Values that ask for nothing; ``null`` always does."""


class Options(msgspec.Struct):
    """Those that other dialects have too."""

    num_predict: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None


_decode = msgspec.json.Decoder(Options).decode


def read_options(told: dict[str, msgspec.Raw] | None) -> Options:
    """Those that other dialects have too. Raises InvalidRequest, naming the option."""
    return decode_at(_decode, msgspec.Raw(reading.encode(told or {})), "options")


def own_options(told: dict[str, msgspec.Raw] | None) -> tuple[dict[str, msgspec.Raw], dict[str, msgspec.Raw]]:
    """Ollama's own under their long names: those that change the answer, and those that do not."""
    own = {
        name: raw for name, raw in (told or {}).items() if name not in Options.__struct_fields__ and not _asks_nothing(name, raw)
    }
    return (
        {PREFIX + name: raw for name, raw in own.items() if name not in HINTS},
        {PREFIX + name: raw for name, raw in own.items() if name in HINTS},
    )


def grouped(own: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Fields of a body: Ollama's ``own``, their options grouped with those that are ``told`` anyway."""
    options = {**told, **{name.removeprefix(PREFIX): raw for name, raw in own.items() if name.startswith(PREFIX)}}
    body = {name: raw for name, raw in own.items() if not name.startswith(PREFIX)}
    return {**body, "options": options} if options else body


def _asks_nothing(name: str, raw: msgspec.Raw) -> bool:
    return raw == NULL or (name in _NEUTRAL and msgspec.json.decode(raw) in _NEUTRAL[name])
