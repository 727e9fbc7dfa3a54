"""What Antiphon costs, measured beside its peers or a bare baseline in the same run."""
