/* schema_workload.c: the keys of a workload file, which `shoal simulate` reads and Ray does not.
 * workload/workload_file.c checks the contents of durations, amounts and shares. */
#include "config/schema/schema.h"

/* clang-format off: one packed row per key reads better than one line per field. */

#define KEYS(array) (array), ARRAY_LEN(array)
#define DURATION .types = SCHEMA_STRING | SCHEMA_NUMBER

static const struct schema_key resource_keys[] = {
    {.name = "*",
     .types = SCHEMA_NUMBER | SCHEMA_STRING,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "Amount of the resource. Memory is in bytes, or has a unit: KB, MB, GB, TB (powers "
             "of 1000) or KiB, MiB, GiB, TiB (powers of 1024).",
     .example = "resources: {CPU: 0.5, memory: 4GiB}"},
};
static const struct schema_object resources_object = {"resources", KEYS(resource_keys),
                                                      SCHEMA_EXTRA_ERROR};

static const struct schema_key label_keys[] = {
    {.name = "*",
     .types = SCHEMA_STRING,
     .help = "Required value of a node label: \"x\", \"!x\", \"in(x,y)\" or \"!in(x,y)\", as in "
             "Ray's label_selector.",
     .example = "labels: {zone: \"in(a,b)\"}"},
};
static const struct schema_object labels_object = {"labels", KEYS(label_keys), SCHEMA_EXTRA_ERROR};

