"""Finished calls in a SQL database: SQLite in a file, or PostgreSQL."""
