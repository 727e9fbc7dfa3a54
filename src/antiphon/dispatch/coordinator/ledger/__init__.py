"""The ledger that workers share.

``book`` decides and ``service`` talks at the coordinator, ``journal`` keeps what must survive ``kill -9``, ``client`` is a
worker's.
"""
