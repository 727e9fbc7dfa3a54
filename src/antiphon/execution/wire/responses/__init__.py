"""OpenAI's Responses dialect."""
