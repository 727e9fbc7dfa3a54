"""Schedulers of several workers, each kept once: by the coordinator, so that there is one queue and one order."""
