"""POST /v1/embeddings."""

ROUTES = {b"/v1/embeddings": "embeddings"}
"""Path, and the endpoint that the pipeline runs for it."""
