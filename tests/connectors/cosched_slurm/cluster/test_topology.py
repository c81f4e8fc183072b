from __future__ import annotations

from cosched_slurm.cluster.topology import NodeClusters, leaf_switches

TREE = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[01-02]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=node03,gpu1
SwitchName=spine Level=1 LinkSpeed=1 Nodes=node[01-03],gpu1 Switches=leaf[1-2]
"""
ROWS = [{"name": f"node{number:02d}", "features": ["big", "site-delft"][:number]} for number in (1, 2)]


def test_a_node_is_below_its_leaf_switch() -> None:
    assert leaf_switches(TREE) == {"node01": "leaf1", "node02": "leaf1", "node03": "leaf2", "gpu1": "leaf2"}
    assert leaf_switches("slurm_load_topo: no topology\n") == {}


def test_the_topology_is_asked_for_again_only_when_there_are_other_nodes() -> None:
    asked: list[str] = []

    def topology() -> str:
        asked.append("")
        return TREE

    clusters = NodeClusters("switch", topology)
    for _ in range(3):
        assert clusters.of(ROWS)["node01"] == "leaf1"
    assert len(asked) == 1
    clusters.of([*ROWS, {"name": "node03"}])
    assert len(asked) == 2


def test_a_feature_names_the_cluster() -> None:
    def topology() -> str:
        raise AssertionError("it is not by switches")

    assert NodeClusters("site-", topology).of(ROWS) == {"node02": "delft"}
    assert NodeClusters("", topology).of(ROWS) == {}
