"""What scheduling costs, and what it is worth on recorded traffic."""
