"""Systems of FMUs (SSP)."""
