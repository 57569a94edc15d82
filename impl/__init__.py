"""The real protocols: sans-I/O cores and the thin asyncio shell around them.

Applications take what they need from `raincheck`: Channel, the types of messages and views, and
the errors.
"""
