"""The core in virtual time."""
