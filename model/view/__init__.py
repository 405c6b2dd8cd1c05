"""The browser view, films, players, reports and notebooks."""
