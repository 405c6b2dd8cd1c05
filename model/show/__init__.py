"""Pictures, plots and the view in the browser."""
