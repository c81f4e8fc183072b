"""Starts and ends of plans in machine code, also on hosts that are shared. Start at `decode_kernel`."""
