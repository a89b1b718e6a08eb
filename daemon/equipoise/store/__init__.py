"""What is kept for good, behind the Store port; no SQL stands anywhere else."""
