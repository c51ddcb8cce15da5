/* test_check.c: each check with examples that it reports and examples that it accepts, on a fake
 * machine. */
#include "config/check/check.h"

#include "fake_host.h"
#include "fixture.h"

#define AWS "cluster_name: x\nprovider: {type: aws, region: us-west-2}\n"
#define TYPES AWS "head_node_type: h\navailable_node_types:\n"
#define HEAD "  h: {node_config: {InstanceType: m5.large}}\n"

static const struct fake_file files[] = {
    {.path = "/home/me/key.pem", .bytes = "k", .mode = 0600},
    {.path = "/home/me/open.pem", .bytes = "k", .mode = 0644},
    {.path = "/home/me/closed.pem", .bytes = "k", .mode = 0000},
    {.path = "/home/me/key.pub", .bytes = "k", .mode = 0644},
    {.path = "/home/me/app", .mode = 0755},
    {.path = "/home/me/private", .mode = 0000},
    {.path = "/dev/disk", .bytes = "", .mode = 0600, .is_special = true},
    {.path = "notes.txt", .bytes = "n", .mode = 0644},
};

#define GCP_PROVIDER "cluster_name: x\nprovider: {type: gcp, project_id: p, region: us-west1, "
#define GCP GCP_PROVIDER "availability_zone: us-west1-a}\n"
#define GCP_TYPES GCP "head_node_type: h\navailable_node_types:\n"
#define GCP_HEAD(config) GCP_TYPES "  h: {resources: {CPU: 1}, node_config: {" config "}}\n"

struct row {
    const char *yaml, *messages;
};

/* Good files may have any finding except an error of prepare: only the checks are tested here. */
static void check_rows(const struct row *rows, size_t count)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct fake_host fake;
    fake_host_init(&fake, files, ARRAY_LEN(files));
    for (size_t i = 0; i < count; i++) {
        const struct value *tree = fixture_prepare(f, rows[i].yaml);
        assert_non_null(tree);
        config_check(tree, &fake.host, &f->diags);
        assert_like(fixture_messages(f), rows[i].messages);
    }
}

