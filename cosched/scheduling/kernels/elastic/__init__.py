"""Loans of hosts to elastic tasks in machine code. Start at `loan_kernel`."""
