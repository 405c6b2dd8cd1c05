"""Exact linear models of closed-loop mechanisms (paper 004, chapter 4)."""
