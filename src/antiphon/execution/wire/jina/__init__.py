"""Jina's dialect: embeddings and ranking."""
