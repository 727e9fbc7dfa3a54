"""POST /v1/messages."""

PREFIX = "/v1/messages"
"""Of all paths whose callers speak Anthropic's dialect."""

ROUTES = {PREFIX.encode(): "messages"}
"""Path, and the endpoint that the pipeline runs for it."""
