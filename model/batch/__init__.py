"""Many mechanisms of one kind at once: kernels over lanes, rollouts, sweeps, environments."""
