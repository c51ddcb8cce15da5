/* finding.h: the results of a preflight, before anything is created. */
#pragma once

#include "base/str.h"

#include <stddef.h>

enum finding_level { FINDING_FINE, FINDING_WARNING, FINDING_ERROR };

/* One row below a finding, for example a subnet and why it was rejected. */
struct finding_row {
    struct str name, where;
    struct str why;
    struct str remedy; /* what to change; empty: nothing would help */
    struct str path;   /* dotted key of the remedy in the cluster file; may be empty */
};

struct finding {
    enum finding_level level;
    struct str subject; /* "credentials", "image", "subnets", ... */
    struct str text;    /* one sentence without its period */
    struct str path;    /* dotted key it is about: "available_node_types.gpu.node_config.ImageId" */
    struct str remedy;
    const struct finding_row *rows;
    size_t row_count;
    /* What the preflight could not find out, although a launch depends on it: "the permission to
     * create the head's IAM role"; usually empty. */
    struct str unchecked;
};

/*
 * In order, each asks more. FOR_CHANGE, an `up` of a cluster that exists, also asks for what the
 * role of the head depends on. FOR_UP also checks for instances of another launcher with the
 * cluster's name, and whether a launch is allowed. FOR_PEOPLE reports whose credentials are used.
 */
enum preflight_scope {
    PREFLIGHT_FOR_LAUNCH,
    PREFLIGHT_FOR_CHANGE,
    PREFLIGHT_FOR_UP,
    PREFLIGHT_FOR_PEOPLE,
};
