"""Resources of Compute Engine's machine types, written independently of src/config/catalog.

Only the types that the generator uses; any other name is unknown here and in the generated files.
"""

GPU_NAMES = {"nvidia-tesla-t4": "T4", "nvidia-h100-80gb": "H100", "nvidia-l4": "L4"}
# name: CPUs, GB, GPUs, name of the GPU
MACHINES = {
    "n1-standard-1": (1, 3.75, 0, ""),
    "n1-standard-4": (4, 15, 0, ""),
    "n1-standard-16": (16, 60, 0, ""),
    "n2-highmem-8": (8, 64, 0, ""),
    "c4-standard-2": (2, 7, 0, ""),
    "e2-medium": (2, 4, 0, ""),
    "a2-highgpu-2g": (24, 170, 2, "A100"),
    "a3-highgpu-8g": (208, 1872, 8, "H100"),
    "g2-standard-24": (24, 96, 2, "L4"),
    "n2-custom-6-20480-ext": (6, 20, 0, ""),
    "zones/us-west1-a/machineTypes/e2-standard-4": (4, 16, 0, ""),
}
UNKNOWN = ["n9-future-8", "ct5lp-hightpu-4t", "N1-STANDARD-4", "", None, 5, ["n1-standard-4"]]


def resources_of(node_config, is_head):
    """{resource: amount}, or None."""
    machine = node_config["machineType"]
    if not isinstance(machine, str) or machine not in MACHINES:
        return None
    cpus, gb, gpus, gpu_name = MACHINES[machine]
    accelerators = node_config.get("guestAccelerators")
    for one in accelerators if isinstance(accelerators, list) else []:
        if is_accelerator(one):
            gpus, gpu_name = one["acceleratorCount"], GPU_NAMES[one["acceleratorType"]]
    found = {"CPU": cpus}
    if not is_head:
        found["memory"] = int(gb * 2**30 * (1 - 0.3))
    if gpus:
        found.update({"GPU": gpus, "accelerator_type:" + gpu_name: 1})
    return found


def is_accelerator(one):
    return isinstance(one, dict) and one.get("acceleratorType") in GPU_NAMES and \
        type(one.get("acceleratorCount")) is int


def fill(config):
    """DELIBERATE DIFFERENCE 3: Ray rejects a node type without resources on gcp; Shoal fills them
    in if it knows the machine types of all such node types."""
    types = config.get("available_node_types")
    if not isinstance(types, dict):
        return
    open_types = [(name, one) for name, one in types.items() if is_open(one)]
    if any(resources_of(one["node_config"], False) is None for _, one in open_types):
        return
    for name, one in open_types:
        if "resources" not in one:  # two names may be one map
            is_head = name == config.get("head_node_type")
            one["resources"] = resources_of(one["node_config"], is_head)


def is_open(one):
    return isinstance(one, dict) and "resources" not in one and \
        isinstance(one.get("node_config"), dict) and "machineType" in one["node_config"]
