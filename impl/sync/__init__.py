"""A ring's locks without asyncio: for applications that are made of threads."""
