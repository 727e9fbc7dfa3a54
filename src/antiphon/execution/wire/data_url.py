"""Data URLs (RFC 2397), in which callers write pictures and files out."""

import re

_BASE64 = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.+-]+=[^;,]*)*;base64,")


def read_data_url(url: str) -> tuple[str, str]:
    """Media type and base64 of a data URL; both empty for any other address."""
    found = _BASE64.match(url)
    return (found[1] or "text/plain", url[found.end() :]) if found else ("", "")
