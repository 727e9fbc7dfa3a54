"""The control plane: metrics, documentation and administration, as an ASGI application."""
