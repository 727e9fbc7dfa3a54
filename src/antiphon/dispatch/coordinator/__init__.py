"""What the workers of one machine share, kept by one process of its own: the ledger and the breaker board.

``ledger`` and ``breakers`` decide and talk, without a socket; ``server`` is the coordinator's end, ``link`` a worker's, and
``framing`` what goes between them.
"""
