"""What Ollama's callers ask beside calls of models."""
