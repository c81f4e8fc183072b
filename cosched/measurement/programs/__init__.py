"""Programs are watched while they run. Start at `records.py`."""
