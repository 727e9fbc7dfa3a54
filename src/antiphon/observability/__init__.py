"""What Antiphon tells of itself: counters, the exposition of metrics, the log of calls."""
