/* schema_shoal.c: our own settings, under metadata.shoal, where Ray does not look. Names that
 * later releases act on are here already, so that a file written today is checked today. */
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

static const char *const planners[] = {"ray", "price", NULL};
static const char *const fallbacks[] = {"none", "on-demand", NULL};

static const struct schema_key shoal_keys[] = {
    {.name = "planner",
     .types = SCHEMA_STRING,
     .choices = planners,
     .fallback = "ray",
     .help = "How node types are chosen: as Ray would, or the cheapest that fit.",
     .example = "planner: price"},
    {.name = "prices",
     .types = SCHEMA_OBJECT,
     .object = &prices_object,
     .fallback = "asked from the cloud; unknown is said as unknown",
     .help = "Prices by instance type, in US dollars per hour.",
     .example = "prices: {m5.large: 0.096, g5.xlarge: 1.006}"},
    {.name = "max_hourly_cost",
     .types = SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "no limit",
     .help = "US dollars per hour that launching may not exceed.",
     .example = "max_hourly_cost: 20"},
    {.name = "ray_version",
     .types = SCHEMA_STRING,
     .fallback = "the newest tested release",
     .help = "Ray release to install on machines that have none.",
     .example = "ray_version: \"2.60.0\""},
    {.name = "spot_fallback",
     .types = SCHEMA_STRING,
     .choices = fallbacks,
     .fallback = "none",
     .help = "What to do when no spot machine can be had.",
     .example = "spot_fallback: on-demand"},
    {.name = "rebalance",
     .types = SCHEMA_BOOLEAN,
     .fallback = "false",
     .help = "Replace spot machines also when the cloud only recommends it.",
     .example = "rebalance: true"},
    {.name = "ssh_from",
     .types = SCHEMA_ARRAY,
     .item_types = SCHEMA_STRING,
     .fallback = "this machine's address",
     .help = "Address ranges that may reach ssh on the machines.",
     .example = "ssh_from: [198.51.100.0/24]"},
    {.name = "metrics_address",
     .types = SCHEMA_STRING,
     .fallback = "127.0.0.1",
     .help = "Address of the head at whose port 44217 Prometheus finds the metrics; none: nowhere.",
     .example = "metrics_address: 0.0.0.0"},
    {.name = "idle_stop",
     .types = SCHEMA_BOOLEAN | SCHEMA_NUMBER,
     .flags = SCHEMA_NOT_NEGATIVE,
     .fallback = "false",
     .help = "Stop the whole cluster, head included, after so many idle minutes (true: 60).",
     .example = "idle_stop: 60"},
};
const struct schema_object schema_shoal = {"metadata.shoal", shoal_keys, ARRAY_LEN(shoal_keys),
                                           SCHEMA_EXTRA_ERROR};
