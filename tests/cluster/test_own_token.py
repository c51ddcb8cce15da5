"""A cluster file whose start commands set how Ray authenticates: only they know the token."""

import driver
import files
import pytest

OWN = "RAY_AUTH_MODE=token RAY_AUTH_TOKEN=known-to-the-start-commands-only "


@pytest.mark.long
def test_the_service_and_workers_find_their_way(cluster):
    config = files.quick("own-token", workers=1)
    config.update(files.start_commands(OWN))
    made = cluster(config)
    made.up()
    said = made("status").out
    assert "2 nodes joined" in said, said
    driver.wait_for(lambda: all(driver.tag_of(i, "ray-node-status") == "up-to-date"
                                for i in made.machines()), 30)
    made.down()
    assert made.remains() == {}
