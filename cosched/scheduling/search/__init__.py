"""Searches improve plans for as long as they are given. Start at `genetic_search`."""
