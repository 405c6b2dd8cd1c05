"""What knows nothing of mechanisms: errors, files, subprocesses, signals, units, thresholds."""
