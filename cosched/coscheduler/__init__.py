"""The pure core of one domain: events in, changes and decisions out.

Start at `core.py`; `events.py` is what comes in, `changes.py` what goes out, `dispatch.py` where a plan becomes a
dispatch.
"""
