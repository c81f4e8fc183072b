"""The pure core: events in, decisions out."""
