"""Models written in the test, and a machine whose costs are easy to work out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.evaluation import Application, Hardware, load, load_hardware

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# A message of x bytes costs the sender 1 + 0.01 x, the network 10 + 0.1 x, the receiver 3 + 0.03 x us up to 100 bytes;
# above that 2 + 0.02 x, 20 + 0.2 x and 4 + 0.04 x. A byte from the cache takes 0.125 us, from memory 0.5.
PLAIN = """
config plain {
    hardware { Tclk = 1 / 2, Desc = "for tests"; }
    mpi {
        DD_TSEND_A = 100, DD_TSEND_B = 1, DD_TSEND_C = 0.01, DD_TSEND_D = 2, DD_TSEND_E = 0.02;
        DD_COMM_A = 100, DD_COMM_B = 10, DD_COMM_C = 0.1, DD_COMM_D = 20, DD_COMM_E = 0.2;
        DD_TRECV_A = 100, DD_TRECV_B = 3, DD_TRECV_C = 0.03, DD_TRECV_D = 4, DD_TRECV_E = 0.04;
    }
    clc { AFDL = Tclk, MFDL = 2 * Tclk, LFOR = 0.25, IFBR = 0.125, CMLL = 1, FCAL = 4; }
    memory { L1_size = 32 B, L1_bandwidth = 8 MB/s, bandwidth = 2 MB/s; }
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Callable[[str], Application]:
    """Load a model given as text; without `application`, the text is the body of one that ends with `init`."""

    def make(text: str) -> Application:
        path = tmp_path / "model.psl"
        path.write_text(text if "application" in text else f"application model {{ {text} }}", encoding="utf-8")
        return load(path)

    return make


@pytest.fixture
def plain(tmp_path: Path) -> Hardware:
    """The machine described above."""
    path = tmp_path / "plain.hmcl"
    path.write_text(PLAIN, encoding="utf-8")
    return load_hardware(path)
