/* schema_workload.c: the keys of a workload file, which `shoal simulate` reads and Ray never sees.
 * What is inside durations, amounts and shares is workload/workload_file.c's to check. */
#include "config/schema/schema.h"

/* clang-format off: one packed row per key reads better than one line per field. */

#define KEYS(array) (array), ARRAY_LEN(array)
#define DURATION .types = SCHEMA_STRING | SCHEMA_NUMBER

static const struct schema_key resource_keys[] = {
    {.name = "*",
     .types = SCHEMA_NUMBER | SCHEMA_STRING,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "How much of a resource. Memory is in bytes, or with a unit: KB, MB, GB, TB count in "
             "thousands, KiB, MiB, GiB, TiB in 1024.",
     .example = "resources: {CPU: 0.5, memory: 4GiB}"},
};
static const struct schema_object resources_object = {"resources", KEYS(resource_keys),
                                                      SCHEMA_EXTRA_ERROR};

static const struct schema_key label_keys[] = {
    {.name = "*",
     .types = SCHEMA_STRING,
     .help = "What a label of the node must say: \"x\", \"!x\", \"in(x,y)\" or \"!in(x,y)\", as in "
             "Ray's label_selector.",
     .example = "labels: {zone: \"in(a,b)\"}"},
};
static const struct schema_object labels_object = {"labels", KEYS(label_keys), SCHEMA_EXTRA_ERROR};

