"""What one request may ask of the encoder, and how much may wait."""

import msgspec


class ComputeLimits(msgspec.Struct, frozen=True):
    """Bounds of requests and of the queue. Beyond them a request is refused; no text is ever cut off in silence."""

    max_texts: int = 2048
    """Texts in one request, as in OpenAI's API."""
    max_text_tokens: int = 8192
    """Tokens of one text, as in OpenAI's API; it bounds the memory of one pass to about 200 MB."""
    max_characters: int = 262_144
    """Characters of one request, all texts together, counted after Unicode normalisation (NFKC)."""
    max_waiting: int = 256
    """Requests that may be waiting or in work."""
    max_waiting_texts: int = 16_384
    """Texts of all those requests."""
    max_waiting_characters: int = 2_097_152
    """Characters of all those requests."""
    turn_tokens: int = 384
    """Tokens after which another request has its turn; the encoder is no faster with bigger batches."""
    deadline: float = 60.0
    """Seconds from a request's arrival to its answer."""
