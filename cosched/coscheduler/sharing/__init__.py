"""Divide a domain between groups and users by shares and decayed usage."""
