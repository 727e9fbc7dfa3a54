"""What guardrails find is counted, masked and restored, or ends the call.

``rules`` say what is done, ``texts`` do it to a whole text and ``streams`` to one that comes in pieces.
"""
