"""A Ray that is too old for Shoal's autoscaler keeps its own, and `up` says so."""

import driver
import files

# A `ray` that reports an old version, and is otherwise the installed one.
PYTHON = """#!/bin/sh
if [ "$1" = -c ]; then echo ray 2.40.0; echo python 3.11.2; exit; fi
shift
exec "$REAL_RAY" "$@"
"""


def test_an_old_ray_on_the_head(cluster):
    made = cluster(files.quick(
        "old-ray", 1, file_mounts={"/home/ubuntu/old": "./old"},
        head_setup_commands=[
            "echo export REAL_RAY=$(command -v ray) >> ~/.bashrc",
            "printf '#!/home/ubuntu/old/python3\\n' > ~/old/ray; chmod 755 ~/old/*",
            "echo 'export PATH=/home/ubuntu/old:$PATH' >> ~/.bashrc"]))
    made.laptop.file("old/python3", PYTHON)
    done = made.up()
    assert "Ray 2.40.0 on the head is older than 2.52: Ray's own autoscaler manages the workers, " \
        "and token authentication is off" in done.out + done.err, str(done)
    found = driver.in_machine(made.head, "sh", "-c",
                              "tr '\\0' '\\n' < /proc/$(pgrep -o gcs_server)/environ")
    assert "RAY_enable_autoscaler_v2" not in found
    # Shoal does not turn authentication on here; the Ray that claims to be old does so by itself.
    assert driver.in_machine(made.head, "bash", "-lic", "echo =$RAY_AUTH_MODE=").strip() == "=="
    said = made("status").out
    assert "older than 2.52" in said, said
    log = driver.in_machine(made.head, "sh", "-c", "ls /tmp/ray/session_latest/logs")
    assert "monitor.log" in log or "monitor.out" in log, log
