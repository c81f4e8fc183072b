"""Long computations run in processes of their own: search, models and advice. Start at `search.py`."""
