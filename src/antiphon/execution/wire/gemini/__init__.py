"""Google's Gemini API."""
