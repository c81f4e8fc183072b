"""The portal serves the HTTP API and the pages over the application layer.

Start at `application.py`; API routes are in `routes/`, pages in `pages/`, middleware in `middleware/`.
"""
