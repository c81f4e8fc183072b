"""The chart of the schedule: what of it is looked at, its colours, its rows and its layout."""
