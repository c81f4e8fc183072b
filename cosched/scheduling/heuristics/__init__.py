"""Plans without a search, and without compiled code. Start at `moldable_tasks`."""
