"""Predict how long an application runs on n hosts: PSL on HMCL, in seconds.

    application = load("sweep3d")
    hardware = load_hardware(application.hardware)
    seconds = profile(application, hardware, range(1, 17), {"it_g": 50})
    sweep = predict("sweep3d", hosts=range(1, 17), parameters={"it_g": [50, 100]}).seconds
    why = explain(application, hardware, range(1, 17))

Models are never executed as Python code; an evaluation is bounded in steps and memory.
"""

from cosched.evaluation.application import Application, ModelParameter, load, parameters
from cosched.evaluation.budget import CountError
from cosched.evaluation.engine import evaluate, profile
from cosched.evaluation.hardware import Hardware, load_hardware
from cosched.evaluation.report.explanation import PredictionExplanation, explain
from cosched.evaluation.report.sweep import Prediction, predict
from cosched.evaluation.report.uncertainty import error
from cosched.evaluation.results import Evaluation, PathPart, ProcessorTime, TraceEvent

__all__ = [
    "Application",
    "CountError",
    "Evaluation",
    "Hardware",
    "ModelParameter",
    "PathPart",
    "Prediction",
    "PredictionExplanation",
    "ProcessorTime",
    "TraceEvent",
    "error",
    "evaluate",
    "explain",
    "load",
    "load_hardware",
    "parameters",
    "predict",
    "profile",
]
