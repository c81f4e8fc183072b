"""Junction detection in one program that stays: cosched gives it other hosts and parameters at each stage.

    python examples/junctions/one_program.py            the lead, on the first host
    python examples/junctions/one_program.py ADDRESS N  worker N on each other host, for the lead at ADDRESS

The lead cuts an image into as many strips as a stage has hosts, does the first itself and hands each worker another.
What it found in one stage it has at hand in the next; a copy is in a file named after COSCHED_CHAIN, for a lead that
takes over where this one was lost. The workers' key lies beside it.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
import time
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path

import numpy as np
from junctions import draw, examine, mark, quality, sample, strongest

import cosched

SIZE, SHAPES = 128, 9
STEPS = {"sample": sample, "mark": mark, "examine": examine}
CHAIN = os.environ.get("COSCHED_CHAIN", "alone")
KEY = Path(f"{CHAIN}.key")


class Team:
    """The workers that are there, by their numbers."""

    def __init__(self) -> None:
        KEY.write_bytes(b"")
        KEY.chmod(0o600)
        KEY.write_bytes(secrets.token_bytes(32))
        self._listener = Listener((socket.gethostname(), 0), authkey=KEY.read_bytes())
        self._wires: dict[int, Connection] = {}
        self._came = threading.Condition()
        threading.Thread(target=self._welcome, daemon=True).start()

    @property
    def address(self) -> str:
        """Where workers find the lead."""
        return "{}:{}".format(*self._listener.address)

    def run(self, workers: list[int], step: str, strips: list[tuple]) -> np.ndarray:
        """Return what a step finds in strips of an image, of which the first is done here and each worker has one."""
        with self._came:
            self._came.wait_for(lambda: self._wires.keys() >= set(workers), timeout=60)
            wires = [self._wires[worker] for worker in workers]
        for wire, strip in zip(wires, strips[1:], strict=True):
            wire.send((step, strip))
        return np.concatenate([STEPS[step](*strips[0]), *[wire.recv() for wire in wires]])

    def _welcome(self) -> None:
        while True:
            wire = self._listener.accept()
            with self._came:
                self._wires[wire.recv()] = wire
                self._came.notify_all()


def lead() -> None:
    """Go through the stages of one image after another."""
    team, found = Team(), {}
    for stage in cosched.stages(team.address):
        begun = time.monotonic()
        picture = draw(SIZE, SHAPES, seed=1 + stage.turn)
        bounds = np.linspace(0, picture.pixels.shape[0], stage.hosts + 1).astype(int)
        strips = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        step, copy = stage.name.split("_")[0], Path(f"{CHAIN}.npy")
        if step != "sample" and not found:
            found = np.load(copy, allow_pickle=True).item()
        granularity, distance = (int(stage.parameters.get(name, 1)) for name in ("granularity", "distance"))
        work = {
            "sample": [(picture.pixels, *strip, granularity) for strip in strips],
            "mark": [(picture.pixels.shape, found.get("sample"), *strip, distance) for strip in strips],
            "examine": [(picture.pixels, found.get("mark", [])[slice(*strip)], strip[0]) for strip in strips],
        }
        found[step] = team.run([each.worker for each in stage.workers], step, work[step])
        np.save(copy, found)
        time.sleep(max(float(stage.parameters.get("lasts", 0)) - (time.monotonic() - begun), 0.0))
        print(f"image {stage.turn}: {stage.name} on {stage.hosts} hosts, granularity {granularity}", flush=True)
        if step == "examine":
            print(f"image {stage.turn}: quality {quality(strongest(found[step]), picture.junctions):.3f}", flush=True)
            found = {}


def work(address: str, number: int) -> None:
    """Do strips for the lead until it is gone."""
    host, _, port = address.rpartition(":")
    with Client((host, int(port)), authkey=KEY.read_bytes()) as wire:
        wire.send(number)
        while True:
            step, strip = wire.recv()
            wire.send(STEPS[step](*strip))


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 1 else lead()
