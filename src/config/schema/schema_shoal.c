/* schema_shoal.c: our own settings, under metadata.shoal, which Ray ignores. Settings of later
 * releases are included, so that a file written today is already checked. */
#include "config/schema/schema.h"

/* clang-format off: one packed row per key reads better than one line per field. */

static const struct schema_key price_keys[] = {
    {.name = "*",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "US dollars per hour for an instance type.",
     .example = "prices: {m5.large: 0.096}"},
};
static const struct schema_object prices_object = {"metadata.shoal.prices", price_keys,
                                                   ARRAY_LEN(price_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key tag_keys[] = {
    {.name = "*",
     .types = SCHEMA_STRING,
     .help = "The value of a tag.",
     .example = "tags: {CostCenter: \"1234\"}"},
};
static const struct schema_object tags_object = {"metadata.shoal.tags", tag_keys,
                                                 ARRAY_LEN(tag_keys), SCHEMA_EXTRA_ERROR};

static const char *const planners[] = {"ray", "price", NULL};
static const char *const gcs_stores[] = {"memory", "disk", NULL};
static const char *const firewalls[] = {"own", "none", NULL};
static const char *const accesses[] = {"ssh", "ssm", NULL};
static const char *const fallbacks[] = {"none", "on-demand", NULL};

static const struct schema_key shoal_keys[] = {
    {.name = "planner",
     .types = SCHEMA_STRING,
     .choices = planners,
     .fallback = "ray",
     .help = "How to choose node types: ray (as Ray does) or price (the cheapest that fit).",
     .example = "planner: price"},
    {.name = "prices",
     .types = SCHEMA_OBJECT,
     .object = &prices_object,
     .fallback = "read from the cloud; unknown prices are shown as unknown",
     .help = "Prices by instance type or node type, in US dollars per hour.",
     .example = "prices: {m5.large: 0.096, g5.xlarge: 1.006}"},
    {.name = "max_hourly_cost",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "no limit",
     .help = "Maximum cost of the cluster in US dollars per hour. A launch that would exceed it "
             "is not made.",
     .example = "max_hourly_cost: 20"},
    {.name = "ray_version",
     .types = SCHEMA_STRING,
     .fallback = "the newest tested version",
     .help = "Ray version to install on nodes without Ray.",
     .example = "ray_version: \"2.60.0\""},
    {.name = "spot_fallback",
     .types = SCHEMA_STRING,
     .choices = fallbacks,
     .fallback = "none",
     .help = "What to launch if there is no spot capacity.",
     .example = "spot_fallback: on-demand"},
    {.name = "rebalance",
     .types = SCHEMA_BOOLEAN,
     .fallback = "false",
     .help = "Also replace a spot instance when the cloud only recommends it (a rebalance "
             "recommendation).",
     .example = "rebalance: true"},
    {.name = "max_unavailable",
     .types = SCHEMA_INTEGER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "1",
     .help = "When a node type is changed, how many of its workers are replaced at a time; 0 means "
             "all at once.",
     .example = "max_unavailable: 2"},
    {.name = "ssh_from",
     .types = SCHEMA_ARRAY,
     .item_types = SCHEMA_STRING,
     .fallback = "this machine's address",
     .help = "Address ranges that can connect to the nodes over ssh.",
     .example = "ssh_from: [198.51.100.0/24]"},
    {.name = "firewall",
     .types = SCHEMA_STRING,
     .choices = firewalls,
     .fallback = "own",
     .help = "Google Cloud only: own makes firewall rules for the cluster; none makes no rules, "
             "because others have made them (shared VPC).",
     .example = "firewall: none"},
    {.name = "access",
     .types = SCHEMA_STRING,
     .choices = accesses,
     .fallback = "ssh",
     .help =
         "How this machine reaches the head: ssh (to port 22 of its address) or ssm (ssh through "
         "AWS Session Manager; no port is open). ssm needs the programs aws and "
         "session-manager-plugin here and the SSM agent in the image.",
     .example = "access: ssm"},
    {.name = "tags",
     .types = SCHEMA_OBJECT,
     .object = &tags_object,
     .fallback = "none",
     .help =
         "Tags of everything that Shoal creates in AWS; on Google Cloud labels of instances and "
         "disks.",
     .example = "tags: {CostCenter: \"1234\", Team: vision}"},
    {.name = "permissions_boundary",
     .types = SCHEMA_STRING,
     .fallback = "none",
     .help = "ARN of the permissions boundary of the head's role on AWS; used when the role is "
             "created.",
     .example = "permissions_boundary: arn:aws:iam::123456789012:policy/Boundary"},
    {.name = "head_policies",
     .types = SCHEMA_ARRAY,
     .item_types = SCHEMA_STRING,
     .fallback = "none",
     .help = "ARNs of managed policies that the head's role on AWS gets besides its own. What its "
             "own policy denies stays denied.",
     .example = "head_policies: [\"arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess\"]"},
    {.name = "contact_timeout_minutes",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "15",
     .help = "Minutes without contact with the head after which a worker terminates itself; 0 "
             "means never.",
     .example = "contact_timeout_minutes: 30"},
    {.name = "keep_failed_minutes",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "0",
     .help = "Minutes for which a worker whose setup failed keeps running, so that you can look "
             "at it with shoal attach; the option --keep-failed of up sets it for one run.",
     .example = "keep_failed_minutes: 10"},
    {.name = "gcs_store",
     .types = SCHEMA_STRING,
     .choices = gcs_stores,
     .fallback = "memory",
     .help = "Where Ray's GCS stores its tables. With disk (alpha in Ray), they survive a restart "
             "of the head.",
     .example = "gcs_store: disk"},
    {.name = "metrics_address",
     .types = SCHEMA_STRING,
     .fallback = "127.0.0.1",
     .help = "Address on the head to serve Prometheus metrics on, at port 44217; none disables "
             "them.",
     .example = "metrics_address: 0.0.0.0"},
    {.name = "idle_stop",
     .types = SCHEMA_BOOLEAN | SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "false",
     .help =
         "Stop the whole cluster, including the head, after this many idle minutes (true "
         "means 60). It is not idle while Ray has work or a connected driver, or while the head "
         "has an ssh session, a remote editor, a notebook or a GPU in use.",
     .example = "idle_stop: 60"},
    {.name = "idle_terminate",
     .types = SCHEMA_STRING,
     .fallback = "stopped clusters stay",
     .help = "How long a cluster may stay stopped, such as 14d. After that, shoal ls shows it as "
             "expired, and shoal gc --delete terminates it, with its disks. Nothing is "
             "terminated automatically.",
     .example = "idle_terminate: 14d"},
    {.name = "python",
     .types = SCHEMA_STRING,
     .fallback = "python3",
     .help = "Python that has Ray, for a node provider class of Ray (provider.module, azure, "
             "vsphere). If it is not on the head, the one that runs Ray is used there.",
     .example = "python: ~/venv/bin/python3"},
    {.name = "user_data_key",
     .types = SCHEMA_STRING,
     .fallback = "nodes get no user data",
     .help = "Key of a node_config in which a node provider class of Ray takes user data for "
             "cloud-init. Without it, the host key of a new node is trusted at first contact.",
     .example = "user_data_key: UserData"},
};
const struct schema_object schema_shoal = {"metadata.shoal", shoal_keys, ARRAY_LEN(shoal_keys),
                                           SCHEMA_EXTRA_ERROR};
