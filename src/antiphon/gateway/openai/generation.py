"""POST /v1/chat/completions and /v1/completions."""

ROUTES = {b"/v1/chat/completions": "chat/completions", b"/v1/completions": "completions"}
"""Path, and the endpoint that the pipeline runs for it."""
