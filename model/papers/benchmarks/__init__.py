"""The benchmark library's problems."""
