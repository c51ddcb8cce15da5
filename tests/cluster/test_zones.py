"""If a zone has no capacity, the next one is tried, also if the file names no zone."""

import driver
import files
import pytest


def zones(made):
    return [i["Placement"]["AvailabilityZone"] for i in made.machines()]


@pytest.mark.long
def test_another_zone_when_the_first_is_full(cluster):
    made = cluster(files.quick("elsewhere", workers=0))
    made.up()
    first = zones(made)[0]
    made.bed.capacity(0, type="m5.large", zone=first)

    # A worker that is requested later is launched by the head's service.
    kinds = made.config["available_node_types"]
    kinds["worker"].update(min_workers=1, max_workers=1)
    made.rewrite(max_workers=1)
    made.up()
    found = zones(made)
    assert len(found) == 2 and found[0] == first and found[1] != first, found
    driver.wait_for(lambda: made.alive() == 2, 40, 0.2, "a Ray of the right size")
    made.down()

    # Head and worker, launched from the laptop.
    said = made.up()
    found = zones(made)
    assert len(found) == 2 and first not in found, (found, said.err)
    made.down()
    assert made.remains() == {}
