"""The real protocols: sans-I/O cores and the thin asyncio shell around them."""
