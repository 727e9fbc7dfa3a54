"""What the workers of one machine share, kept by one process of its own: the ledger.

``book`` decides and ``service`` talks, without a socket; ``server`` is the coordinator's end, ``client`` with ``link`` a worker's,
and ``journal`` keeps what must survive ``kill -9``.
"""
