from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cosched.evaluation import Application, Hardware, evaluate
from cosched.evaluation.export.chrome import chrome_trace

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_message_in_the_trace(model: Callable[[str], Application], plain: Hardware) -> None:
    application = model(
        "proc exec init {\n step mpisend { confdev 1, 2, 100; }\n step mpirecv { confdev 1, 2, 100; } }"
    )
    document = chrome_trace(evaluate(application, plain, 2, trace=True), "one message")
    json.dumps(document, allow_nan=False)
    slices = [(e["name"], e["tid"], e["ts"], e["dur"]) for e in document["traceEvents"] if e["ph"] == "X"]
    # TSEND 2 us, COMM 20 us: the message arrives at 22; TRECV 6 us.
    assert slices == [("send", 1, 0.0, 2.0), ("wait", 2, 0.0, 22.0), ("receive", 2, 22.0, 6.0)]
    names = [e["args"]["name"] for e in document["traceEvents"] if e["ph"] == "M"]
    assert names == ["one message", "processor 1", "processor 2"]
    arrows = [(e["ph"], e["id"], e["tid"], e["ts"]) for e in document["traceEvents"] if e.get("cat") == "message"]
    assert arrows == [("s", 1, 1, 0.0), ("f", 1, 2, 22.0)]
