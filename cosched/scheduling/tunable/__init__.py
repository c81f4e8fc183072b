"""Tunable tasks: chains of rigid stages with alternatives (MILAN). Start at `tasks`."""
