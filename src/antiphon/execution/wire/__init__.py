"""How backends talk: one module per dialect."""
