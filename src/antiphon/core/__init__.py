"""The pure core: types, ports, errors and events that every other package may use.

It stands on the standard library and msgspec alone and touches no socket, file or clock.
"""
