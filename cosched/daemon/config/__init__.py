"""The daemon's configuration: keys, bounds and defaults in `sections`, reading in `loading`."""
