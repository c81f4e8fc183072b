"""How long an application runs on n hosts: PSL on HMCL, in seconds.

    application = load("sweep3d")
    hardware = load_hardware(application.hardware)
    seconds = profile(application, hardware, range(1, 17), {"it_g": 50})

Models are never executed as Python code; an evaluation is bounded in steps and memory.
"""

from cosched.evaluation.application import Application, Parameter, load, parameters
from cosched.evaluation.engine import error, evaluate, profile
from cosched.evaluation.faults import CountError
from cosched.evaluation.hardware import Hardware, load_hardware
from cosched.evaluation.results import Evaluation, ProcessorTime, TraceEvent

__all__ = [
    "Application",
    "CountError",
    "Evaluation",
    "Hardware",
    "Parameter",
    "ProcessorTime",
    "TraceEvent",
    "error",
    "evaluate",
    "load",
    "load_hardware",
    "parameters",
    "profile",
]
