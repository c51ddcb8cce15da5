"""The fixed facts of this cloud: its project, places, machine types and images; and the numbers
that a test may change.
"""

import dataclasses

LOOPBACK = "127.0.0.1"
PROJECT, PROJECT_NUMBER = "shoal-test", "123456789012"
OTHER_PROJECT = "shoal-other"  # empty, and every caller may list it
ADMIN = "user:admin@example.com"
DEFAULT_ACCOUNT = f"{PROJECT_NUMBER}-compute@developer.gserviceaccount.com"
CLOUD_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
CLIENT_ID, CLIENT_SECRET = "shoal-test.apps.googleusercontent.com", "shoal-test-client"
SYSTEM = "system"  # who preempts

ZONES = {"us-central1": ("a", "b", "c", "f"), "europe-west4": ("a", "b", "c")}
SUBNETS = {"us-central1": "198.18.16.0/20", "europe-west4": "198.18.32.0/20"}
PUBLIC = "198.18.136.0/21"
INTERNAL = "198.18.0.0/17"  # all subnets

# name: (vCPUs, MB, (GPU, count), shared)
L4, A100, H100 = "nvidia-l4", "nvidia-tesla-a100", "nvidia-h100-80gb"
MACHINE_TYPES = {
    "e2-micro": (2, 1024, None, True), "e2-small": (2, 2048, None, True),
    "e2-medium": (2, 4096, None, True), "f1-micro": (1, 614, None, True),
    "g2-standard-4": (4, 16384, (L4, 1), False), "g2-standard-8": (8, 32768, (L4, 1), False),
    "g2-standard-24": (24, 98304, (L4, 2), False), "g2-standard-48": (48, 196608, (L4, 4), False),
    "a2-highgpu-1g": (12, 87040, (A100, 1), False),
    "a2-highgpu-2g": (24, 174080, (A100, 2), False),
    "a3-highgpu-8g": (208, 1916928, (H100, 8), False),
}
for _family, _per, _sizes in (("n1-standard", 3840, (1, 2, 4, 8, 16, 32, 64, 96)),
                              ("n1-highmem", 6656, (2, 4, 8, 16, 32, 64, 96)),
                              ("n2-standard", 4096, (2, 4, 8, 16, 32, 48, 64, 80)),
                              ("n2-highcpu", 1024, (2, 4, 8, 16, 32)),
                              ("n2d-standard", 4096, (2, 4, 8, 16, 32)),
                              ("e2-standard", 4096, (2, 4, 8, 16, 32)),
                              ("e2-highmem", 8192, (2, 4, 8, 16)),
                              ("c3-standard", 4096, (4, 8, 22, 44)),
                              ("t2a-standard", 4096, (1, 2, 4, 8))):
    for _size in _sizes:
        MACHINE_TYPES[f"{_family}-{_size}"] = (_size, _size * _per, None, False)
# Families that exist only in some zones.
ONLY_IN = {"a2": ("us-central1-a", "us-central1-c", "us-central1-f"),
           "a3": ("us-central1-a",), "g2": ("us-central1-a", "us-central1-b", "europe-west4-a"),
           "t2a": ("us-central1-a", "us-central1-b", "europe-west4-a")}
ARM = ("t2a",)
GPUS = {"nvidia-tesla-t4": ("us-central1-a", "us-central1-b", "europe-west4-b"),
        "nvidia-tesla-v100": ("us-central1-a", "us-central1-c")}
DISK_TYPES = {"pd-standard": 10, "pd-balanced": 10, "pd-ssd": 10, "hyperdisk-balanced": 4}

