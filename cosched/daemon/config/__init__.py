"""The daemon's configuration: keys and bounds (sections), sources (layers), merging (configuration)."""
