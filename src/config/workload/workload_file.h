/*
 * workload_file.h: a workload file, read, checked and typed.
 *
 * It describes the load of a simulated cluster. The format is ours: YAML, with findings like those
 * of a cluster file. Times are in milliseconds from the start, money in micro-dollars per hour,
 * shares in thousandths.
 */
#pragma once

#include "base/attr.h"
#include "config/document/diag.h"
#include "core/resource.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    WORKLOAD_CLASSES_MAX = 200,
    WORKLOAD_TASKS_MAX = 5 * 1000 * 1000, /* over all classes and the whole duration */
    WORKLOAD_BUNDLES_MAX = 1000,
    WORKLOAD_HOURS_MAX = 24 * 366,
    WORKLOAD_HOURS = 8,         /* default */
    WORKLOAD_SPOT_NOTICE = 900, /* default */
    WORKLOAD_SPOT_SHARE = 400,  /* default */
};

/* Inclusive; both are equal if the file has one number. */
struct workload_range {
    int64_t least, most;
};

/* One entry of a label selector: the node's label is (or is not) one of the values. */
struct workload_rule {
    struct str key;
    bool is_not;
    const struct str *values;
    size_t value_count;
};

struct workload_shape {
    struct resource_set resources;
    const struct workload_rule *rules;
    size_t rule_count;
};

enum workload_gang {
    WORKLOAD_SINGLE, /* not a gang */
    WORKLOAD_PACK,
    WORKLOAD_SPREAD,
    WORKLOAD_STRICT_PACK,
    WORKLOAD_STRICT_SPREAD,
};

enum workload_arrival { WORKLOAD_ONCE, WORKLOAD_EVERY, WORKLOAD_RANDOM };

struct workload_class {
    struct str name;
    struct place place;
    struct workload_shape shape;
    enum workload_gang gang;
    int64_t bundles; /* bundles of a gang, otherwise 1 */
    enum workload_arrival arrival;
    int64_t first_at;
    int64_t last_at;
    int64_t every;
    struct workload_range count;
    struct workload_range duration;
};

struct workload_bundle {
    struct workload_shape shape;
    int64_t count;
};

struct workload_price {
    struct str name; /* node type or instance type */
    struct place place;
    int64_t price;
};

struct workload_machine {
    struct str type;
    struct place place;
    struct resource_set resources;
};

struct workload_file {
    struct str about;
    int64_t duration;
    const struct workload_class *classes;
    size_t class_count;
    const struct workload_bundle *bundles; /* request_resources */
    size_t bundle_count;
    int64_t spot_life; /* 0: not set */
    int64_t spot_notice;
    int64_t spot_share;
    const struct workload_price *prices;
    size_t price_count;
    const struct workload_machine *machines;
    size_t machine_count;
};

/*
 * Reads the file in `source`; `hours` from the command line overrides the file's unless 0. NULL if
 * there are errors. Everything is allocated in the arena.
 */
struct workload_file *workload_file_read(struct arena *arena, const struct source *source,
                                         int64_t hours, struct diag_list *diags) MUST_USE;

/* The price of a node type or instance type in `prices`; false if there is none. */
bool workload_price_find(const struct workload_file *file, struct str name,
                         int64_t *ret_price) MUST_USE;
