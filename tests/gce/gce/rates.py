"""Request rates: so many requests per minute, group and region. A quota is full again at the start
of the next minute of the cloud's clock, not a little at a time.
"""

import collections

from . import settings, store
from .errors import Refusal

METRICS = {"default": ("Queries", "defaultPerMinutePerProject"),
           "read_requests": ("Read requests", "ReadRequestsPerMinutePerProject"),
           "list_requests": ("List requests", "ListRequestsPerMinutePerProject"),
           "operation_read_requests": ("Operation read requests",
                                       "OperationReadRequestsPerMinutePerProject"),
           "heavy_weight_read_requests": ("Heavy-weight read requests",
                                          "HeavyWeightReadRequestsPerMinutePerProject")}


def group_of(method):
    resource, verb = method.action.rsplit(".", 1)
    if verb == "aggregatedList":
        return "heavy_weight_read_requests"
    if resource.endswith("Operations") and verb in ("get", "wait"):
        return "operation_read_requests"
    if verb == "list":
        return "list_requests"
    return "read_requests" if verb.startswith("get") else "default"


class Rates:
    def __init__(self, cloud):
        self.cloud, self.limits = cloud, dict(settings.RATES)
        self.minute, self.used = None, collections.Counter()

    def check(self, call, method):
        """Count a request; refuse it if its quota of this minute is used up."""
        if method.service != "compute":
            return
        minute = int(self.cloud.now() // 60)
        if minute != self.minute:
            self.minute, self.used = minute, collections.Counter()
        group = group_of(method)
        zone = call.vars.get("zone")
        place = call.vars.get("region") or (store.region_of(zone) if zone else "global")
        if self.used[group, place] >= self.limits[group]:
            raise self.refusal(group, place)
        self.used[group, place] += 1

    def refusal(self, group, place):
        name, limit = METRICS[group]
        if place != "global":
            limit += "PerRegion"
        detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                  "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com",
                  "metadata": {"service": "compute.googleapis.com",
                               "consumer": f"projects/{settings.PROJECT_NUMBER}",
                               "quota_metric": f"compute.googleapis.com/{group}",
                               "quota_limit": limit, "quota_location": place,
                               "quota_limit_value": str(self.limits[group])}}
        status = self.cloud.tunables.rate_status
        return Refusal(status, "rateLimitExceeded",
                       f"Quota exceeded for quota metric '{name}' and limit '{name} per minute' of "
                       "service 'compute.googleapis.com' for consumer "
                       f"'project_number:{settings.PROJECT_NUMBER}'.", domain="usageLimits",
                       status="PERMISSION_DENIED" if status == 403 else "RESOURCE_EXHAUSTED",
                       details=[detail])
