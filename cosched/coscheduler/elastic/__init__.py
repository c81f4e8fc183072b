"""Elastic tasks: a lead with workers that come and go while it runs; start at `elastic_tasks`."""
