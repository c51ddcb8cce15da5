"""Programs that the tests run on a cluster."""

# Exits with 0 when tasks have run on as many nodes as the first argument says.
SPREAD = '''
import socket
import sys
import time

import ray

ray.init(address="auto", logging_level="ERROR")


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def where():
    time.sleep(0.3)
    return socket.gethostname()


wanted, seen, end = int(sys.argv[1]), set(), time.time() + 40
while len(seen) < wanted and time.time() < end:
    seen.update(ray.get([where.remote() for _ in range(2 * wanted)]))
print("hosts", *sorted(seen))
print("words", sys.argv[2:])
sys.exit(0 if len(seen) == wanted else 1)
'''

# How many nodes the GCS on this instance lists as alive; one line, for a shell.
ALIVE = ('import socket; from ray._raylet import GcsClient; '
         'at = socket.gethostbyname(socket.gethostname()) + ":6379"; '
         'nodes = GcsClient(address=at).get_all_node_info().values(); '
         'print(sum(node.state == 0 for node in nodes))')
