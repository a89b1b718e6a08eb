"""What several rating systems stand on."""
