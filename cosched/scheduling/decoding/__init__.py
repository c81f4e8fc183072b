"""Decoding turns a plan into a schedule, placing tasks in order. Start at `decoder`."""