static const char *const strategies[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD", NULL};

static const struct schema_key gang_keys[] = {
    {.name = "bundles",
     .types = SCHEMA_INTEGER,
     .flags = SCHEMA_REQUIRED | SCHEMA_NOT_NEGATIVE,
     .help = "Number of bundles, each with the resources of the class.",
     .example = "bundles: 4"},
    {.name = "strategy",
     .types = SCHEMA_STRING,
     .choices = strategies,
     .fallback = "PACK",
     .help = "How bundles are placed on nodes, as in Ray's placement groups.",
     .example = "strategy: STRICT_SPREAD"},
};
static const struct schema_object gang_object = {"gang", KEYS(gang_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key arrival_keys[] = {
    {.name = "at",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "Arrive once, this long after the start.",
     .example = "at: 1h"},
    {.name = "every",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "Arrive repeatedly, at this fixed interval.",
     .example = "every: 30m"},
    {.name = "random_every",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "Arrive repeatedly, at random intervals with this mean (a Poisson process).",
     .example = "random_every: 6m"},
    {.name = "from",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "0s",
     .help = "With every or random_every: nothing arrives before this time.",
     .example = "from: 1h"},
    {.name = "until",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "the end",
     .help = "With every or random_every: nothing arrives after this time.",
     .example = "until: 6h"},
};
static const struct schema_object arrival_object = {"arrival", KEYS(arrival_keys),
                                                    SCHEMA_EXTRA_ERROR};

static const struct schema_key class_keys[] = {
    {.name = "resources",
     .types = SCHEMA_OBJECT,
     .object = &resources_object,
     .fallback = "{CPU: 1}",
     .help = "Resources of one task, or of one bundle of a gang.",
     .example = "resources: {CPU: 2, memory: 4GiB}"},
    {.name = "labels",
     .types = SCHEMA_OBJECT,
     .object = &labels_object,
     .fallback = "any node",
     .help = "Labels of the nodes that this work can run on.",
     .example = "labels: {ray.io/accelerator-type: A10G}"},
    {.name = "gang",
     .types = SCHEMA_OBJECT,
     .object = &gang_object,
     .fallback = "single tasks",
     .help = "Run as a placement group: all bundles at once, or none. count is then the number of "
             "gangs.",
     .example = "gang: {strategy: STRICT_SPREAD, bundles: 4}"},
    {.name = "arrival",
     .types = SCHEMA_OBJECT,
     .object = &arrival_object,
     .fallback = "once, at the start",
     .help = "When the work arrives: one of at, every and random_every.",
     .example = "arrival: {every: 30m, from: 1h, until: 8h}"},
    {.name = "count",
     .types = SCHEMA_INTEGER | SCHEMA_ARRAY,
     .item_types = SCHEMA_INTEGER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "1",
     .help = "Number of tasks (or gangs) per arrival; [MIN, MAX] picks a random number in this "
             "range.",
     .example = "count: [50, 200]"},
    {.name = "duration",
     .types = SCHEMA_STRING | SCHEMA_NUMBER | SCHEMA_ARRAY,
     .item_types = SCHEMA_STRING | SCHEMA_NUMBER,
     .flags = SCHEMA_REQUIRED | SCHEMA_NOT_NEGATIVE,
     .help = "How long each task (or gang) runs: \"90s\", \"1h30m\", a number of seconds, or "
             "[MIN, MAX].",
     .example = "duration: [2m, 10m]"},
};
static const struct schema_object class_object = {"a class of work", KEYS(class_keys),
                                                  SCHEMA_EXTRA_ERROR};

static const struct schema_key work_keys[] = {
    {.name = "*",
     .types = SCHEMA_OBJECT,
     .object = &class_object,
     .help = "A class of work, with a name of your choice.",
     .example = "features:\n  resources: {CPU: 2}\n  count: 400\n  duration: [2m, 10m]"},
};
static const struct schema_object work_object = {"work", KEYS(work_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key bundle_keys[] = {
    {.name = "resources",
     .types = SCHEMA_OBJECT,
     .flags = SCHEMA_REQUIRED,
     .object = &resources_object,
     .help = "Resources of one bundle, which must fit on one node.",
     .example = "resources: {CPU: 4}"},
    {.name = "labels",
     .types = SCHEMA_OBJECT,
     .object = &labels_object,
     .fallback = "any node",
     .help = "Labels of the nodes that the bundle can use.",
     .example = "labels: {zone: a}"},
    {.name = "count",
     .types = SCHEMA_INTEGER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "1",
     .help = "Number of such bundles.",
     .example = "count: 8"},
};
static const struct schema_object bundle_object = {"request_resources", KEYS(bundle_keys),
                                                   SCHEMA_EXTRA_ERROR};

static const struct schema_key spot_keys[] = {
    {.name = "mean_life",
     DURATION,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "set by --faults",
     .help = "Mean time until the cloud reclaims a spot instance.",
     .example = "mean_life: 3h"},
    {.name = "notice",
     .types = SCHEMA_STRING | SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "90%",
     .help = "Share of interruptions with a two-minute notice.",
     .example = "notice: 90%"},
    {.name = "share",
     .types = SCHEMA_STRING | SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "40%",
     .help = "Spot price as a share of the on-demand price, for types that are not in prices.",
     .example = "share: 35%"},
};
static const struct schema_object spot_object = {"spot", KEYS(spot_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key price_keys[] = {
    {.name = "*",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .help = "US dollars per hour, by node type or by instance type. The price of a node type is "
             "for one node, spot or not.",
     .example = "prices: {gpu: 0.41, m5.large: 0.096}"},
};
static const struct schema_object prices_object = {"prices", KEYS(price_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key node_resource_keys[] = {
    {.name = "*",
     .types = SCHEMA_OBJECT,
     .object = &resources_object,
     .help = "Resources of one node of this type.",
     .example = "local.cluster.node: {CPU: 16, memory: 64GiB}"},
};
static const struct schema_object node_resources_object = {
    "node_resources", KEYS(node_resource_keys), SCHEMA_EXTRA_ERROR};

static const struct schema_key workload_keys[] = {
    {.name = "about",
     .types = SCHEMA_STRING,
     .help = "One-line description for the report.",
     .example = "about: our nightly feature build"},
    {.name = "hours",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "8",
     .help = "Hours to simulate; --hours overrides it.",
     .example = "hours: 24"},
    {.name = "work",
     .types = SCHEMA_OBJECT,
     .flags = SCHEMA_REQUIRED,
     .object = &work_object,
     .help = "The work that users submit to the cluster, by class.",
     .example = "work: {tasks: {count: 100, duration: 5m}}"},
    {.name = "request_resources",
     .types = SCHEMA_ARRAY,
     .item_types = SCHEMA_OBJECT,
     .object = &bundle_object,
     .fallback = "[]",
     .help = "Resources requested with ray.autoscaler.sdk.request_resources(); the cluster always "
             "has them.",
     .example = "request_resources:\n  - {resources: {CPU: 4}, count: 2}"},
    {.name = "spot",
     .types = SCHEMA_OBJECT,
     .object = &spot_object,
     .fallback = "set by --faults",
     .help = "How the cloud treats spot instances.",
     .example = "spot: {mean_life: 3h, notice: 90%}"},
    {.name = "prices",
     .types = SCHEMA_OBJECT,
     .object = &prices_object,
     .fallback = "the built-in table of EC2, us-east-1",
     .help = "Prices that override those of the built-in table.",
     .example = "prices: {g5.xlarge: 1.006}"},
    {.name = "node_resources",
     .types = SCHEMA_OBJECT,
     .object = &node_resources_object,
     .fallback = "the resources in the cluster file",
     .help = "Resources of node types that do not set them in the cluster file, such as those of "
             "provider local.",
     .example = "node_resources: {local.cluster.node: {CPU: 16}}"},
};
const struct schema_object schema_workload = {"the workload file", KEYS(workload_keys),
                                              SCHEMA_EXTRA_ERROR};
