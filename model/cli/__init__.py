"""One module for each subcommand of `cutjoint`."""
