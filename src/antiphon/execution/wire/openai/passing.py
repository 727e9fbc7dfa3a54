"""How answers of servers that speak OpenAI's dialect go on as they came."""

from typing import Final

from antiphon.execution.wire.dialect import Passing
from antiphon.execution.wire.openai import typed_events
from antiphon.execution.wire.openai.passthrough import chunks, read_passed
from antiphon.execution.wire.openai.watch import Watch

GENERATION: Final = Passing(read_passed, Watch, decode=chunks)
"""Chat and text completions."""
WHOLE: Final = Passing(read_passed)
"""What is never streamed."""
MEDIA: Final = Passing(typed_events.read_answer, typed_events.TypedWatch, any_type=True)
"""Pictures, speech, and what was heard."""
