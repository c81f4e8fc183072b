"""Files in and out: problem JSON, tunable queues, ETC matrices, SWF traces."""
