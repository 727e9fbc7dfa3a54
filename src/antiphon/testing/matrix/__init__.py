"""Every dialect of callers against every protocol of servers, ability by ability, from the caller's bytes to the server's and back.

A caller (``callers``, one file a dialect) says an ``Ask`` in its dialect by hand and reads what it hears; a player (``players``,
one file a protocol) tells what a server was asked and plays an ``Answer``. Neither uses a codec of the data plane. ``abilities``
lists what is asked and answered, ``cells`` tells where a call goes through and where it is refused, ``page`` writes it down.
"""
