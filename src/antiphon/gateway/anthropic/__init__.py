"""Endpoints that speak Anthropic's dialect."""
