"""Speed of cutjoint beside its peers, measured in one run."""