static void file_mounts_must_exist(void **state)
{
    static const struct row rows[] = {
        {AWS "file_mounts: {/a: ~/app, /b: notes.txt}\n", ""},
        {AWS "file_mounts: {/a: ~/nope}\n", "3:19 error missing-file: *\"~/nope\"*"},
        {AWS "file_mounts: {/a: ./nope}\n",
         "3:19 error missing-file: *\"./nope\"*(*the current directory*)"},
        {AWS "file_mounts: {/a: 's3://b/c'}\n", "3:19 error missing-file: *(*URL*)"},
        {AWS "file_mounts: {/a: /dev/disk}\n", "3:19 error missing-file: *\"/dev/disk\"*"},
        {AWS "file_mounts: {/a: ~/private}\n", "3:19 error unreadable-file: *\"~/private\"*"},
        {AWS "file_mounts: {/a: notes.txt}\ndocker: {image: i, container_name: c}\n",
         "3:19 warning file-in-docker: *(*directory*)"},
        {AWS "file_mounts: {/a: ~/app}\ndocker: {image: i, container_name: c}\n", ""},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void ssh_keys_must_be_usable(void **state)
{
#define KEYED                                    \
    "head_node_type: h\navailable_node_types:\n" \
    "  h: {node_config: {InstanceType: m5.large, KeyName: k}}\n"
    static const struct row rows[] = {
        {AWS "auth: {ssh_user: u, ssh_private_key: ~/key.pem}\n" KEYED, ""},
        {AWS "auth: {ssh_user: u, ssh_private_key: ~/nope.pem}\n" KEYED,
         "3:38 error missing-file: auth.ssh_private_key*\"~/nope.pem\"*"},
        {AWS "auth: {ssh_user: u, ssh_private_key: ~/open.pem}\n" KEYED,
         "3:38 error open-key: *mode 644*(chmod 600 ~/open.pem)"},
        {AWS "auth: {ssh_user: u, ssh_private_key: ~/closed.pem}\n" KEYED,
         "3:38 error unreadable-file: auth.ssh_private_key*\"~/closed.pem\"*"},
        {AWS "auth: {ssh_user: u, ssh_private_key: ~/app}\n" KEYED,
         "3:38 error missing-file: auth.ssh_private_key*not a file*"},
        {AWS "auth: {ssh_user: u, ssh_public_key: ~/key.pub}\n" KEYED, ""},
        {AWS "auth: {ssh_user: u, ssh_public_key: ~/nope.pub}\n" KEYED,
         "3:37 error missing-file: auth.ssh_public_key*\"~/nope.pub\"*"},
    };
#undef KEYED
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void commands_must_be_safe_to_repeat(void **state)
{
    static const struct row rows[] = {
        {AWS "setup_commands: [git clone https://x/y]\n",
         "3:18 warning not-repeatable: *(*test -e DIRECTORY || git clone*)"},
        {AWS "setup_commands: [cd /tmp && sudo git clone x]\n",
         "3:18 warning not-repeatable: *git clone*"},
        {AWS "setup_commands: [test -e y || git clone x]\n", ""},
        {AWS "setup_commands: ['[ -e y ] && git clone x', 'if x; then git clone x; fi']\n", ""},
        {AWS "setup_commands: [git clone x || true, echo git clone x]\n", ""},
        {AWS "head_setup_commands: [mkdir /data]\n", "3:23 warning not-repeatable: *(*mkdir -p*)"},
        {AWS "worker_setup_commands: [mkdir -p /data]\n", ""},
        {AWS "setup_commands: [ln -s a b]\n", "3:18 warning not-repeatable: *(*ln -sfn*)"},
        {AWS "setup_commands: [ln -sfn a b]\n", ""},
        {AWS "setup_commands: [useradd me]\n", "3:18 warning not-repeatable: *(*id NAME*)"},
        {TYPES HEAD
         "  w: {node_config: {InstanceType: m5.large}, worker_setup_commands: [mkdir a]}\n",
         "6:70 warning not-repeatable: *(*mkdir -p*)"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void ray_must_be_started_with_its_autoscaler(void **state)
{
    static const struct row rows[] = {
        {AWS "head_start_ray_commands: [ray stop, ray start --head --autoscaling-config=~/x]\n",
         ""},
        {AWS "head_start_ray_commands: [ray stop]\n",
         "3:1 warning no-ray-start: *(*ray start --head*)"},
        {AWS "head_start_ray_commands: [ray start --head]\n",
         "3:1 warning no-autoscaling: *(*--autoscaling-config=*)"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void names_must_be_usable(void **state)
{
    static const struct row rows[] = {
        {"cluster_name: a-B_9.x\nprovider: {type: aws, region: us-west-2}\n", ""},
        {"provider: {type: aws, region: us-west-2}\n",
         "1:1 error missing-key: *\"cluster_name\"*(*cluster_name: demo)"},
        {"cluster_name: a/b\nprovider: {type: aws, region: us-west-2}\n",
         "1:15 warning cluster-name: *\"/\"*(*letters*)"},
        {AWS "metadata: {since: 2026-11-15}\n",
         "3:19 warning date: *a date*`ray up`*(put it in quotes)"},
        {AWS "metadata: {since: ['2026-11-15']}\n", ""},
        {AWS "metadata: {x: [{y: !!binary YQ==}]}\n", "3:20 warning date: *binary data*"},
        {AWS "file_mounts_sync_continuously: true\n", ""},
        {AWS "metadata: {shoal: {metrics_address: 0.0.0.0}}\n", ""},
        {AWS "metadata: {shoal: {metrics_address: '::1'}}\n", ""},
        {AWS "metadata: {shoal: {metrics_address: none}}\n", ""},
        {AWS "metadata: {shoal: {metrics_address: head}}\n",
         "3:37 error metrics-address: \"head\" is not an IP address (*127.0.0.1*none)"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void counts_must_be_reachable(void **state)
{
    static const struct row rows[] = {
        {TYPES HEAD
         "  w: {node_config: {InstanceType: m5.large}, min_workers: 1, max_workers: 2}\n",
         ""},
        {TYPES HEAD
         "  w: {node_config: {InstanceType: m5.large}, min_workers: 2, max_workers: 1}\n",
         "6:59 warning max-workers: node type w*min_workers 2*max_workers 1*"},
        {TYPES HEAD "  w: {node_config: {InstanceType: m5.large}, max_workers: 9}\n",
         "6:59 warning max-workers: node type w*9*max_workers*2*"},
        {TYPES HEAD "  w: {node_config: {InstanceType: m5.large}, max_workers: 0}\n",
         "6:3 warning max-workers: node type w*never*"},
        {AWS "max_workers: 0\n", ""}, /* the user did not write the default worker type */
        {GCP "head_node_type: h\navailable_node_types:\n"
             "  h: {node_config: {machineType: m}, resources: {CPU: 0}}\n"
             "  w: {node_config: {machineType: m}, resources: {CPU: 0}}\n",
         "6:55 warning no-resources: node type w*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void providers_need_their_place(void **state)
{
    static const struct row rows[] = {
        {"cluster_name: x\nprovider: {type: aws}\n",
         "2:1 error missing-key: provider.region*aws*(*region: us-west-2)"},
        {GCP, ""},
        {"cluster_name: x\nprovider: {type: gcp, project_id: }\n",
         "2:1 error missing-key: provider.project_id*\n"
         "2:1 error missing-key: provider.region*\n"
         "2:1 error missing-key: provider.availability_zone*"},
        {GCP "auth: {ssh_proxy_command: 'gcloud compute start-iap-tunnel %h %p'}\n",
         "3:27 warning bad-value: *needs the name of the instance*(*use_node_id: true)"},
        {GCP "auth: {ssh_proxy_command: 'gcloud compute start-iap-tunnel %h %p', "
             "ssh_proxy_use_node_id: true}\n",
         ""},
        {GCP "auth: {ssh_proxy_command: 'gcloud compute start-iap-tunnel %h %p --region r'}\n", ""},
        {"cluster_name: x\nprovider: {type: azure, location: l, resource_group: g}\n", ""},
        {"cluster_name: x\nprovider: {type: azure, location: l}\n",
         "2:1 error missing-key: provider.resource_group*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void google_has_these_fields(void **state)
{
    static const struct row rows[] = {
        {GCP, ""},
        {GCP_HEAD("machineType: n2-standard-8, canIpForward: true, description: null"), ""},
        {GCP_HEAD("machineTyp: n2-standard-8"),
         "5:3 error missing-key: node type h*machineType*\n"
         "5:42 error unknown-parameter: Compute Engine has no*\"machineTyp\" (*\"machineType\"?)"},
        {GCP_HEAD("machineType: n2-standard-8, favouriteColour: red"),
         "5:70 warning unknown-parameter: \"favouriteColour\" is not a Compute Engine*"},
        {GCP_HEAD("machineType: n2-standard-8, canIpForward: 1"),
         "5:84 error wrong-type: Compute Engine expects true or false for canIpForward, not *"},
        {GCP_HEAD("machineType: n2-standard-8, disks: {boot: true}"),
         "5:77 error wrong-type: *a list for disks*"},
        {GCP_HEAD("machineType: n2-standard-8, disks: [x]"),
         "5:78 error wrong-type: *a map for each item of disks*"},
        {GCP_HEAD("machineType: n2-standard-8, disks: [{diskSizeGb: '50', boot: true}]"), ""},
        {GCP_HEAD("machineType: n2-standard-8, disks: [{diskSizeGb: many}]"),
         "5:91 error wrong-type: *a whole number for disks[].diskSizeGb, not text*"},
        {GCP_HEAD("machineType: n2-standard-8, disks: [{initializeParams: {diskSizeGB: 5}}]"),
         "5:98 error unknown-parameter: *\"diskSizeGB\" in disks[].initializeParams "
         "(*\"diskSizeGb\"?)"},
        {GCP_HEAD("machineType: n2-standard-8, serviceAccounts: [{email: e, scopes: [a, b]}]"), ""},
        /* What only Google sets is ignored, and Ray's own keys are not Google's. */
        {GCP_HEAD("machineType: n2-standard-8, status: 5, networkConfig: {a: 1}, "
                  "sourceInstanceTemplate: t"),
         ""},
        {GCP_HEAD("machineType: n2-standard-8, networkInterfaces: [{nicType: GVNCI}]"),
         "5:100 error bad-value: \"GVNCI\"*networkInterfaces[].nicType*(*\"GVNIC\"?)"},
        {GCP_HEAD("machineType: n2-standard-8, networkInterfaces: [{nicType: FUTURE}]"),
         "5:100 warning bad-value: \"FUTURE\"*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void google_has_these_names(void **state)
{
#define FIFTY "0123456789-123456789-123456789-123456789-123456789"
#define IN(words) "provider: {type: gcp, project_id: p, " words "}\n"
    static const struct row rows[] = {
        {"cluster_name: Big_one\n" IN("region: us-west1, availability_zone: us-west1-a"),
         "1:15 warning cluster-name: *\"Big_one\"*`ray up` fail*"},
        {"cluster_name: twelve-letters-and-twelve-letters-xy\n" IN(
             "region: us-west1, availability_zone: us-west1-a"),
         "1:15 warning cluster-name: *at most 35 small letters*"},
        {"cluster_name: twelve-letters-and-twelve-letters-x\n" IN(
             "region: us-west1, availability_zone: us-west1-a"),
         ""},
        {"cluster_name: x\n" IN("region: us-west1-b, availability_zone: us-west1-b"),
         "2:46 error region: *is a zone*(region: us-west1)"},
        {"cluster_name: x\n" IN("region: us-west1, availability_zone: us-west2-b"),
         "2:75 error region: \"us-west2-b\" is not a zone of region us-west1 (*us-west1-a)"},
        {"cluster_name: x\n" IN("region: us-west1, availability_zone: us-west1"),
         "2:75 error region: \"us-west1\"*"},
        {"cluster_name: x\n" IN("region: us-west1, availability_zone: 'us-west1-a, us-west1-b'"),
         ""},
        {"cluster_name: x\n" IN("region: us-south1, availability_zone: us-south1-ai1b"), ""},
        {"cluster_name: x\n" IN("region: us-west1, availability_zone: us-west1-"),
         "2:75 error region: \"us-west1-\"*"},
        {"cluster_name: x\n" IN("region: us-west1, availability_zone: us-west1b"),
         "2:75 error region: \"us-west1b\"*"},
        {"cluster_name: x\nprovider: {type: gcp, project_id: My Project, region: us-west1, "
         "availability_zone: us-west1-a}\n",
         "2:35 error bad-value: \"My Project\"*ID*(*not its name*)"},
        {"cluster_name: x\nprovider: {type: gcp, project_id: 'example.com:p-1', region: us-west1, "
         "availability_zone: us-west1-a}\n",
         ""},
        {GCP "head_node_type: Big\navailable_node_types:\n"
             "  Big: {resources: {CPU: 1}, node_config: {machineType: e2-medium}}\n",
         "5:3 warning label: *node type \"Big\"*`ray up` fail*"},
        {GCP_HEAD("machineType: e2-medium, labels: {team: ml, env_1: '', na\xc3\xafve: "
                  "\xc3\xa9t\xc3\xa9}"),
         ""},
        {GCP_HEAD("machineType: e2-medium, labels: {Team: ml}"), "5:75 error label: *\"Team\"*"},
        {GCP_HEAD("machineType: e2-medium, labels: {1team: ml}"), "5:75 error label: *\"1team\"*"},
        {GCP_HEAD("machineType: e2-medium, labels: {team: a.b}"), "5:75 error label: *\"team\"*"},
        {GCP_HEAD("machineType: e2-medium, labels: {team: " FIFTY "0123456789abc}"), ""},
        {GCP_HEAD("machineType: e2-medium, labels: {team: " FIFTY "0123456789abcd}"),
         "5:75 error label: *\"team\"*"},
        {GCP_HEAD("machineType: e2-medium, labels: {team: 5}"),
         "5:81 error label: *team must be text*(*quotes)"},
        {GCP_HEAD("machineType: e2-medium, disks: [{initializeParams: {labels: {Team: ml}}}]"),
         "5:103 error label: *\"Team\"*"},
        {GCP_HEAD("machineType: e2-medium, tags: {items: [ssh, Ray]}"),
         "5:86 error label: *network tag \"Ray\"*"},
        {GCP_HEAD("machineType: e2-medium, tags: {items: [ssh-]}"),
         "5:81 error label: *network tag \"ssh-\"*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void google_has_these_machines(void **state)
{
    static const struct row rows[] = {
        {GCP_HEAD("machineType: n2-standrad-8"),
         "5:55 error unknown-machine: *\"n2-standrad-8\"*(*\"n2-standard-8\"?)"},
        {GCP_HEAD("machineType: m5.large"), "5:55 error unknown-machine: \"m5.large\" is not*"},
        {GCP_HEAD("machineType: n9-future-8"), ""},
        {GCP_HEAD("machineType: 5"), "5:55 error wrong-type: machineType must be text*"},
        {GCP_HEAD("machineType: zones/us-west1-a/machineTypes/n2-standard-8"), ""},
        {GCP "head_node_type: h\navailable_node_types:\n"
             "  h: {resources: {CPU: 6, GPU: 2}, node_config: {machineType: n1-standard-2}}\n",
         "5:24 warning machine-resources: node type h declares 6 CPUs, and n1-standard-2 has 2\n"
         "5:32 warning machine-resources: node type h declares 2 GPUs, and n1-standard-2 has 0"},
        {GCP "head_node_type: h\navailable_node_types:\n"
             "  h: {resources: {CPU: 0, GPU: 1}, node_config: {machineType: n1-standard-2, "
             "guestAccelerators: [{acceleratorType: nvidia-tesla-t4, acceleratorCount: 1}], "
             "scheduling: [{onHostMaintenance: TERMINATE}]}}\n",
         ""},
        {GCP_HEAD("machineType: g2-standard-4"),
         "5:3 warning gpu-maintenance: node type h*(*onHostMaintenance: TERMINATE*)"},
        {GCP_HEAD("machineType: n2-standard-4") "  w: {resources: {}, node_config: {machineType: "
                                                "g2-standard-4, scheduling: {provisioningModel: "
                                                "SPOT}}}\n",
         ""},
        {GCP_HEAD("machineType: e2-medium, scheduling: {preemptible: true}"),
         "5:66 warning spot-head: *"},
        {GCP_HEAD("machineType: e2-medium, scheduling: [{provisioningModel: SPOT}]"),
         "5:66 warning spot-head: *"},
        {GCP_HEAD("machineType: e2-medium, scheduling: [{preemptibel: true}]"),
         "5:80 error unknown-parameter: *\"preemptibel\" in scheduling*"},
        {GCP_HEAD("machineType: e2-medium, scheduling: [yes]"),
         "5:79 error wrong-type: *a map for scheduling*"},
        {GCP_HEAD("acceleratorType: v4-8, runtimeVersion: r"), "5:42 error tpu: *`shoal up`*"},
        {GCP_HEAD("acceleratorType: v4-16"), "5:42 error tpu: TPU v4-16 is a pod*(*`ray up`*)"},
        {GCP_HEAD("acceleratorType: v5litepod-8"), "5:42 error tpu: *"},
        {GCP_HEAD("acceleratorType: v6e-16"), "5:42 error tpu: TPU v6e-16 is a pod*"},
        {GCP_HEAD("acceleratorConfig: {type: V4, topology: 2x2x2}"),
         "5:42 error tpu: TPU v4-16 is a pod*"},
        {GCP_HEAD("acceleratorType: four"), "5:42 error tpu: *not a TPU type*"},
        {GCP_HEAD("acceleratorType: v4-8, acceleratorConfig: {type: V4, topology: 2x2x1}"),
         "5:42 error tpu: *not both*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void google_credentials_are_complete(void **state)
{
#define KEYS(words)                                                                               \
    "cluster_name: x\nprovider: {type: gcp, project_id: p, region: us-west1, availability_zone: " \
    "us-west1-a, gcp_credentials: {" words "}}\n"
    static const struct row rows[] = {
        {KEYS("type: service_account, credentials: '{\"a\": 1}'"), ""},
        {KEYS("type: service_account, credentials: key.json"),
         "2:141 error bad-value: *JSON*(*GOOGLE_APPLICATION_CREDENTIALS)"},
        {KEYS("type: credentials_token, credentials: ya29"), ""},
        {KEYS("type: credentials_token"), "2:87 error missing-key: *no credentials*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* Google's console writes them; bulkInsert does not have them. */
static void fields_that_only_instances_have(void **state)
{
#define N2_WITH(words) GCP_HEAD("machineType: n2-standard-2, " words)
    static const struct row rows[] = {
        {N2_WITH("deletionProtection: false, displayDevice: {enableDisplay: false}"), ""},
        {N2_WITH(
             "instanceEncryptionKey: {}, params: {resourceManagerTags: {tagKeys/1: tagValues/2}}"),
         ""},
        {N2_WITH("hostname: a.example.com"), ""},
        {N2_WITH("deletionProtection: true"),
         "5:70 error unsupported: *deletionProtection*(remove it)"},
        {N2_WITH("displayDevice: {enableDisplay: true}"),
         "5:70 error unsupported: *displayDevice*"},
        {N2_WITH("sourceMachineImage: global/machineImages/x"),
         "5:70 error unsupported: *sourceMachineImage*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void gpus_need_a_driver(void **state)
{
#define IMAGE(type, image, more)                                                        \
    GCP_HEAD("machineType: " type ", scheduling: {onHostMaintenance: TERMINATE}, " more \
             "disks: [{boot: true, initializeParams: {sourceImage: projects/" image "}}]")
#define PLAIN "ubuntu-os-cloud/global/images/family/ubuntu-2204-lts"
#define LEARNING "deeplearning-platform-release/global/images/family/common-cu129"
#define ITEM(key) "metadata: {items: [{key: " key ", value: 'True'}]}, "
    static const struct row rows[] = {
        {IMAGE("g2-standard-8", PLAIN, ""), "*warning gpu-driver: *no NVIDIA driver*"},
        {IMAGE("g2-standard-8", PLAIN, ITEM("startup-script")), ""},
        {IMAGE("n2-standard-8", PLAIN, ""), ""},
        {IMAGE("g2-standard-8", "my-own/global/images/x", ""), ""},
        {IMAGE("g2-standard-8", LEARNING, ""), "*warning gpu-driver: *(*install-nvidia-driver*"},
        {IMAGE("g2-standard-8", LEARNING, ITEM("install-nvidia-driver")), ""},
        {IMAGE("g2-standard-8", "ubuntu-os-accelerator-images/global/images/x", ""), ""},
        {IMAGE("n1-standard-8", PLAIN,
               "guestAccelerators: [{acceleratorType: nvidia-tesla-t4, acceleratorCount: 1}], "),
         "*warning gpu-driver: *"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void own_settings_fit_together(void **state)
{
#define SHOAL(words) \
    "cluster_name: x\nprovider: {type: aws, region: us-west-2}\nmetadata: {shoal: {" words "}}\n"
    static const struct row rows[] = {
        {SHOAL("idle_terminate: 14d"), ""},
        {SHOAL("idle_terminate: 1h30m"), ""},
        {SHOAL("idle_terminate: '14'"), "3:36 error bad-value: *time with a unit*\"14\"*(*14d)"},
        {SHOAL("idle_terminate: soon"), "3:36 error bad-value: *\"soon\"*"},
        {SHOAL("idle_terminate: 0d"), "3:36 error bad-value: *\"0d\"*"},
        {SHOAL("access: ssm"), ""},
        {SHOAL("access: ssh, ssh_from: [10.0.0.0/8]"), ""},
        {SHOAL("access: ssm, ssh_from: [10.0.0.0/8]"), "3:43 warning ignored-key: *ssh_from*ssm*"},
        {"cluster_name: x\nprovider: {type: azure, location: l, resource_group: g}\n"
         "metadata: {shoal: {access: ssm}}\n",
         "3:28 warning ignored-key: *access: ssm*azure*"},
        {SHOAL("tags: {CostCenter: '1234', Team: a b}"), ""},
        {SHOAL("tags: {shoal-x: y}"), "3:27 error bad-value: *\"shoal-x\"*reserved*"},
        {SHOAL("tags: {'aws:x': y}"), "3:27 error bad-value: *reserved*"},
        {SHOAL("permissions_boundary: 'arn:aws:iam::1:policy/x'"), ""},
        {SHOAL("permissions_boundary: Boundary"), "3:42 error bad-value: *ARN*\"Boundary\"*"},
        {SHOAL("head_policies: [S3]"), "3:36 error bad-value: *head_policies*ARN*"},
        {"cluster_name: x\nprovider: {type: azure, location: l, resource_group: g}\n"
         "metadata: {shoal: {tags: {a: b}, head_policies: []}}\n",
         "3:26 warning ignored-key: *tags*azure\n3:49 warning ignored-key: *head_policies*"},
        {"cluster_name: x\nprovider: {type: gcp, project_id: p, region: us-a1, "
         "availability_zone: us-a1-b}\nmetadata: {shoal: {tags: {team: vision}}}\n",
         ""},
        {"cluster_name: x\nprovider: {type: gcp, project_id: p, region: us-a1, "
         "availability_zone: us-a1-b}\nmetadata: {shoal: {tags: {Team: vision}}}\n",
         "3:27 error bad-value: *\"Team\"*lower-case*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void regions_are_known(void **state)
{
#define REGION(region) "cluster_name: x\nprovider: {type: aws, region: " region "}\n"
    static const struct row rows[] = {
        {REGION("us-wset-2"), "2:31 warning region: \"us-wset-2\"*(did you mean \"us-west-2\"?)"},
        {REGION("xx-future-9"), "2:31 warning region: \"xx-future-9\" is not an AWS region*knows"},
        {REGION("us-west-2a"), "2:31 error region: *is a zone*(region: us-west-2)"},
        {REGION("us-west-2, availability_zone: 'us-west-2a, us-east-1b'"),
         "2:61 error region: zone \"us-east-1b\" is not in region us-west-2"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* Ray accepts all of these. */
static void what_this_release_cannot_do(void **state)
{
#define DOCKER "{image: i, container_name: c}"
#define SPOT(kind)                                                                   \
    TYPES HEAD "  w: {node_config: {InstanceType: m5.large, InstanceMarketOptions: " \
               "{MarketType: spot, SpotOptions: {SpotInstanceType: " kind "}}}}\n"
    static const struct row rows[] = {
        {AWS "docker: " DOCKER "\n", ""},
        {AWS "docker: " DOCKER "\nmetadata: {shoal: {gcs_store: disk}}\n",
         "4:31 error gcs-store: *lost with the container*(remove gcs_store*)"},
        {SPOT("one-time"), ""},
        {SPOT("persistent"),
         "6:119 warning persistent-spot: EC2 replaces*(SpotInstanceType: one-time)"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void releases_of_ray_with_known_flaws(void **state)
{
#define RELEASE(version) AWS "metadata: {shoal: {ray_version: '" version "'}}\n"
#define SETUP(command) AWS "setup_commands: [\"" command "\"]\n"
#define AT "3:33 warning ray-release: "
    static const struct row rows[] = {
        {RELEASE("2.60.0"), ""},
        {RELEASE("2.56.0"), ""},
        {RELEASE("3.0.0"), ""},
        {RELEASE("nightly"), ""},
        {RELEASE("2.9.0"), AT "Ray 2.9.0 has no token *CVE-2023-48022*(use 2.56.0 or newer)"},
        {RELEASE("2.51.2"), AT "Ray 2.51.2 has no token authentication*"},
        {RELEASE("2.52.0"), AT "*CVE-2026-27482*CVE-2026-41486*"},
        {RELEASE("2.53.0"), AT "*CVE-2026-27482*CVE-2026-41486*"},
        {RELEASE("2.54.0"), AT "*from Parquet files (CVE-2026-41486)*"},
        {RELEASE("2.55.1"), AT "*CVE-2026-57516*"},
        {SETUP("pip install ray==2.9.0 x==1.0"), "3:18 warning ray-release: Ray 2.9.0 has no *"},
        {SETUP("pip install -U 'ray[default,tune]==2.40.0'"),
         "3:18 warning ray-release: Ray 2.40.0 has no *"},
        {SETUP("pip install -U ray[default]==2.60.0"), ""},
        {SETUP("pip install array==1.0 'ray>=2.0'"), ""},
        {SETUP("echo ray==2.9.0"), ""},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void the_gcs_on_disk_is_alpha(void **state)
{
#define DISK "metadata: {shoal: {gcs_store: disk"
#define ALPHA "3:31 warning gcs-store: gcs_store: disk is alpha in Ray*(drivers on the head *)"
#define OLD \
    " warning gcs-store: Ray 2.59.9 is too old for gcs_store: disk*(use Ray 2.60.0 or newer*)"
    static const struct row rows[] = {
        {AWS DISK "}}\n", ALPHA},
        {AWS "metadata: {shoal: {gcs_store: memory}}\n", ""},
        {AWS DISK ", ray_version: '2.60.0'}}\n", ALPHA},
        {AWS DISK ", ray_version: '2.59.9'}}\n", ALPHA "\n3:50" OLD},
        {AWS "setup_commands: [pip install ray==2.59.9]\n" DISK "}}\n",
         "3:18" OLD "\n4" /* the same one line lower */
         ":31 warning gcs-store: gcs_store: disk is alpha in Ray*"},
        {AWS "setup_commands: [pip install ray==2.59.9]\n", ""},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void ec2_parameters_must_exist(void **state)
{
    static const struct row rows[] = {
        {TYPES "  h: {node_config: {InstanceType: m5.large, SubnetIds: [a], KeyName: k}}\n", ""},
        {TYPES "  h: {node_config: {InstanceType: m5.large, ImageID: a}}\n",
         "5:45 error unknown-parameter: *\"ImageID\"*(did you mean \"ImageId\"?)"},
        {TYPES "  h: {node_config: {InstanceType: m5.large, FavouriteColour: a}}\n",
         "5:45 warning unknown-parameter: *\"FavouriteColour\"*"},
        {TYPES "  h: {node_config: {InstanceType: m5.lagre}, resources: {CPU: 1}}\n",
         "5:35 error unknown-machine: *\"m5.lagre\"*(did you mean \"m5.large\"?)"},
        /* Reported once, although both the resource lookup and the check find it. */
        {TYPES "  h: {node_config: {InstanceType: m5.lagre}}\n",
         "5:35 error unknown-machine: *\"m5.lagre\"*(did you mean \"m5.large\"?)"},
        {TYPES "  h: {node_config: {ImageId: a}, resources: {CPU: 1}}\n",
         "5:3 error missing-key: node type h*InstanceType*(*InstanceType: m5.large)"},
        {TYPES "  h: {node_config: {LaunchTemplate: {}}, resources: {CPU: 1}}\n", ""},
        {TYPES "  h: {node_config: {InstanceType: 5}, resources: {CPU: 1}}\n",
         "5:35 error wrong-type: InstanceType must be text*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void members_of_ec2_parameters_must_exist(void **state)
{
#define WITH(param) TYPES "  h: {node_config: {InstanceType: m5.large, " param "}}\n"
    static const struct row rows[] = {
        {WITH("BlockDeviceMappings: [{DeviceName: a, Ebs: {VolumeSize: 5}}]"), ""},
        {WITH("BlockDeviceMappings: [{DeviceName: a, Ebs: {VolumSize: 5}}]"),
         "5:89 error unknown-parameter: *\"VolumSize\"*(did you mean \"VolumeSize\"?)"},
        {WITH("BlockDeviceMappings: [{DeviceName: a, Ebs: {VolumeSize: '5'}}]"),
         "5:101 error wrong-type: *a whole number*text*"},
        {WITH("BlockDeviceMappings: {DeviceName: a}"), "5:66 error wrong-type: *a list*a map*"},
        {WITH("CpuOptions: {CoreCount: 2}, EbsOptimized: true"), ""},
        {WITH("CpuOptions: 2"), "5:57 error wrong-type: *a map*whole number*"},
        {WITH("EbsOptimized: 'yes'"), "5:59 error wrong-type: *true or false*text*"},
        {WITH("ImageId: 5"), "5:54 error wrong-type: *text*whole number*"},
        {WITH("LaunchTemplate: {LaunchTemplateName: x, Version: 2}"), ""},
    };
#undef WITH
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

static void ec2_heads_and_keys_are_looked_at(void **state)
{
    static const struct row rows[] = {
        {TYPES "  h: {node_config: {InstanceType: m5.large, InstanceMarketOptions: {MarketType: "
               "spot}}}\n",
         "5:45 warning spot-head: *(*workers*)"},
        {TYPES HEAD "  w: {node_config: {InstanceType: m5.large, InstanceMarketOptions: "
                    "{MarketType: spot}}}\n",
         ""},
        {TYPES HEAD "auth: {ssh_private_key: ~/key.pem}\n",
         "5:3 error missing-key: node type h*KeyName*auth.ssh_private_key*"},
    };
    (void)state;
    check_rows(rows, ARRAY_LEN(rows));
}

/* A tree with errors is checked as far as possible. */
static void broken_trees_do_not_upset_the_checks(void **state)
{
    static const char *const rows[] = {
        "{}",
        "cluster_name: 5\nprovider: 5\nauth: 5\nfile_mounts: 5\navailable_node_types: 5\n",
        "provider: {type: aws}\nmax_workers: 1\navailable_node_types: {a: 5, 1: {}, b: {}}\n",
        "provider: {type: aws}\navailable_node_types: {a: {node_config: 5, resources: 5}}\n",
        "provider: {type: aws}\nhead_node_type: [a]\nhead_setup_commands: [1, [2]]\n",
        "provider: {type: aws}\nauth: {ssh_private_key: 5}\nhead_start_ray_commands: x\n",
        "provider: {type: aws}\nfile_mounts: {a: 5}\nmetadata: 5\n",
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    struct fake_host fake;
    (void)state;
    fake_host_init(&fake, files, ARRAY_LEN(files));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        config_check(fixture_read_c(f, rows[i]), &fake.host, &f->diags);
        const struct value *tree = fixture_prepare(f, rows[i]);
        assert_true(f->diags.error_count > 0);
        config_check(tree, &fake.host, &f->diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_mounts_must_exist),
        cmocka_unit_test(ssh_keys_must_be_usable),
        cmocka_unit_test(commands_must_be_safe_to_repeat),
        cmocka_unit_test(ray_must_be_started_with_its_autoscaler),
        cmocka_unit_test(names_must_be_usable),
        cmocka_unit_test(counts_must_be_reachable),
        cmocka_unit_test(providers_need_their_place),
        cmocka_unit_test(google_has_these_fields),
        cmocka_unit_test(google_has_these_names),
        cmocka_unit_test(google_has_these_machines),
        cmocka_unit_test(google_credentials_are_complete),
        cmocka_unit_test(fields_that_only_instances_have),
        cmocka_unit_test(gpus_need_a_driver),
        cmocka_unit_test(own_settings_fit_together),
        cmocka_unit_test(regions_are_known),
        cmocka_unit_test(what_this_release_cannot_do),
        cmocka_unit_test(releases_of_ray_with_known_flaws),
        cmocka_unit_test(the_gcs_on_disk_is_alpha),
        cmocka_unit_test(ec2_parameters_must_exist),
        cmocka_unit_test(members_of_ec2_parameters_must_exist),
        cmocka_unit_test(ec2_heads_and_keys_are_looked_at),
        cmocka_unit_test(broken_trees_do_not_upset_the_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
