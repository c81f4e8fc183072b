"""What Slurm says of the cluster: its nodes in `nodes`, the default partition, the switches in `topology`."""
