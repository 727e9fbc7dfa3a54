"""Keeps what must be kept: implements the stores and ledgers whose ports other packages declare."""
