"""What callers of Anthropic's dialect ask for that is no call of a model."""
