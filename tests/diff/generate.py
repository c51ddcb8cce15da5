"""Random cluster configurations: about half valid, half broken.

`config_text(seed)` returns the text of one cluster file. The generator aims at valid files with the
tables below. Only Ray decides whether a file is valid, so nothing here needs to be exact.
"""

import random

import gce_machines
from emit import Map, Raw, emit, tree_of

MERGE = Raw("<<")

PROVIDERS = {
    "aws": 30,
    "gcp": 25,
    "local": 15,
    "azure": 10,
    "vsphere": 5,
    "external": 5,
    "spark": 4,
    "readonly": 3,
    "kuberay": 3,
}
WORDS = ["alpha", "beta", "gamma-2", "delta_x", "train", "infer", "pool.a", "big box", "éclair",
         "数据"]
COMMANDS = [
    "echo hello",
    "pip install -U torch==2.3",
    "export PATH=$HOME/bin:$PATH",
    "sudo apt-get update -y && sudo apt-get install -y rsync",
    "test -e ~/ready || touch ~/ready",
    'python -c "print(\'x: y\')"',
    "cat <<EOF > /tmp/a\nline one\n  line two\nEOF",
    "# only a comment",
    "ls -la | grep -v '^d'",
    "true",
    "echo \"über\" > /tmp/ü",
]
EC2_TYPES = ["m5.large", "m5.xlarge", "p3.8xlarge", "g4dn.xlarge", "c5.9xlarge", "trn1.32xlarge",
             "inf2.xlarge", "t3.micro", "p4d.24xlarge", "g6f.large", "r5.metal", "p5.48xlarge",
             "g5g.xlarge", "dl1.24xlarge"]
ACCELERATOR_TYPES = ["v2-8", "v3-32", "v4-8", "v4-16", "v5litepod-4", "v5litepod-16", "v5p-8",
                     "v6e-8", "v6e-256"]
ACCELERATOR_CONFIGS = [("V4", "2x2x1"), ("V4", "2x2x4"), ("V5LITE_POD", "2x4"), ("V6E", "4x4"),
                       ("V5P", "2x2x2"), ("V5P", "4x4x8")]
BAD_ACCELERATORS = ["v4", "v4-", "4-8", "v4-8-2", "tpu7x-16", "V4-8", "v9-4", "", "v4-8\n", "v4-0",
                    8]
