"""The bed's fixed facts: addresses, ports, names, seeds; and the numbers that a test may turn.

SHOAL_BED_HOME   images' wheels, logs and state (default: shoal-bed in the user's cache folder)
"""

import dataclasses
import hashlib
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent.parent
HOME = pathlib.Path(os.environ.get("SHOAL_BED_HOME") or pathlib.Path(
    os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "shoal-bed")
STATE = HOME / "state"
WHEELS = HOME / "wheels"
TRAIN_WHEELS = HOME / "wheels-train"  # not in the index
GCE_WHEELS = HOME / "wheels-gce"      # the same
# Tests and machines that have variables of a test (`Bed.machine_env`) share this folder.
SHARED, SHARED_ON_NODES = STATE / "shared", "/run/shared"

# Everything Docker makes for us carries this label, so that `bed down` finds all of it.
LABEL = "shoal.bed"
NETWORK_NAME = "shoal-bed"
BRIDGE = "bed0"

# Nodes live in the lower half; the laptop and the public addresses in the upper, outside any VPC.
NETWORK = "198.18.0.0/16"
NODES = "198.18.0.0/17"
GATEWAY = "198.18.0.1"
LAPTOP = "198.18.128.1"
PUBLIC = "198.18.136.0/21"

LOOPBACK = "127.0.0.1"
IMDS = "169.254.169.254"
API_PORT, IMDS_PORT, INDEX_PORT, CONTROL_PORT, CALLER_PORT, RELAY_PORT = range(4566, 4572)
# Ports of the gateway that a node may open; all others of the host are closed to it.
TLS_PORT = 443  # of Google's names (tests/gce)
NODE_PORTS = (API_PORT, IMDS_PORT, INDEX_PORT, CALLER_PORT, TLS_PORT)
ENDPOINT = f"http://{GATEWAY}:{API_PORT}"

ACCOUNT = "123456789012"
REGION = "us-west-2"
ADMIN_KEY = "AKIABEDADMIN00000001"
ADMIN_SECRET = "bed/admin/secret/not/a/secret/0000000001"


def code():
    """A hash of the bed's own program, so that a bed of another version is not used by mistake."""
    sources = sorted((HERE / "cloud").glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Subnet:
    region: str
    zone: str
    cidr: str
    public: bool = True
    name: str = ""


CLOSED_REGION = "ap-east-1"  # exists, but the account has not enabled it
VPCS = {"us-west-2": "198.18.0.0/18", "us-east-1": "198.18.64.0/19",
        "eu-west-1": "198.18.96.0/21", "ap-northeast-1": "198.18.104.0/21",
        "ap-south-1": "198.18.112.0/21", "sa-east-1": "198.18.120.0/21"}
MORE_REGIONS = tuple(VPCS)[2:]  # the account has enabled them only with the setting `regions`
# An account is in one partition (`Tunables.partition`); the others have these regions.
OTHER_VPCS = {"us-gov-west-1": "198.18.0.0/18", "cn-north-1": "198.18.0.0/18"}
SUBNET_OWNER = "210987654321"  # with `shared_subnets`


def partition_of(region):
    return {"us-gov": "aws-us-gov", "cn-nor": "aws-cn"}.get(region[:6], "aws")


SUBNETS = (
    Subnet("us-west-2", "us-west-2a", "198.18.16.0/20", name="public-a"),
    Subnet("us-west-2", "us-west-2b", "198.18.32.0/20", name="public-b"),
    Subnet("us-west-2", "us-west-2a", "198.18.48.0/20", public=False, name="private-a"),
    Subnet("us-east-1", "us-east-1a", "198.18.64.0/20", name="public-a"),
    Subnet("us-east-1", "us-east-1b", "198.18.80.0/20", name="public-b"),
    *(Subnet(region, region + "a", VPCS[region], name="public-a") for region in MORE_REGIONS),
    Subnet("us-gov-west-1", "us-gov-west-1a", "198.18.16.0/20", name="public-a"),
    Subnet("cn-north-1", "cn-north-1a", "198.18.16.0/20", name="public-a"),
)


ZONES = {"ap-northeast-1": "acd"}  # AWS gives new accounts no zone b there


def zones(region):
    """The letters of three of its zones."""
    return ZONES.get(region, "abc")


def move(region):
    """Another region instead, for the life of this process: the account has no other. As in a new
    account, each zone has a public subnet.
    """
    global SUBNETS
    cidr = VPCS[REGION]
    old = [subnet for subnet in SUBNETS if subnet.region == REGION]
    SUBNETS = tuple(dataclasses.replace(subnet, region=region, zone=region + letter, public=True,
                                        name=f"public-{letter}")
                    for subnet, letter in zip(old, zones(region)))
    VPCS.clear()
    VPCS[region] = cidr


@dataclasses.dataclass(frozen=True)
class Ami:
    id: str
    image: str
    arch: str
    name: str
    owner: str = "099720109477"
    region: str = ""  # offered only there; otherwise in all zones
    driver: bool = False  # has NVIDIA's driver, as Deep Learning images


# `image` names what the node runs: base has neither Ray nor pip. arm64 machines run the same
# container as x86_64 ones: only the API distinguishes them.
AMIS = (
    Ami("ami-0bed0000000000001", "base", "x86_64", "bed/images/base-amd64-20260101"),
    Ami("ami-0bed0000000000002", "ray", "x86_64", "bed/images/ray-amd64-20260101", driver=True),
    Ami("ami-0bed0000000000003", "systemd", "x86_64", "bed/images/systemd-amd64-20260101"),
    Ami("ami-0bed00000000000a1", "base", "arm64", "bed/images/base-arm64-20260101"),
    Ami("ami-0bed00000000000a2", "ray", "arm64", "bed/images/ray-arm64-20260101", driver=True),
    Ami("ami-0bed0000000000004", "systemd-ray", "x86_64",
        "bed/images/systemd-ray-amd64-20260101"),
    Ami("ami-0bed0000000000005", "train", "x86_64", "bed/images/train-amd64-20260101"),
    Ami("ami-0bed0000000000006", "docker", "x86_64", "bed/images/docker-amd64-20260101"),
    # Ray's default image: still exists in Oregon; in Virginia its publisher has removed it.
    Ami("ami-0a2b85e15b7c0ac34", "base", "x86_64",
        "Deep Learning AMI (Ubuntu 18.04) Version 71.0", "898082745236", "us-west-2"),
)


@dataclasses.dataclass
class Tunables:
    """What `bed set NAME VALUE` changes on a running bed. In seconds, unless noted otherwise."""

    listing_lag: float = 0.5         # until a new instance is listed
    pending: float = 0.0             # minimum time in state pending
    terminating: float = 2.0         # time in state shutting-down
    terminated_kept: float = 3600.0  # how long a terminated instance is still listed
    profile_lag: float = 0.0         # until EC2 knows a new instance profile
    tag_lag: float = 0.0             # until new tags are shown
    version_lag: float = 0.0         # until a new version of a launch template is shown
    iam_lag: float = 0.0             # until a new policy of a role replaces the old one in force
    public_lag: float = 0.0          # until a new instance has a public address
    clock: float = 0.0               # how far the cloud's clock is ahead of the caller's
    role_seconds: float = 21600.0    # lifetime of the credentials of a node
    boot_delay: float = 0.0          # before a node starts to boot
    driver: float = 0.0              # from then until nvidia-smi works, on images with a driver
    page: int = 1000                 # largest page of a listing
    vcpu_quota: int = 256            # running on-demand vCPUs per region
    spot_vcpu_quota: int = 256       # the same for spot
    quota_whole: int = 0             # 1: a launch beyond the quota is refused as a whole
    market: int = 0                  # hours by which the prices of the spot market are ahead
    spot_role: int = 1               # 0: the account has no service-linked role for spot yet
    regions: int = 2                 # enabled in the account: 2 or 6
    scp: str = ""                    # service control policy of the organization, as JSON
    free_plan: int = 0               # 1: only instance types of the free tier
    ebs_key: str = ""                # customer KMS key with which all new volumes are encrypted
    ebs_encrypted: int = 0           # 1: all new volumes are encrypted with AWS's own key
    shared_subnets: int = 0          # 1: the subnets belong to another account
    partition: str = "aws"           # aws-us-gov, aws-cn: the account is there, with its region
    containers: int = 1              # 0: instances exist in the API only
    vpn: int = 0                     # 1: the laptop reaches private addresses
    throttle: int = 0                # 1: request rates limited by token buckets, as EC2 does
    relay_ms: float = 0.0            # one-way delay between laptop and public addresses


# Delays for tests of other features: short, but never zero, so that nothing depends on zero.
SHORT = {"listing_lag": 0.1, "tag_lag": 0.1, "version_lag": 0.05, "iam_lag": 0.2,
         "profile_lag": 0.1, "public_lag": 0.1, "terminating": 0.3}
# Delays of EC2 and IAM on an ordinary day.
HARSH = {"listing_lag": 5.0, "tag_lag": 5.0, "version_lag": 1.0, "iam_lag": 8.0,
         "profile_lag": 8.0, "public_lag": 3.0, "terminating": 30.0}
