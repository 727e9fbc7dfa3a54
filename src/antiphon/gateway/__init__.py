"""HTTP in and out: the endpoints that callers see, and the pipeline behind them."""
