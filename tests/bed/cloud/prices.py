"""Fixed prices: the Pricing API's products and the spot price history.

A few types have the prices that AWS published for Oregon. The price of the others depends on their
size, so that every type has a price and always the same one. Another region has prices of its own:
m5.large and the volumes gp2 and gp3 cost there what AWS's public price lists say, and the rest as
much more as m5.large.
"""

import json
import time
import zlib

from .paging import page_size, position_of, token_for
from .wire import Refusal, ec2_reply, json_reply

KNOWN = {"t3.micro": 0.0104, "t3.medium": 0.0416, "m5.large": 0.096, "m5.xlarge": 0.192,
         "m5.2xlarge": 0.384, "m6i.large": 0.096, "m6g.large": 0.077, "c5.large": 0.085,
         "c5.xlarge": 0.17, "r5.large": 0.126, "g4dn.xlarge": 0.526, "p3.2xlarge": 3.06,
         "p4d.24xlarge": 32.7726}
VOLUMES = {"gp3": 0.08, "gp2": 0.10, "io2": 0.125, "st1": 0.045, "sc1": 0.015}  # per GB and month
LOCATIONS = {"us-west-2": "US West (Oregon)", "us-east-1": "US East (N. Virginia)",
             "eu-west-1": "EU (Ireland)", "ap-northeast-1": "Asia Pacific (Tokyo)",
             "ap-south-1": "Asia Pacific (Mumbai)", "sa-east-1": "South America (Sao Paulo)"}
M5_LARGE = {"us-west-2": 0.096, "us-east-1": 0.096, "eu-west-1": 0.107, "ap-northeast-1": 0.124,
            "ap-south-1": 0.101, "sa-east-1": 0.153}
ELSEWHERE = 0.107  # of regions that only a moved account has
GP3 = {"us-west-2": 0.08, "us-east-1": 0.08, "eu-west-1": 0.088, "ap-northeast-1": 0.096,
       "ap-south-1": 0.0912, "sa-east-1": 0.152}
PRICING_REGIONS = ("us-east-1", "eu-central-1", "ap-south-1")
HISTORY_HOURS = 24
DOLLARS_PER_VCPU, DOLLARS_PER_GIB, DOLLARS_PER_GPU = 0.0301, 0.0045, 0.35


def on_demand(cloud, kind, region):
    return round(in_oregon(cloud, kind) * M5_LARGE.get(region, ELSEWHERE) / KNOWN["m5.large"], 4)


def in_oregon(cloud, kind):
    if kind in KNOWN:
        return KNOWN[kind]
    facts = cloud.moto.types[kind]
    gpus = sum(g.get("Count", 0) for g in facts.get("GpuInfo", {}).get("Gpus", []))
    return round(facts["VCpuInfo"]["DefaultVCpus"] * DOLLARS_PER_VCPU +
                 facts["MemoryInfo"]["SizeInMiB"] / 1024 * DOLLARS_PER_GIB +
                 gpus * DOLLARS_PER_GPU, 4)


def spot(cloud, kind, zone, hour):
    """Between 28 and 98 percent of the on-demand price, by zone and hour."""
    hour += cloud.tunables.market
    share = 0.28 + zlib.crc32(f"{kind} {zone} {hour}".encode()) % 7000 / 10000
    return round(on_demand(cloud, kind, zone[:-1]) * share, 6)


# ---- the Pricing API ----


def product(cloud, kind, region):
    facts = cloud.moto.types[kind]
    sku = f"BED{zlib.crc32((kind + region).encode()):010d}"
    term = f"{sku}.JRTCKXETXF"
    return json.dumps({
        "product": {"productFamily": "Compute Instance", "sku": sku, "attributes": {
            "instanceType": kind, "regionCode": region, "location": LOCATIONS[region],
            "vcpu": str(facts["VCpuInfo"]["DefaultVCpus"]),
            "memory": f"{facts['MemoryInfo']['SizeInMiB'] / 1024:g} GiB",
            "operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
            "capacitystatus": "Used", "licenseModel": "No License required",
            "servicecode": "AmazonEC2", "marketoption": "OnDemand"}},
        "serviceCode": "AmazonEC2", "version": "20260101000000",
        "publicationDate": "2026-01-01T00:00:00Z",
        "terms": {"OnDemand": {term: {
            "sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": "2026-01-01T00:00:00Z",
            "termAttributes": {}, "priceDimensions": {f"{term}.6YS6EN2CT7": {
                "unit": "Hrs", "beginRange": "0", "endRange": "Inf",
                "rateCode": f"{term}.6YS6EN2CT7", "appliesTo": [],
                "description": f"{kind} Linux, on demand",
                "pricePerUnit": {"USD": f"{on_demand(cloud, kind, region):.10f}"}}}}}}})


