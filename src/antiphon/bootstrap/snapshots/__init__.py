"""What reaches workers as one immutable file: settings without secrets, and the callers' keys as digests."""
