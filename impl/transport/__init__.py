"""UDP, IP multicast and TCP, and a transport that fails on purpose."""
