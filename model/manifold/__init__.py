"""The poses and motions that closed loops allow: rank, charts, lift, assembly, step."""