static const char *const strategies[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD", NULL};

static const struct schema_key gang_keys[] = {
    {.name = "bundles",
     .types = SCHEMA_INTEGER,
     .flags = SCHEMA_REQUIRED | SCHEMA_NOT_NEGATIVE,
     .help = "How many bundles it takes, each with the resources of the class.",
     .example = "bundles: 4"},
    {.name = "strategy",
     .types = SCHEMA_STRING,
     .choices = strategies,
     .fallback = "PACK",
     .help = "How the bundles are spread over nodes, as in Ray's placement groups.",
     .example = "strategy: STRICT_SPREAD"},
};
static const struct schema_object gang_object = {"gang", KEYS(gang_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key arrival_keys[] = {
    {.name = "at",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "It comes once, so long after the beginning.",
     .example = "at: 1h"},
    {.name = "every",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "It comes again and again, always after the same time.",
     .example = "every: 30m"},
    {.name = "random_every",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "It comes again and again after this time on average, each arrival independent of the "
             "others (a Poisson process), as people do.",
     .example = "random_every: 6m"},
    {.name = "from",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "0s",
     .help = "With every or random_every: nothing comes before.",
     .example = "from: 1h"},
    {.name = "until",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "the end",
     .help = "With every or random_every: nothing comes after.",
     .example = "until: 6h"},
};
static const struct schema_object arrival_object = {"arrival", KEYS(arrival_keys),
                                                    SCHEMA_EXTRA_ERROR};

static const struct schema_key class_keys[] = {
    {.name = "resources",
     .types = SCHEMA_OBJECT,
     .object = &resources_object,
     .fallback = "{CPU: 1}",
     .help = "What one task needs, or one bundle of a gang.",
     .example = "resources: {CPU: 2, memory: 4GiB}"},
    {.name = "labels",
     .types = SCHEMA_OBJECT,
     .object = &labels_object,
     .fallback = "any node",
     .help = "Which nodes it may run on, by their labels.",
     .example = "labels: {ray.io/accelerator-type: A10G}"},
    {.name = "gang",
     .types = SCHEMA_OBJECT,
     .object = &gang_object,
     .fallback = "single tasks",
     .help = "All bundles or nothing: a placement group. count then counts gangs.",
     .example = "gang: {strategy: STRICT_SPREAD, bundles: 4}"},
    {.name = "arrival",
     .types = SCHEMA_OBJECT,
     .object = &arrival_object,
     .fallback = "once, at the beginning",
     .help = "When it comes: one of at, every and random_every.",
     .example = "arrival: {every: 30m, from: 1h, until: 8h}"},
    {.name = "count",
     .types = SCHEMA_INTEGER | SCHEMA_ARRAY,
     .item_types = SCHEMA_INTEGER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "1",
     .help = "How many tasks (or gangs) come each time; [least, most] draws one in between.",
     .example = "count: [50, 200]"},
    {.name = "duration",
     .types = SCHEMA_STRING | SCHEMA_NUMBER | SCHEMA_ARRAY,
     .item_types = SCHEMA_STRING | SCHEMA_NUMBER,
     .flags = SCHEMA_REQUIRED | SCHEMA_NOT_NEGATIVE,
     .help = "How long each runs: \"90s\", \"1h30m\", a number of seconds, or [least, most].",
     .example = "duration: [2m, 10m]"},
};
static const struct schema_object class_object = {"a class of work", KEYS(class_keys),
                                                  SCHEMA_EXTRA_ERROR};

static const struct schema_key work_keys[] = {
    {.name = "*",
     .types = SCHEMA_OBJECT,
     .object = &class_object,
     .help = "One kind of work, under a name of your choice.",
     .example = "features:\n  resources: {CPU: 2}\n  count: 400\n  duration: [2m, 10m]"},
};
static const struct schema_object work_object = {"work", KEYS(work_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key bundle_keys[] = {
    {.name = "resources",
     .types = SCHEMA_OBJECT,
     .flags = SCHEMA_REQUIRED,
     .object = &resources_object,
     .help = "One bundle that must find room on one node.",
     .example = "resources: {CPU: 4}"},
    {.name = "labels",
     .types = SCHEMA_OBJECT,
     .object = &labels_object,
     .fallback = "any node",
     .help = "Which nodes count, by their labels.",
     .example = "labels: {zone: a}"},
    {.name = "count",
     .types = SCHEMA_INTEGER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "1",
     .help = "How many of them.",
     .example = "count: 8"},
};
static const struct schema_object bundle_object = {"request_resources", KEYS(bundle_keys),
                                                   SCHEMA_EXTRA_ERROR};

static const struct schema_key spot_keys[] = {
    {.name = "mean_life",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "what --faults says",
     .help = "How long a spot machine lives on average before the cloud takes it back.",
     .example = "mean_life: 3h"},
    {.name = "notice",
     .types = SCHEMA_STRING | SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "90%",
     .help = "How many of those are announced two minutes before.",
     .example = "notice: 90%"},
    {.name = "share",
     .types = SCHEMA_STRING | SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "40%",
     .help = "The spot price as a share of the on-demand price, where prices has none.",
     .example = "share: 35%"},
};
static const struct schema_object spot_object = {"spot", KEYS(spot_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key price_keys[] = {
    {.name = "*",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "US dollars per hour, by node type or by instance type. A node type's is what one "
             "machine costs, spot or not.",
     .example = "prices: {gpu: 0.41, m5.large: 0.096}"},
};
static const struct schema_object prices_object = {"prices", KEYS(price_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key machine_keys[] = {
    {.name = "*",
     .types = SCHEMA_OBJECT,
     .object = &resources_object,
     .help = "What a machine of this node type has.",
     .example = "local.cluster.node: {CPU: 16, memory: 64GiB}"},
};
static const struct schema_object machines_object = {"machines", KEYS(machine_keys),
                                                     SCHEMA_EXTRA_ERROR};

static const struct schema_key workload_keys[] = {
    {.name = "about",
     .types = SCHEMA_STRING,
     .help = "One line on what this is, for the report.",
     .example = "about: what our nightly feature build looks like"},
    {.name = "hours",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "8",
     .help = "How long is simulated; --hours wins.",
     .example = "hours: 24"},
    {.name = "work",
     .types = SCHEMA_OBJECT,
     .flags = SCHEMA_REQUIRED,
     .object = &work_object,
     .help = "What the users of the cluster want from it, by kind.",
     .example = "work: {tasks: {count: 100, duration: 5m}}"},
    {.name = "request_resources",
     .types = SCHEMA_ARRAY,
     .item_types = SCHEMA_OBJECT,
     .object = &bundle_object,
     .fallback = "[]",
     .help = "What ray.autoscaler.sdk.request_resources() asked for: the cluster always offers it.",
     .example = "request_resources:\n  - {resources: {CPU: 4}, count: 2}"},
    {.name = "spot",
     .types = SCHEMA_OBJECT,
     .object = &spot_object,
     .fallback = "as --faults says",
     .help = "How the cloud treats spot machines.",
     .example = "spot: {mean_life: 3h, notice: 90%}"},
    {.name = "prices",
     .types = SCHEMA_OBJECT,
     .object = &prices_object,
     .fallback = "the built-in table of EC2, us-east-1",
     .help = "Prices that are better than ours.",
     .example = "prices: {g5.xlarge: 1.006}"},
    {.name = "machines",
     .types = SCHEMA_OBJECT,
     .object = &machines_object,
     .fallback = "what the cluster file says",
     .help = "Resources of node types whose cluster file leaves them open, as that of machines of "
             "one's own does.",
     .example = "machines: {local.cluster.node: {CPU: 16}}"},
};
const struct schema_object schema_workload = {"the workload file", KEYS(workload_keys),
                                              SCHEMA_EXTRA_ERROR};
