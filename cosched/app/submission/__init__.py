"""Submission makes tasks of requests and takes them in. Start at `submissions`."""
