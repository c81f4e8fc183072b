"""Hosts that are not ours alone: how busy others keep them, and when programs end there (GHS)."""
