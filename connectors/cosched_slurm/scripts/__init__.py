"""What batch scripts may ask: sbatch's options in `sbatch_options`, needs of each host in `script_needs`."""
