"""Models that run on this machine: where they come from, the local store of their files, and the catalogue of added ones."""
