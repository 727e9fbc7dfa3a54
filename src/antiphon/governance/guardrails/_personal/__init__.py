"""What personal data looks like, one module for each sort. Every detector looks at most ``REACH`` characters to either side."""

from typing import Final

REACH: Final = 128
"""A finding is at most so long, what decides on it lies at most so far before its begin,
and within so many characters from there."""
