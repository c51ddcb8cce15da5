"""Cluster files for the bed, as users write them. Each is a mapping; JSON is YAML."""

from driver import settings

BASE, RAY = (ami.id for ami in settings.AMIS[:2])
# A Ray that starts quickly on a small instance.
SMALL = "--object-store-memory 80000000 --disable-usage-stats"
NO_DASHBOARD = "--include-dashboard=false"


def node_type(image=RAY, machine="m5.large", count=None, resources=None, **more):
    made = {"node_config": {"InstanceType": machine, "ImageId": image, **more.pop("config", {})},
            "resources": resources if resources is not None else {"CPU": 1}, **more}
    if count is not None:
        made.update(min_workers=count, max_workers=count)
    return made


def start_commands(prefix=""):
    return {
        "head_start_ray_commands": [
            "ray stop", f"{prefix}ray start --head --port=6379 "
            f"--autoscaling-config=~/ray_bootstrap_config.yaml {NO_DASHBOARD} {SMALL}"],
        "worker_start_ray_commands": [
            "ray stop", f"{prefix}ray start --address=$RAY_HEAD_IP:6379 {SMALL}"],
    }


def minimal(name="minimal", workers=2, image=RAY):
    """As Ray's example-minimal.yaml, without setup commands, start commands or keys."""
    return {
        "cluster_name": name, "provider": {"type": "aws", "region": settings.REGION},
        "max_workers": workers,
        "available_node_types": {
            "ray.head.default": node_type(image, resources={}),
            "ray.worker.default": node_type(image, count=workers, resources={})},
        "head_node_type": "ray.head.default"}


def quick(name="quick", workers=2, image=RAY, **more):
    """The smallest file that starts quickly, for tests that are not about start commands."""
    return {
        "cluster_name": name, "max_workers": workers,
        "provider": {"type": "aws", "region": settings.REGION, "cache_stopped_nodes": False},
        "auth": {"ssh_user": "ubuntu"},
        "available_node_types": {"head": node_type(image),
                                 "worker": node_type(image, count=workers)},
        "head_node_type": "head", "setup_commands": [], "head_setup_commands": [],
        **start_commands(), **more}


def full(name="full"):
    """Every setup option that a user can set, and two worker types, one of them spot."""
    say = "echo {} $OMP_NUM_THREADS >> ~/order"
    spot = {"InstanceMarketOptions": {"MarketType": "spot"}}
    return {
        "cluster_name": name, "max_workers": 2, "upscaling_speed": 1.0, "idle_timeout_minutes": 5,
        "provider": {"type": "aws", "region": settings.REGION,
                     "availability_zone": "us-west-2a,us-west-2b", "cache_stopped_nodes": False},
        "auth": {"ssh_user": "ubuntu"},
        "available_node_types": {
            "head": node_type(resources={"CPU": 1}),
            "small": node_type(count=1, resources={"CPU": 1, "small": 1}),
            "large": node_type(count=1, machine="m5.xlarge", config=spot,
                               resources={"CPU": 1, "large": 2},
                               worker_setup_commands=[say.format("large")])},
        "head_node_type": "head",
        "file_mounts": {"/home/ubuntu/app": "./app", "~/one file.txt": "./one file.txt"},
        "cluster_synced_files": [], "file_mounts_sync_continuously": False,
        "rsync_exclude": ["**/.git", "*.tmp"], "rsync_filter": [".gitignore"],
        "initialization_commands": [say.format("init")],
        "setup_commands": [say.format("setup"), "test -f ~/app/main.py",
                           "echo 'export APP_MODE=real' >> ~/.bashrc",
                           "echo 'second line' >> ~/order"],
        "head_setup_commands": [say.format("head")],
        "worker_setup_commands": [say.format("worker"), 'echo "$RAY_HEAD_IP" > ~/head-ip'],
        **start_commands(prefix="ulimit -n 65536; export FROM_FILE='a \"b\"'; ")}


def full_folder(laptop):
    """The files that the cluster file above names."""
    for name, text in {"app/main.py": "print('main')\n", "app/skip.tmp": "x", "app/data.bin": "d",
                       "app/.git/HEAD": "x", "app/deep/er/file": "deep\n",
                       "app/.gitignore": "ignored\n", "app/ignored": "x",
                       "one file.txt": "one\n"}.items():
        laptop.file(name, text)


def of_2019(name="old"):
    """The old format without node types, with keys that Ray has dropped since."""
    machine = {"InstanceType": "m5.large", "ImageId": RAY}
    return {
        "cluster_name": name, "min_workers": 2, "initial_workers": 2, "max_workers": 2,
        "autoscaling_mode": "default", "target_utilization_fraction": 0.8,
        "idle_timeout_minutes": 5,
        "provider": {"type": "aws", "region": settings.REGION,
                     "availability_zone": "us-west-2a,us-west-2b"},
        "auth": {"ssh_user": "ubuntu"}, "head_node": machine, "worker_nodes": machine,
        "file_mounts": {}, "initialization_commands": [],
        "setup_commands": ["echo setup >> ~/order"], "head_setup_commands": [],
        "worker_setup_commands": [], **start_commands(prefix="ulimit -n 65536; ")}


def for_both(made, key_name, key):
    """One file for both launchers, with an explicit key."""
    made["auth"]["ssh_private_key"] = str(key)
    for kind in made["available_node_types"].values():
        kind["node_config"]["KeyName"] = key_name
    # Ray's own monitor can learn the cloud's endpoint in no other way.
    cloud = f"export AWS_ENDPOINT_URL={settings.ENDPOINT} AWS_DEFAULT_REGION={settings.REGION}; "
    made["head_start_ray_commands"][1] = cloud + made["head_start_ray_commands"][1]
    return made


def bench(workers, key_name, key):
    return for_both(quick("bench", workers, setup_commands=["echo setup"]), key_name, key)


def docker_bench(workers, key_name, key):
    return for_both(docker("bench", workers, setup_commands=["echo setup"]), key_name, key)


def scaling(name="scaling", workers=4, idle_minutes=0.02, types=None, **more):
    """A head that runs no tasks, and workers that are launched for demand."""
    made = quick(name, workers, idle_timeout_minutes=idle_minutes, **more)
    made["available_node_types"] = {
        "head": node_type(resources={"CPU": 0}),
        **(types or {"worker": node_type(min_workers=0, max_workers=workers)})}
    return made


# In production, nothing is terminated in the first minute after a start, a node that has just
# joined is not idle for a minute, and a node that refused a drain is asked again after ten seconds.
# Tests of other features do not wait for that.
TIMES = "settle=0,quiet_start=0,drain_retry=1000"


def impatient(config, times=TIMES):
    """Give the head's service the timeouts of the tests."""
    head = config["available_node_types"]["head"]["node_config"]
    head["UserData"] = ("#!/bin/sh\n"
                        f"echo 'export SHOAL_TEST_TIMES={times}' > /etc/profile.d/shoal-test.sh\n")
    return config


DOCKER = next(ami.id for ami in settings.AMIS if ami.image == "docker")
# The image of the containers has no programs; they come from the machine.
PROGRAMS = "-v /usr:/usr:ro"


def docker(name="docker", workers=1, image="bed/ray:1", **more):
    """Ray in containers."""
    section = {"image": image, "container_name": "ray_container", "pull_before_run": False,
               "run_options": [PROGRAMS, "-e 'FROM_OPTION=a b'"]}
    return quick(name, workers, image=DOCKER,
                 **{**more, "docker": {**section, **more.get("docker", {})}})
