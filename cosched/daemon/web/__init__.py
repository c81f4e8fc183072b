"""The daemon's HTTP server: sockets, limits of connections, uvicorn on a thread. Start at `server.py`."""
