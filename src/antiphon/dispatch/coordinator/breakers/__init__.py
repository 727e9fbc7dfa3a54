"""The breaker board that workers share: ``service`` keeps it at the coordinator, ``worker_board`` is a worker's view of it."""
