"""The scheduler against simulated replicas, in virtual time."""
