"""Voyage's dialect: embeddings and ranking."""
