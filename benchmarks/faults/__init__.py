"""Real daemons under faults of all kinds: is anything lost, does anything run twice, is anything shown to others?"""
