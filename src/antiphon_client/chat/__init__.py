"""Conversations: ``client.chat``."""
