"""The machine behind an instance: where a container would be started.

`Machines` starts nothing: an instance exists only in the API. A bed with containers replaces it by
a class with the same methods. They are called without the cloud's lock and may take their
time; an exception fails the operation with INTERNAL_ERROR.

    start(instance)     the first boot, or a boot from the disk of a stopped instance; the machine
                        gets instance.address and finds its metadata server by its own address
    stop(instance)      soft off, then hard off; the disk stays
    reset(instance)     hard off and on
    remove(instance)    hard off; the disk goes too
    close()             the cloud is emptied: all machines end

A machine that switches itself off reports this with cloud.instances.stopped_itself(instance). The
containers of tests/bed (cloud.nodes.Nodes) and the namespaces of tests/front (thin.ThinNodes) have
the same steps: _run_container, _halt_container, _start_container, _remove_container.
"""

import base64
import hashlib
import struct


class Machines:
    def __init__(self, cloud):
        self.cloud = cloud

    def start(self, instance):
        """Later, when it has booted, `booted` does what `google-guest-agent` would do."""

    def stop(self, instance):
        pass

    def reset(self, instance):
        pass

    def remove(self, instance):
        pass

    def close(self):
        pass

    def booted(self, instance):
        """What `google-guest-agent` publishes at the first boot: host keys, and that ssh works."""
        key = host_key(instance.value["id"])
        instance.guest.setdefault("hostkeys/ssh-ed25519", key)
        instance.guest["guest-agent/sshable"] = str(int(self.cloud.now()))


def host_key(seed):
    """A well-formed ed25519 public key, without its type."""
    data = hashlib.sha256(seed.encode()).digest()
    parts = (b"ssh-ed25519", data)
    return base64.b64encode(b"".join(struct.pack(">I", len(p)) + p for p in parts)).decode()
