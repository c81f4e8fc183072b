"""The main job, end to end: 30 tasks of the seven Warwick kernels with deadlines through a running daemon."""
