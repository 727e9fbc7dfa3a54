"""Anthropic's dialect."""
