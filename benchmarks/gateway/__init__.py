"""What a call costs on one core, through Antiphon and through its peers."""
