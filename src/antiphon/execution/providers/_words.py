"""How a vendor's servers are spoken to who speak OpenAI's dialect, where that is not as OpenAI's own are."""

import re

import msgspec

from antiphon.execution.wire.chat import ReasoningStyle
from antiphon.execution.wire.openai.respelling import Spelling


class Words(msgspec.Struct, frozen=True):
    """What is put otherwise. All but the spelling is about calls that are translated; others go out as they came."""

    spelling: Spelling = Spelling()
    reasoning: ReasoningStyle = ""
    """How its models are told to think. Empty where some of them would refuse to be told."""
    thinkers: re.Pattern[str] | None = None
    """Names of the models that are told; None where all are."""
    reasoning_back: bool = False
    """Takes the thinking of earlier answers back, as ``reasoning_content``."""
    top_k: bool = False
    min_p: bool = False
    repetition_penalty: bool = False
    streams_only: bool = False
    """Is always asked for a stream, since some of its models give their answers in no other way."""


PLAIN = Words()
