"""Questions about tables: a query over rows, written by the model and run in a sandbox."""
