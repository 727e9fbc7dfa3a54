"""The audit trail without its storage: records, their chain, signed checkpoints, and how all of it is verified."""
