"""Change a dimension, keep the mechanism together; sensitivities (paper 003)."""
