from __future__ import annotations

import pytest

from cosched.connector.hosts import HostShare


@pytest.mark.parametrize("what", ["memory", "cores", "gpus"])
def test_a_share_is_within_another_that_has_as_much_of_each(what: str) -> None:
    """A share that asked for more cores than there are passed every test: they ask it themselves what is overfilled."""
    share = HostShare(memory=500, cores=2, gpus=1)
    assert share.within(share)
    assert share.within(share + HostShare(**{what: 1}))
    assert not share.within(share - HostShare(**{what: 1}))
    assert not (share + HostShare(**{what: 1})).within(share)
