"""What the runs of other programs tell of one that has not run, or not so: start-up, growth, fall."""
