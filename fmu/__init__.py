"""Mechanisms as functional mock-up units (FMI 2.0 and 3.0); holds no physics."""
