"""The asyncio shells: a channel, a ring, and what drives them."""
