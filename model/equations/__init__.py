"""The mechanism's own equations, written once over symbols."""
