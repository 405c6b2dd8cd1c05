"""A mechanism that simulates itself in a web page."""
