from __future__ import annotations

from pathlib import Path

from benchmarks.readme_rows import KEPT, readme_rows


def test_readme_says_what_was_measured() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    rows = readme_rows(KEPT)
    assert len(rows) > 5
    assert [row for row in rows if row not in readme] == []
