"""Motion over time: integration, events, recorded motions, inverse dynamics, equilibria."""
