"""The daemon: configuration, wiring, loops."""
