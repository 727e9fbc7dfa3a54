"""What callers may use and what it costs: limits, prices. It decides; whoever calls it keeps accounts and asks models."""
