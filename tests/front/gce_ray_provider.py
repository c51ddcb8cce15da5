"""Ray's own provider for Google, unmodified, for a test to call: one line of JSON per call
([method, argument, ...]) and per result ({"value": ...} or {"error": type, "text": ...}).
"""

import json
import logging
import sys


def main():
    out, sys.stdout = sys.stdout, sys.stderr
    logging.disable(logging.CRITICAL)
    from ray.autoscaler._private.gcp.node_provider import GCPNodeProvider
    provider = GCPNodeProvider(json.loads(sys.argv[1]), sys.argv[2])
    print("{}", file=out, flush=True)
    for line in sys.stdin:
        method, *words = json.loads(line)
        try:
            result = {"value": getattr(provider, method)(*words)}
        except Exception as error:
            result = {"error": type(error).__name__, "text": str(error)}
        print(json.dumps(result, default=str), file=out, flush=True)


if __name__ == "__main__":
    main()
