"""Measurements that the project publishes; each prints its figures with machine and versions."""
