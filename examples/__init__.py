"""The mechanisms that ship with Cutjoint, one description file each."""
