"""The way of finished calls to the control plane: gathered, sent in bundles, kept on disk while nobody takes them."""
