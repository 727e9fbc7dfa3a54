"""How surely guardrails find what they look for, how often they raise a false alarm, and how long they take."""
