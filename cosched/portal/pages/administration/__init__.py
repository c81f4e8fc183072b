"""The administrators' pages: reserved hosts and people, the daemon's health, its configuration, notices."""
