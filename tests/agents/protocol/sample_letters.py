"""A letter of each kind with every field filled; sample_letters.xml has them as release 0.1 wrote them."""

from __future__ import annotations

import math
from pathlib import Path

from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letters import (
    Accepted,
    Advertisement,
    Body,
    Cancel,
    Commit,
    Decline,
    Fenced,
    Granted,
    Inquiry,
    Letter,
    Noted,
    Offer,
    Refused,
    RemoteTaskState,
    RemoteTaskStatus,
    Report,
    Request,
    Reserve,
    Reserved,
    Start,
    StatusReceipt,
)
from cosched.coscheduler.handovers import (
    DocumentParameter,
    ModelBundle,
    ModelBundleFile,
    NamedText,
    NativeJob,
    TaskDocument,
)

__all__ = ["PUBLISHED", "SAMPLE_LETTERS"]

PUBLISHED = Path(__file__).with_name("sample_letters.xml")

_UUID = "6f1c9f8e-5f0a-4b62-9c35-0a1b7f3f2c11"
_DOCUMENT = TaskDocument(
    "t",
    "sweep3d",
    "ann",
    60.5,
    2,
    16,
    True,
    30.0,
    "/home/ann",
    ("/bin/a", "x y"),
    ("/bin/prepare",),
    (math.inf, 20.25),
    ModelBundle("sweep3d", (ModelBundleFile("sweep3d.psl", "application sweep3d {}"),)),
    (DocumentParameter("n", "3.0", True, 3.0), DocumentParameter("mode", "fast", False)),
    (NamedText("OMP_NUM_THREADS", "4"),),
    NativeJob("slurm", "#!/bin/sh", (NamedText("qos", "high"),)),
)
_CLASSES = (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 2), AvailabilityStep(7.5, 4))),)
_SERVICE = AdvertisedService("a", 1.5, 1, _CLASSES, ("sweep3d", "fft"), True, "condor")
_RUNNING = RemoteTaskStatus(_UUID, 3, RemoteTaskState.COMPLETED, "b", "done", ("h1", "h2"), 4.5, 3.5, 2.5, 1.0, 0)
_BODIES: tuple[Body, ...] = (
    Advertisement((_SERVICE,)),
    Inquiry(),
    Request(_UUID, 1, 3, ("a", "b"), _DOCUMENT),
    Offer(_UUID, 1, 20.5, "b"),
    Decline(_UUID, 1, "no place for it"),
    Reserve(_UUID, 1),
    Reserved(_UUID, 1, 20.5, 10.0),
    Refused(_UUID, 1, "its hosts have gone down"),
    Commit(_UUID, 1, 3, ("a",), TaskDocument("t", "", "ann", 60.0)),
    Accepted(_UUID, 1),
    Start(_UUID, 1, 7),
    Granted(_UUID, 1, 7),
    Fenced(_UUID, 1),
    Cancel(_UUID, 1, "not wanted"),
    Report((_RUNNING, RemoteTaskStatus(_UUID, 4, RemoteTaskState.WAITING, "b"))),
    Noted((StatusReceipt(_UUID, 3, True),)),
)
SAMPLE_LETTERS = tuple(Letter("a", "b", 2, 1, number, body) for number, body in enumerate(_BODIES, start=1))
