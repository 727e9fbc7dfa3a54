"""Cohere's dialect: embeddings and ranking."""
