"""What the workers of one machine share, kept by one process of its own: the ledger, the breaker board and the schedulers.

``ledger``, ``breakers`` and ``schedules`` decide and talk, without a socket; ``server`` is the coordinator's end, ``link`` a
worker's, and ``framing`` what goes between them.
"""
