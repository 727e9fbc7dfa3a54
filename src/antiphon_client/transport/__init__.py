"""How calls reach the server: connections, attempts, streams. Knows no endpoint."""
