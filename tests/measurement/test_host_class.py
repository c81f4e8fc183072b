from __future__ import annotations

from cosched.measurement.host_class import class_samples, deviations
from cosched.measurement.host_program import HostMeasurement
from cosched.measurement.samples import Samples


def host(name: str, **values: float) -> HostMeasurement:
    samples = Samples({test.replace("_", " "): [value] * 3 for test, value in values.items()})
    return HostMeasurement(name, 2, "cc", "on the host", samples)


def test_a_class_has_the_samples_of_the_host_in_the_middle() -> None:
    hosts = [host("a", operation_x=1, memory_8=9), host("b", operation_x=5), host("c", operation_x=2, memory_8=8)]
    assert class_samples(hosts).values() == {"operation x": 2, "memory 8": 8}


def test_a_host_that_is_off_its_class_is_found_and_more_bytes_are_not_slower() -> None:
    hosts = [
        host("a", operation_x=1, operation_y=2, memory_8=100),
        host("b", operation_x=1.05, operation_y=2, memory_8=100),
        host("c", operation_x=1.5, operation_y=3, memory_8=80),
    ]
    found = {(each.host, each.group): round(each.ratio, 3) for each in deviations(hosts) if each.off}
    assert found == {("c", "operation"): 1.464, ("c", "memory"): 1.25}