def volume(kind, region):
    return round(VOLUMES[kind] * GP3[region] / GP3["us-west-2"], 4)


def volume_product(kind, region):
    sku = f"BED{zlib.crc32((kind + region).encode()):010d}"
    term = f"{sku}.JRTCKXETXF"
    return json.dumps({
        "product": {"productFamily": "Storage", "sku": sku, "attributes": {
            "volumeApiName": kind, "regionCode": region, "location": LOCATIONS[region],
            "servicecode": "AmazonEC2"}},
        "serviceCode": "AmazonEC2", "version": "20260101000000",
        "publicationDate": "2026-01-01T00:00:00Z",
        "terms": {"OnDemand": {term: {
            "sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": "2026-01-01T00:00:00Z",
            "termAttributes": {}, "priceDimensions": {f"{term}.6YS6EN2CT7": {
                "unit": "GB-Mo", "beginRange": "0", "endRange": "Inf",
                "rateCode": f"{term}.6YS6EN2CT7", "appliesTo": [],
                "description": f"{kind} storage",
                "pricePerUnit": {"USD": f"{volume(kind, region):.10f}"}}}}}}})


def volumes_wanted(wanted, regions):
    kinds = [wanted["volumeApiName"]] if "volumeApiName" in wanted else sorted(VOLUMES)
    return json_reply({"FormatVersion": "aws_v1", "PriceList": [
        volume_product(kind, region) for region in regions for kind in kinds if kind in VOLUMES]})


def get_products(cloud, call):
    if call.region not in PRICING_REGIONS:
        raise Refusal("AccessDeniedException", f"There is no Pricing API in {call.region}.")
    asked = call.json()
    if asked.get("ServiceCode") != "AmazonEC2":
        raise Refusal("NotFoundException", "The bed has prices of AmazonEC2 only.")
    wanted = {f["Field"]: f["Value"] for f in asked.get("Filters", [])}
    fixed = {"operatingSystem": "Linux", "tenancy": "Shared", "preInstalledSw": "NA",
             "capacitystatus": "Used", "marketoption": "OnDemand"}
    if any(wanted.get(key, value) != value for key, value in fixed.items()):
        return json_reply({"FormatVersion": "aws_v1", "PriceList": []})
    regions = [r for r, location in LOCATIONS.items() if wanted.get("regionCode", r) == r
               and wanted.get("location", location) == location]
    if wanted.get("productFamily", "Compute Instance") == "Storage":
        return volumes_wanted(wanted, regions)
    kinds = [wanted["instanceType"]] if "instanceType" in wanted else sorted(cloud.moto.types)
    rows = [(kind, region) for region in regions for kind in kinds if kind in cloud.moto.types]
    start, limit = int(asked.get("NextToken") or 0), min(int(asked.get("MaxResults") or 100), 100)
    answer = {"FormatVersion": "aws_v1", "PriceList": [
        product(cloud, *row) for row in rows[start:start + limit]]}
    if start + limit < len(rows):
        answer["NextToken"] = str(start + limit)
    return json_reply(answer)


# ---- spot history ----


def time_of(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone


def spot_history(cloud, call):
    """The newest first; one price per hour, type and zone. With StartTime now: the present
    prices.
    """
    now = time.time()
    start = time_of(call.get("StartTime")) if call.get("StartTime") else now - HISTORY_HOURS * 3600
    end = time_of(call.get("EndTime")) if call.get("EndTime") else now
    filters = {item.get("Name"): [v for k, v in item.items() if k.startswith("Value.")]
               for item in call.items("Filter")}
    kinds = call.list("InstanceType") or filters.get("instance-type") or ["m5.large", "c5.large"]
    zones = [call.get("AvailabilityZone")] if call.get("AvailabilityZone") else \
        filters.get("availability-zone") or \
        sorted({s.availability_zone for s in cloud.moto.subnets(call.region)})
    systems = call.list("ProductDescription") or filters.get("product-description") or \
        ["Linux/UNIX"]
    # Includes the price in force at the start.
    hours = range(int(end // 3600), int(start // 3600) - 1, -1)
    hours = [hour for hour in hours if hour * 3600 > now - HISTORY_HOURS * 3600]
    rows = [(hour, kind, zone) for hour in hours for kind in sorted(kinds) for zone in zones
            if kind in cloud.moto.types and any(s.startswith("Linux") for s in systems)]
    at, limit = position_of(call) or 0, page_size(call, cloud, low=1)
    items = [{"instanceType": kind, "productDescription": "Linux/UNIX", "availabilityZone": zone,
              "spotPrice": f"{spot(cloud, kind, zone, hour):.6f}",
              "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(hour * 3600))}
             for hour, kind, zone in rows[at:at + limit]]
    more = token_for(call, at + limit) if at + limit < len(rows) else ""
    return ec2_reply(call.action, {"spotPriceHistorySet": items, "nextToken": more})
