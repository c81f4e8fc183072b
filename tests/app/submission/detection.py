"""A tunable application of the catalogue for the tests of the app: fine and coarse ways of detecting junctions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """
application detect {
    var numeric: images = 1 in (1, 200), hosts = 2 in (1, 8);
    var control: granularity, distance;
    proc tunable main {
        task_loop (images) {
            task sample [30 s] [granularity] [({1}, {2, 4 s}, 1.0), ({16}, {2, 1 s}, 1.0)];
            task_select {
                when (granularity == 1) task mark [60 s] [distance] [({2}, {1, 2 s}, 1.0)];
                when (granularity == 16) task mark [60 s] [distance] [({5}, {1, 2 s}, 1.0)];
            }
            task_select {
                when (granularity == 1) task examine [100 s] [] [({}, {hosts, 10 s}, 1.0)];
                when (granularity == 16) task examine [100 s] [] [({}, {hosts * 2, 6 s}, 0.9)];
            }
        }
    }
}
"""
ENTRY = """
model = "{model}"
command = ["/opt/detect", "{{images}}"]
[parameters.images]
default = 1
[parameters.hosts]
default = 2
[stages.mark]
command = ["/opt/mark", "{{granularity}}", "{{distance}}"]
"""


def add_detection(folder: Path, entry: str = ENTRY, model: str = MODEL) -> None:
    """Write the application into a folder, whose catalogue is in `applications.d`."""
    (folder / "detect.psl").write_text(model)
    (folder / "applications.d").mkdir(exist_ok=True)
    (folder / "applications.d" / "detect.toml").write_text(entry.format(model=folder / "detect.psl"))
