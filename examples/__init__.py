"""Descriptions of the mechanisms that come with cutjoint."""
