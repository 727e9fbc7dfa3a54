"""Texts that are safe in a spreadsheet."""


def harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula: it gets an apostrophe where it would."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
