"""What is known to be missing."""

NOT_YET = {
    "tools-no-index", "tools-no-index-one-event", "tools-no-index-no-id", "tools-index-restarts", "tools-index-restarts-text",
    "tools-no-id", "usage-with-finish", "usage-with-finish-not-asked", "usage-in-every-event", "usage-twice",
    "usage-with-finish-and-again", "usage-early", "usage-in-choice", "usage-of-groq", "usage-never", "error-string", "error-detail",
    "error-flat",
}  # fmt: skip
"""What our own gateway does not mend, because it passes on the bytes of a server that speaks the caller's dialect."""
