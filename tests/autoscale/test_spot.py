"""A spot interruption notice: the node is drained and a replacement is requested at once."""

import time

import contest
import driver
import files
import fleet
import pytest

COUNT = 3
DRAINED, REPLACED = 5, 6
SPOT = {"InstanceMarketOptions": {"MarketType": "spot"}}


def types():
    return {"spot": files.node_type(min_workers=0, max_workers=COUNT + 1, config=SPOT)}


@pytest.fixture(scope="module")
def spotted(make_fleet):
    config = files.scaling("spot", COUNT + 1, 1, types())
    return make_fleet(files.impatient(config))


def test_a_notice_under_a_running_job(spotted):
    """Three nodes are busy, nothing is pending; one gets a notice two minutes before its end."""
    spotted.agent.tasks("job", COUNT, 16, max_retries=3)
    workers = spotted.wait_workers(COUNT, 60)
    victim = workers[0]["InstanceId"]
    node = next(n["id"] for n in spotted.agent.alive() if n["instance"] == victim)
    began = time.time()
    spotted.bed.notice(victim)
    drained = driver.wait_for(
        lambda: [at for at, who in spotted.drains(began) if who == node], 15, 0.1, "its drain")
    asked = driver.wait_for(lambda: spotted.launches(began), 15, 0.1, "its replacement")
    print(f"drained {drained[0] - began:.2f} s, replacement asked for {asked[0] - began:.2f} s "
          "after the notice")
    assert drained[0] - began <= DRAINED and asked[0] - began <= REPLACED
    rows = spotted.agent.done("job", 100)
    assert len(rows) == COUNT
    driver.wait_for(lambda: spotted.lives()[victim][1], 30, 0.2, "the end of its machine")
    drains = [at for at, who in spotted.drains(began) if who == node]
    assert len(drains) == 1, "the node was drained more than once"
    assert len(spotted.launches(began)) == 1, "more than one replacement"
    spotted.check()


@pytest.mark.long
def test_rays_monitor_hears_nothing(running_bed, tmp_path):
    """The same with Ray's own autoscaler: tasks run until the instance is terminated."""
    rival = contest.Contest(tmp_path)
    rival.prepare()
    make = files.scaling("spot", COUNT + 1, 1, types())
    with rival.ray(lambda key: files.for_both(make, contest.KEY_NAME, key)) as (up, _):
        up()
        rays = fleet.Fleet(contest.Made(rival, "spot"), COUNT + 1)
        rays.agent.tasks("job", 6, 12, max_retries=3)
        victim = rays.wait_workers(COUNT, 120)[0]["InstanceId"]
        began = time.time()
        rays.bed.notice(victim, seconds=20)
        time.sleep(18)
        assert not rays.drains(began) and not rays.launches(began), "it has heard of it"
        rays.agent.done("job", 200)
        took = [at - began for at in rays.launches(began)]
        print(f"with Ray's monitor: no drain; launches {took} s after the notice (machine taken "
              "at 20 s)")
        rays.agent.close()
    running_bed.reset()
