"""The simulator against a real engine: what its replica model is calibrated with, and how far both agree on the same load."""
