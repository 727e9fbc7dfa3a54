"""The composition root: what the processes are, and the only place that builds adapters from the settings."""
