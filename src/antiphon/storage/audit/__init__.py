"""What of the audit trail lies in files: the name of this server's chain, its signing key, and the checkpoints."""