# (project, family, name, architecture, GB)
IMAGES = (
    ("ubuntu-os-cloud", "ubuntu-2204-lts-arm64", "ubuntu-2204-jammy-arm64-v20261020", "ARM64", 10),
    ("debian-cloud", "debian-12", "debian-12-bookworm-v20261014", "X86_64", 10),
    ("debian-cloud", "debian-12", "debian-12-bookworm-v20260909", "X86_64", 10),
    ("debian-cloud", "debian-12-arm64", "debian-12-bookworm-arm64-v20261014", "ARM64", 10),
    ("ubuntu-os-cloud", "ubuntu-2204-lts", "ubuntu-2204-jammy-v20261020", "X86_64", 10),
    ("ubuntu-os-cloud", "ubuntu-2404-lts-amd64", "ubuntu-2404-noble-amd64-v20261020", "X86_64", 10),
    ("deeplearning-platform-release", "common-cu129-ubuntu-2204-nvidia-580",
     "common-cu129-ubuntu-2204-nvidia-580-v20260818", "X86_64", 50),
    ("ubuntu-os-accelerator-images", "ubuntu-accelerator-2204-amd64-with-nvidia-580",
     "ubuntu-accelerator-2204-amd64-with-nvidia-580-v20260313", "X86_64", 20),
)
QUOTAS = {"CPUS": 72, "PREEMPTIBLE_CPUS": 500, "INSTANCES": 720, "IN_USE_ADDRESSES": 575,
          "DISKS_TOTAL_GB": 102400, "SSD_TOTAL_GB": 81920, "NVIDIA_L4_GPUS": 8,
          "NVIDIA_T4_GPUS": 8, "NVIDIA_V100_GPUS": 8, "NVIDIA_A100_GPUS": 8,
          "PREEMPTIBLE_NVIDIA_L4_GPUS": 8, "N2_CPUS": 200, "C3_CPUS": 100, "N2D_CPUS": 200,
          "A2_CPUS": 100, "T2A_CPUS": 100}
GLOBAL_QUOTAS = {"GPUS_ALL_REGIONS": 16, "CPUS_ALL_REGIONS": 1000, "FIREWALLS": 100,
                 "INSTANCE_TEMPLATES": 100}
# Requests per minute; Google documents 1500 for the first four.
RATES = {"default": 1500, "read_requests": 1500, "list_requests": 1500,
         "operation_read_requests": 1500, "heavy_weight_read_requests": 750}


@dataclasses.dataclass
class Tunables:
    """What control's verb `set` changes. In seconds, unless noted otherwise."""

    queue: float = 0.0               # an operation's time in state PENDING
    insert: float = 0.1              # from RUNNING operation to running instance
    delete: float = 0.1              # time in state STOPPING before an instance is gone
    stop: float = 0.1                # the same before it is TERMINATED
    change: float = 0.05             # duration of other operations: labels, metadata, firewalls
    late_changes: int = 0            # 1: labels, metadata and tags change when the operation ends
    boot: float = 0.1                # until a running instance has published its host keys; below
                                     # 0: its image has no `google-guest-agent`
    startup: int = 1                 # 0: images do not run the startup-script
    preempt: float = 30.0            # between soft off and hard off
    get_lag: float = 0.0             # until a new instance is found by name; it may be PENDING
    deletes_max: int = 5             # deletes of one instance before 403 rateLimitExceeded
    listing_lag: float = 0.0         # until a new instance is listed
    gone_lag: float = 0.0            # how long a deleted instance is still listed
    account_lag: float = 0.0         # until a new service account can be used
    iam_lag: float = 0.0             # until a new policy is in force
    driver: float = 0.0              # until nvidia-smi works, on images with NVIDIA's driver
    clock: float = 0.0               # how far the cloud's clock is ahead of the caller's
    wait: float = 120.0              # longest `wait` of an operation
    operation_kept: float = 3600.0   # how long a finished operation is kept; Google: 1 h to 14 days
    request_kept: float = 3600.0     # how long a requestId is known; not documented
    request_mismatch: str = "replay"  # requestId with another request: replay, or refuse (400)
    page: int = 500                  # largest page of a listing
    quota_status: int = 0            # 0: QUOTA_EXCEEDED in the operation, else this HTTP status
    quota_whole: int = 0             # 1: bulkInsert beyond the quota creates no instance at all
    rate_status: int = 403           # of exceeded rates; 429 is possible too
    stockout_status: int = 0         # 0: in the operation, else this HTTP status
    policy_status: int = 412         # of a violated policy; 0: CONDITION_NOT_MET in the operation
    stockout_code: str = "ZONE_RESOURCE_POOL_EXHAUSTED"


# Delays for tests of other features: short, but never zero, so that nothing depends on zero.
SHORT = {"queue": 0.05, "get_lag": 0.05, "listing_lag": 0.1, "gone_lag": 0.1, "account_lag": 0.1,
         "iam_lag": 0.2, "late_changes": 1, "delete": 0.3}
# Delays that resemble an ordinary day. Most are guesses: nothing here was measured at Google.
HARSH = {"queue": 1.0, "insert": 8.0, "get_lag": 2.0, "listing_lag": 5.0, "gone_lag": 5.0,
         "account_lag": 8.0, "iam_lag": 8.0, "late_changes": 1, "change": 2.0, "delete": 30.0,
         "stop": 30.0, "boot": 20.0}
