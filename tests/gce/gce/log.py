"""A file with a row of JSON per call."""

import json
import time


class Log:
    """cloud.log = Log(path, cloud): `who` is "laptop" or the instance that called."""

    def __init__(self, path, cloud):
        self.cloud = cloud
        self.stream = open(path, "a", buffering=1, encoding="utf-8")  # as long as the cloud

    def __call__(self, call, reply, began):
        found = self.cloud.instance_at(call.source)
        row = {"at": time.time(), "ms": round((time.time() - began) * 1000),
               "who": found.name if found else "laptop",
               "as": call.identity.label if call.identity else "", "service": call.service,
               "action": call.action, "status": reply.status}
        self.stream.write(json.dumps(row) + "\n")


def read(path):
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
