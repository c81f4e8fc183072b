"""Check a model before it is evaluated. Start at `files.py`; each rule names its position."""
