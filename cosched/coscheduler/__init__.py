"""The pure core of one domain: events in, changes and decisions out.

Start at `core.py`; `events/` is what comes in, `changes.py` what goes out, `planning/` decides what leaves when,
`places/` what occupies hosts.
"""
