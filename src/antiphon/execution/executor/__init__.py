"""Asks the servers of models, and hands their answers on.

A replica is one model at one provider. Its answer goes on as it came where the server speaks the caller's dialect (``passed``), and
is read and written anew where it does not (``translated``).
"""
