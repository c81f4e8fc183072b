"""`cosched serve`: the daemon."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import structlog
import typer

__all__ = ["command"]


def command(
    config: Annotated[
        Path | None, typer.Option(help="Configuration file; see etc/cosched.toml.", show_default=False)
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log one JSON object a line.")] = False,
) -> None:
    """Run the daemon until it is ended with SIGTERM or Ctrl-C.

    Its jobs go on, and it finds them again.
    """
    # Before numpy is loaded: its threads would wait for one another on hosts that compute, to multiply small matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from cosched.daemon.config.loading import read_configuration

    renderer = (
        structlog.processors.JSONRenderer() if log_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG if verbose else logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    configuration = read_configuration(config)
    from cosched.daemon.config.hardware_names import unknown_hardware
    from cosched.daemon.main import Daemon  # takes a second to read: a fault of the configuration is told before

    for line in unknown_hardware(configuration[0]):
        structlog.get_logger("cosched.configuration").warning(line)
    Daemon(*configuration).run()