COMMAND_KEYS = ["initialization_commands", "setup_commands", "head_setup_commands",
                "worker_setup_commands", "head_start_ray_commands", "worker_start_ray_commands"]


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def maybe(self, chance):
        return self.rng.random() < chance

    def pick(self, choices):
        return self.rng.choice(choices)

    # --- valid configurations

    def valid(self):
        kind = self.rng.choices(list(PROVIDERS), list(PROVIDERS.values()))[0]
        config = Map([["cluster_name", self.name()]])
        config.set("provider", getattr(self, "provider_" + kind)())
        self.add_types(config, kind)
        self.add_common(config, kind)
        if kind in ("external", "kuberay"):
            self.add_required(config, kind)
        self.rng.shuffle(config.pairs)
        return config

    def name(self):
        return self.pick(WORDS) + self.pick(["", "", "1", "-eu", "_x"])

    def provider_aws(self):
        return self.some(
            {"type": "aws", "region": self.pick(["us-west-2", "eu-central-1", "ap-south-1"])},
            {
                "availability_zone": "us-west-2a,us-west-2b",
                "cache_stopped_nodes": self.maybe(0.5),
                "use_internal_ips": self.maybe(0.5),
                "security_group": self.security_group(),
                "cloudwatch": {"agent": {"config": "agent.json", "retryer": {"max_attempts": 3}}},
                "key_pair": {"key_name": "team"},
                "aws_credentials": {"aws_access_key_id": "AK", "aws_secret_access_key": "SK"},
                "disable_launch_config_check": True,
                "tags": {"owner": "us"},
            },
            drop=["region"],
        )

    def security_group(self):
        rule = {"FromPort": 8265, "ToPort": 8265, "IpProtocol": "TCP",
                "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
        return self.some({}, {"GroupName": "sg-" + self.name(), "IpPermissions": [rule]})

    def provider_gcp(self):
        return self.some(
            {"type": "gcp", "region": "us-west1", "availability_zone": "us-west1-a"},
            {
                "project_id": self.pick([None, "my-project"]),
                "use_internal_ips": self.maybe(0.5),
                "gcp_credentials": self.some(
                    {"type": self.pick(["credentials_token", "service_account"])},
                    {"credentials": '{"a": 1}'},
                ),
                "worker_liveness_check": False,
            },
            drop=["region", "availability_zone"],
        )

    def provider_azure(self):
        return self.some(
            {"type": "azure", "location": "westus2", "resource_group": "rg-" + self.name()},
            {
                "subscription_id": "0000-11",
                "msi_identity_id": "/subscriptions/x",
                "msi_identity_principal_id": "p-1",
                "subnet_id": "/subnets/1",
                "tags": {"team": "ml", "n": 1},
                "cache_stopped_nodes": False,
            },
            drop=["location", "resource_group"],
        )

    def provider_vsphere(self):
        return self.some({"type": "vsphere"},
                         {"vsphere_config": {"credentials": {"user": "u"}}, "namespace": "ns"})

    def provider_external(self):
        return self.some({"type": "external", "module": "my_pkg.nodes.Provider"},
                         {"depth": [1, {"a": None}]})

    def provider_spark(self):
        return self.some({"type": "spark"},
                         {"use_node_id_as_ip": True, "disable_node_updaters": True})

    def provider_readonly(self):
        return self.some({"type": "readonly"}, {"use_node_id_as_ip": True})

    def provider_kuberay(self):
        roles = ["autoscaler_service_account", "autoscaler_role", "autoscaler_role_binding"]
        extra = {role: {"metadata": {"name": "auto"}} for role in roles}
        return self.some({"type": "kuberay", "namespace": "ray"}, extra)

    def provider_local(self):
        if self.maybe(0.3):
            return self.some({"type": "local", "coordinator_address": "10.0.0.9:4321"},
                             {"use_internal_ips": True})
        ips = ["10.0.0.%d" % i for i in range(2, 2 + self.rng.randrange(5))]
        return self.some({"type": "local", "head_ip": "10.0.0.1", "worker_ips": ips},
                         {"external_head_ip": "1.2.3.4"})

    def some(self, required, optional, drop=(), chance=0.25):
        """A Map of all required and some optional keys; rarely omits `drop`."""
        keep = {key: value for key, value in required.items() if key not in drop or self.maybe(0.9)}
        keep.update({key: value for key, value in optional.items() if self.maybe(chance)})
        return Map((key, as_tree(value)) for key, value in keep.items())

    # node types

    def add_types(self, config, kind):
        if kind == "local":
            return self.add_local_workers(config)
        if kind not in ("vsphere", "external") and self.maybe(0.2):
            return self.add_workers(config, 0, kind)
        names = self.rng.sample([word for word in WORDS], self.rng.randrange(1, 5))
        types = Map((name, self.node_type(kind)) for name in names)
        if len(names) > 1 and self.maybe(0.15):
            self.share_types(types)
        config.set("available_node_types", types)
        config.set("head_node_type", self.pick(names))
        least = sum(self.min_of(node) for _, node in types.pairs)
        self.add_workers(config, least, kind)

    def min_of(self, node):
        base = node.get("min_workers", None)
        if base is None:
            merged = [value for key, value in node.pairs if key is MERGE]
            base = merged[0].get("min_workers", 0) if merged else 0
        return base

    def share_types(self, types):
        """Two node types, or parts of them, that are the same YAML object."""
        first, second = types.pairs[0], types.pairs[1]
        how = self.rng.randrange(4)
        if how == 0:
            second[1] = first[1]
        elif how == 1 and "resources" in first[1]:
            second[1].set("resources", first[1].get("resources"))
        elif how == 2:
            second[1].set("node_config", first[1].get("node_config"))
        else:
            second[1] = Map([[MERGE, first[1]], ["min_workers", 0]])

    def add_workers(self, config, least, kind):
        fixed = {"vsphere": 5, "spark": 8, "readonly": 0, "external": -1, "kuberay": -1}
        default = fixed.get(kind, 2)
        if least > default or self.maybe(0.4):
            config.set("max_workers", least + self.pick([0, 1, 5, 100]))
        if self.maybe(0.2):
            config.set("min_workers", self.pick([0, 1, 3]))

    def add_local_workers(self, config):
        provider = config.get("provider")
        count = len(provider.get("worker_ips") or [])
        if "coordinator_address" in provider:
            config.set("max_workers", self.rng.randrange(1, 9))
            if self.maybe(0.5):
                config.set("min_workers", self.rng.randrange(0, config.get("max_workers") + 1))
            return
        if self.maybe(0.5):
            most = count + self.pick([-1, 0, 0, 1, 3])
            config.set("max_workers", max(0, most))
            least = self.pick([0, count, count + 2])
            if self.maybe(0.7):
                config.set("min_workers", min(least, config.get("max_workers")))
        elif self.maybe(0.4):
            config.set("min_workers", self.rng.randrange(0, count + 3))

    def node_type(self, kind):
        node = Map()
        node.set("node_config", getattr(self, "node_config_" + kind, self.node_config_other)())
        if self.maybe({"aws": 0.6, "gcp": 0.8}.get(kind, 1)):
            node.set("resources", self.resources())
        optional = {
            "min_workers": self.pick([0, 0, 1, 2]),
            "max_workers": self.pick([0, 1, 2, 10, -1]),
            "idle_timeout_s": self.pick([0, 30, 12.5, -1]),
            "priority": self.pick([0, 5, -3]),
            "labels": {"zone": "a", "ray.io/market": "spot", "": "empty"},
            "initialization_commands": self.commands(),
            "worker_setup_commands": self.commands(),
            "docker": self.node_docker(),
        }
        for key, value in optional.items():
            if self.maybe(0.25):
                node.set(key, as_tree(value))
        self.rng.shuffle(node.pairs)
        return node

    def resources(self):
        names = ["CPU", "GPU", "memory", "object_store_memory", "TPU", "custom",
                 "accelerator_type:T4"]
        chosen = self.rng.sample(names, self.rng.randrange(0, 4))
        return Map((name, self.pick([0, 1, 2, 64, 10**9, 4.0])) for name in chosen)

    def node_docker(self):
        return self.some({},
                         {"pull_before_run": True, "worker_image": "img:2",
                          "worker_run_options": ["--gpus all"]}, chance=0.5)

    def node_config_aws(self):
        config = self.some(
            {"InstanceType": self.pick(EC2_TYPES)},
            {
                "ImageId": "ami-0abc",
                "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.5"}},
                "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 140}}],
                "SubnetIds": ["subnet-1", "subnet-2"],
                "KeyName": "k",
                "UserData": "#!/bin/bash\necho hi\n",
            },
        )
        if self.maybe(0.05):
            config.set("InstanceType", self.pick(["m99.huge", "", None, 5, [], "M5.LARGE"]))
        if self.maybe(0.03):
            config.drop("InstanceType")
        return config

    def node_config_gcp(self):
        roll = self.rng.random()
        if roll < 0.2:
            kind = self.pick(ACCELERATOR_TYPES if self.maybe(0.85) else BAD_ACCELERATORS)
            return tree_of({"acceleratorType": kind, "runtimeVersion": "tpu-vm-base"})
        if roll < 0.35:
            return self.accelerator_config()
        known = list(gce_machines.MACHINES)
        return self.some(
            {"machineType": self.pick(known if self.maybe(0.97) else gce_machines.UNKNOWN)},
            {
                "disks": [{"boot": True, "autoDelete": True, "initializeParams": {
                    "diskSizeGb": self.pick([50, "50"]), "labels": {"team": "ml"}}}],
                "scheduling": self.pick([[{"preemptible": True}],
                                         {"provisioningModel": "SPOT"},
                                         [{"preemptible": True},
                                          {"onHostMaintenance": "TERMINATE"}]]),
                "guestAccelerators": [{"acceleratorType": self.pick(list(gce_machines.GPU_NAMES)),
                                       "acceleratorCount": self.pick([1, 4])}],
                "acceleratorType": "v4-8",
                "labels": {"team": "ml", "env_1": ""},
                "metadata": {"items": [{"key": "install-nvidia-driver", "value": "True"}]},
                "networkInterfaces": [{"subnetwork": "regions/us-west1/subnetworks/default",
                                       "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}],
                "serviceAccounts": [{"email": "a@b.iam.gserviceaccount.com",
                                     "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}],
                "sourceInstanceTemplate": "global/instanceTemplates/worker",
                "tags": {"items": ["ssh"]},
            },
            drop=["machineType"],
        )

    def accelerator_config(self):
        kind, topology = self.pick(ACCELERATOR_CONFIGS)
        config = {"type": kind, "topology": topology}
        if self.maybe(0.15):
            wrong = ["v4", "V2", "2x2", "2x", "0x2", "x", "V4\n", 7, None]
            config[self.pick(["type", "topology"])] = self.pick(wrong)
        return tree_of({"acceleratorConfig": config, "schedulingConfig": {"preemptible": True}})

    def node_config_azure(self):
        priority = self.pick(["Spot", "Regular"])
        machine = {"vmSize": "Standard_D2s_v3", "priority": priority}
        return tree_of({"azure_arm_parameters": machine})

    def node_config_other(self):
        return self.some({}, {"size": 4, "image": "x", "nested": {"a": [1, 2, {"b": None}]}},
                         chance=0.4)

    # everything else

    def add_common(self, config, kind):
        optional = {
            "upscaling_speed": self.pick([1.0, 0, 2, 0.5, 99999]),
            "idle_timeout_minutes": self.pick([5, 0, 1.5, 60]),
            "auth": self.auth(),
            "docker": self.docker(),
            "file_mounts": self.file_mounts(),
            "cluster_synced_files": self.pick([[], ["~/a", "/b"]]),
            "file_mounts_sync_continuously": self.maybe(0.5),
            "rsync_exclude": ["**/.git", "*.o"],
            "rsync_filter": [".gitignore"],
            "metadata": self.metadata(),
            "no_restart": self.pick([True, False, None, "x"]),
        }
        for key in COMMAND_KEYS:
            optional[key] = self.commands()
        for key, value in optional.items():
            if self.maybe(0.22):
                config.set(key, as_tree(value))

    def add_required(self, config, kind):
        needed = {"cluster_synced_files": [], "max_workers": 100}
        if kind == "external":
            needed.update(setup_commands=[], head_setup_commands=[], worker_setup_commands=[])
        for key, value in needed.items():
            if key not in config:
                config.set(key, tree_of(value))

    def commands(self):
        return [self.pick(COMMANDS) for _ in range(self.rng.randrange(0, 4))]

    def auth(self):
        auth = self.some({},
                         {"ssh_user": "ubuntu", "ssh_private_key": "~/.ssh/k.pem",
                          "ssh_public_key": "~/.ssh/k.pub"}, chance=0.5)
        if self.maybe(0.3):
            auth.set("ssh_proxy_command", "nc -x proxy:1080 %h %p")
            if self.maybe(0.5):
                auth.set("ssh_proxy_use_node_id", self.maybe(0.5))
        return auth

    def docker(self):
        if self.maybe(0.3):
            return Map()
        images = self.pick([{"image": "rayproject/ray:2.60.0"},
                            {"head_image": "h:1", "worker_image": "w:1"}])
        optional = {
            "pull_before_run": False,
            "run_options": ["--ulimit nofile=65536:65536", "--shm-size 8g"],
            "head_run_options": ["-p 8265:8265"],
            "worker_run_options": [],
            "disable_automatic_runtime_detection": True,
            "disable_shm_size_detection": False,
            "use_podman": self.maybe(0.5),
        }
        return self.some(dict(images, container_name="ray_box"), optional)

    def file_mounts(self):
        mounts = {"/data/in": "~/in", "~/code": "/does/not/exist", "/etc/x y": "./rel"}
        return self.some({}, mounts, chance=0.5)

    def metadata(self):
        # Never metadata.shoal: that part is Shoal's own, and Ray ignores it.
        values = [
            {"owner": "us", "n": 1, "deep": {"list": [1, 2.5, True, None, "x"]}},
            {"cost": {"center": 7}},
            {},
        ]
        metadata = tree_of(self.pick(values))
        odd = ["0o17", "017", "1:30", "1_000", "2024-05-06", "2024-05-06 07:08:09", ".5", "1e3",
               "1.5e+3", ".inf", "-.INF", ".nan", "0b11", "yes", "'yes'", "2024-05-06T07:08:09.25Z",
               "0x_f", "-0", "-0.0", "12345678901234567890123", "190:20:30.15", "+1", "08",
               "!!str 5", "!!float 3", "1e400", "1.0e+400"]
        for number in range(self.rng.randrange(0, 4)):
            metadata.set("odd%d" % number, Raw(self.pick(odd)))
        if self.maybe(0.05):
            metadata.pairs.append([Raw(self.pick(["1", "2.5", "yes", "~", "0x10", "-.inf"])),
                                   "key is no string"])
        return metadata

    # --- broken (or at least odd) configurations

    def broken(self):
        config = self.valid()
        for _ in range(self.pick([1, 1, 1, 2, 3])):
            self.pick(MUTATIONS)(self, config)
        return config

    def any_map(self, tree):
        """A random Map: often the root, sometimes deep inside."""
        maps = list(all_maps(tree))
        return tree if self.maybe(0.4) else self.pick(maps)

    def delete_key(self, config):
        target = self.any_map(config)
        if target.pairs:
            target.pairs.pop(self.rng.randrange(len(target.pairs)))

    def rename_key(self, config):
        target = self.any_map(config)
        if target.pairs:
            pair = self.pick(target.pairs)
            if isinstance(pair[0], str):
                pair[0] = self.typo(pair[0])

    def typo(self, word):
        place = self.rng.randrange(len(word) + 1)
        return self.pick([
            word[:place] + word[place + 1:],
            word[:place] + "x" + word[place:],
            word.upper(),
            word + "s",
            " " + word,
            word.replace("_", "-"),
        ])

    def odd_value(self):
        values = [None, True, False, 0, 1, 5, -1, 1.0, 2.0, 1.5, -0.0, "", "x", "5", "CPU", [], [1],
                  ["a"], Map(), Map([["a", 1]]), [["CPU", 4]], ["ab"], [[]], Raw(".nan"),
                  Raw(".inf"), Raw("-.inf"), Raw("2024-01-02"), Raw("010"), Raw("1:30"),
                  Raw("!!str 7"), Raw("1e3"), Raw("1.0e+3"), 10**20, Raw("''"), Raw("=")]
        value = self.pick(values)
        if isinstance(value, Map):
            return Map(value.pairs)
        return list(value) if isinstance(value, list) else value

    def replace_value(self, config):
        target = self.any_map(config)
        if target.pairs:
            self.pick(target.pairs)[1] = self.odd_value()

    def replace_item(self, config):
        lists = [item for item in all_lists(config)]
        if lists:
            target = self.pick(lists)
            target.insert(self.rng.randrange(len(target) + 1), self.odd_value())

    def add_unknown(self, config):
        known = ["docker", "resources", "max_workers", "image", "ssh_user", "type",
                 "node_config"] + COMMAND_KEYS
        key = self.pick(known + ["zzz", Raw("5"), Raw("yes"), Raw("~")])
        self.any_map(config).pairs.append([key, self.odd_value()])

    def duplicate_key(self, config):
        target = self.any_map(config)
        if target.pairs:
            key = self.pick(target.pairs)[0]
            target.pairs.append([key, self.odd_value()])

    def nest_wrongly(self, config):
        """Moves one value under another key, or wraps it."""
        target = self.any_map(config)
        if not target.pairs:
            return
        pair = self.pick(target.pairs)
        wrappers = [lambda v: [v], lambda v: Map([[pair[0], v]]), lambda v: Map([["x", v]])]
        pair[1] = self.pick(wrappers)(pair[1])

    def change_provider(self, config):
        provider = config.get("provider")
        if isinstance(provider, Map):
            kinds = list(PROVIDERS) + ["aliyun", "fake_multinode", "AWS", "kubernetes", "", None, 3,
                                       ["aws"]]
            provider.set("type", self.pick(kinds))

    def node_counts(self, config):
        key = self.pick(["min_workers", "max_workers"])
        value = self.pick([0, 1, 3, 50, -1, -5, 1.0, 2.5, True, None, "2", Raw(".inf"),
                           Raw(".nan")])
        nodes = [node for node in type_maps(config)]
        target = self.pick(nodes) if nodes and self.maybe(0.6) else config
        target.set(key, value)

    def head_type(self, config):
        config.set("head_node_type",
                   self.pick(["nope", "", None, 5, ["a"], "alpha", "ray.head.default",
                              "local.cluster.node"]))

    def docker_half(self, config):
        halves = [
            {"image": "a"}, {"container_name": "c"}, {"head_image": "a", "container_name": "c"},
            {"image": "", "container_name": ""}, {"image": None},
            {"image": "a", "container_name": None},
            {"worker_image": "w"}, {"image": "a", "container_name": "c", "head_image": ""},
            {"head_image": "h", "worker_image": "w"}, {"image": 5, "container_name": "c"},
        ]
        config.set("docker", tree_of(self.pick(halves)))

    def mounts(self, config):
        # No names that are too long for the file system: Ray's answer to those depends on its
        # version of Python.
        values = [5, None, True, "", "/etc/hostname", "/", ["a"], Map(), Raw("2024-01-01")]
        config.set("file_mounts", Map([["/a", self.pick(values)], ["/b", "~/b"]]))

    def odd_resources(self, config):
        values = [[], "", [["CPU", 4]], [["CPU", 4], ["GPU", 1]], ["ab"], None, {}, {"CPU": 1.0},
                  {"CPU": 1.5}, {"CPU": -1}, {"CPU": True}, {"CPU": "4"}, {"CPU": None}, 0, 5,
                  [[1, 2]], [["a"]], {"": 1}]
        nodes = [node for node in type_maps(config)]
        if nodes:
            self.pick(nodes).set("resources", tree_of(self.pick(values)))

    def proxy_id(self, config):
        auth = {"ssh_proxy_use_node_id": self.pick([True, False, None, 1])}
        if self.maybe(0.3):
            auth["ssh_proxy_command"] = self.pick(["", "nc", None])
        config.set("auth", tree_of(auth))

    def prepared_local(self, config):
        """A file that Ray has already prepared: used unchanged, or almost."""
        config.set("provider", tree_of({"type": "local", "head_ip": "a", "worker_ips": []}))
        types = {"local.cluster.node": {"node_config": {}, "resources": {}, "min_workers": 0,
                                        "max_workers": 0}}
        if self.maybe(0.3):
            types = self.pick([{}, None, [], "", "local.cluster.node", {"other": {}},
                               ["local.cluster.node"]])
        config.set("available_node_types", tree_of(types))
        config.set("head_node_type", "local.cluster.node")
        for key, value in {"cluster_synced_files": [], "max_workers": 0}.items():
            if self.maybe(0.8):
                config.set(key, tree_of(value))

    def legacy(self, config):
        for change in self.rng.sample(LEGACY_CHANGES, self.pick([1, 1, 2])):
            change(self, config)

    def legacy_speed(self, config):
        if self.maybe(0.5):
            config.set("autoscaling_mode", self.pick(["aggressive", "default", "", None]))
        if self.maybe(0.7):
            fraction = self.pick([0.8, 0.5, 1, 1.0, 0, 0.0001, 0.3, 2, -1, "x", None, True])
            config.set("target_utilization_fraction", fraction)
        if self.maybe(0.4):
            config.set("upscaling_speed", self.pick([0, 2.5, None, 0.0, 1]))
        if self.maybe(0.3):
            config.set("initial_workers", self.pick([0, 4, None, "x"]))

    def legacy_nodes(self, config):
        if self.maybe(0.75):
            config.drop("available_node_types")
            config.drop("head_node_type")
        provider = config.get("provider")
        kind = provider.get("type") if isinstance(provider, Map) else None
        for key in ("head_node", "worker_nodes"):
            if self.maybe(0.85):
                config.set(key, self.legacy_node(kind))
        if self.maybe(0.5):
            config.set("min_workers", self.pick([0, 1, 2]))
        if self.maybe(0.7):
            config.set("max_workers", self.pick([2, 3, 10]))

    def legacy_node(self, kind):
        if self.maybe(0.25):
            return self.pick([None, Map(), Map(), [], "x", 3, ""])
        name = kind if isinstance(kind, str) else "other"
        node = getattr(self, "node_config_" + name, self.node_config_other)()
        if self.maybe(0.4):
            node.set("resources", self.pick([self.resources(), None, Map(), [["CPU", 2]]]))
        return node

    def config(self):
        return self.valid() if self.maybe(0.4) else self.broken()


MUTATIONS = (
    [Generator.replace_value] * 6
    + [Generator.delete_key] * 3
    + [Generator.rename_key] * 2
    + [Generator.legacy] * 3
    + [Generator.node_counts] * 2
    + [
        Generator.replace_item,
        Generator.add_unknown,
        Generator.duplicate_key,
        Generator.nest_wrongly,
        Generator.change_provider,
        Generator.head_type,
        Generator.docker_half,
        Generator.mounts,
        Generator.odd_resources,
        Generator.proxy_id,
        Generator.prepared_local,
    ]
)
LEGACY_CHANGES = [Generator.legacy_speed, Generator.legacy_nodes]


def as_tree(value):
    return value if isinstance(value, Map) else tree_of(value)


def all_maps(tree):
    if isinstance(tree, Map):
        yield tree
        for _, value in tree.pairs:
            yield from all_maps(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from all_maps(item)


def all_lists(tree):
    if isinstance(tree, list):
        yield tree
        for item in tree:
            yield from all_lists(item)
    elif isinstance(tree, Map):
        for _, value in tree.pairs:
            yield from all_lists(value)


def type_maps(config):
    types = config.get("available_node_types")
    if isinstance(types, Map):
        for _, node in types.pairs:
            if isinstance(node, Map):
                yield node


def config_text(seed):
    generator = Generator(seed)
    return emit(generator.config(), generator.rng)
