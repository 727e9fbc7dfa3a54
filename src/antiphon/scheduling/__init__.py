"""Who runs when, and where: a pure decision core. Events and time come in as arguments, decisions come out.

The gateway drives it in real time, the simulator in virtual time, so what is claimed of a policy can be replayed.
"""
