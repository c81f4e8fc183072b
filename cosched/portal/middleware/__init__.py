"""ASGI middleware around every request, outermost last in `application.py`: metering, headers, guard, identity."""
