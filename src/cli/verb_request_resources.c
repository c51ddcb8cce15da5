/* verb_request_resources.c: requests a minimum size of the cluster, independent of load. */
#include "cli/bundles.h"
#include "cli/ctl_query.h"
#include "cli/output.h"

#include "base/utf8.h"

struct request_fields {
    struct target_fields target;
    int64_t num_cpus;
    const char *bundles;
};

static const struct operand operands[] = {TARGET_OPERAND(struct request_fields)};

static const struct option options[] = {
    {"num-cpus", 0, OPTION_NUMBER, offsetof(struct request_fields, num_cpus), "N", NULL,
     "Request this many CPUs, on any nodes."},
    {"bundles", 0, OPTION_TEXT, offsetof(struct request_fields, bundles), "JSON", NULL,
     "Request all of these bundles at once: a list of resource maps such as [{\"GPU\": 1}, "
     "{\"CPU\": 4}]."},
    TARGET_NAME_OPTION(struct request_fields),
    TARGET_PROFILE_OPTION(struct request_fields),
    TARGET_VERBOSE_OPTION(struct request_fields),
};

static const struct example examples[] = {
    {"shoal request-resources cluster.yaml --num-cpus 64", "Scale up before the work starts."},
    {"shoal request-resources cluster.yaml --bundles '[{\"GPU\": 2}]'",
     "Request two GPUs on one node."},
    {"shoal request-resources cluster.yaml", "Withdraw the request; idle nodes can then be "
                                             "terminated."},
};

struct verb_request_resources_bundles {
    const struct gcs_bundle *items;
    size_t count;
};

static void verb_request_resources_read_line(void *context, const struct ctl_line *line)
{
    struct target *target = context;
    AUTO_BUF struct buf text;
    buf_init(&text, CTL_LINE_BYTES_MAX);
    if (line->kind == CTL_TEXT) {
        utf8_add_visible(&text, line->text, false);
        fprintf(target->cli.err, "warning: %.*s.\n", STR_ARG(buf_str(&text)));
    }
}

static int verb_request_resources_send(struct target *target, const void *fields)
{
    const struct verb_request_resources_bundles *bundles = fields;
    struct ctl_request request = {.what = STR("request-resources"),
                                  .bundles = bundles->items,
                                  .bundle_count = bundles->count};
    struct err err;
    if (!ctl_query_head(target, &request, verb_request_resources_read_line, target, &err)) {
        return target_fail(target, &err);
    }
    int64_t total = 0;
    for (size_t i = 0; i < bundles->count; i++) {
        total += bundles->items[i].count;
    }
    if (total == 0) {
        fputs("The request is withdrawn; idle nodes can be terminated.\n", target->cli.err);
    } else {
        fprintf(target->cli.err,
                "Requested %lld bundle%s. The request stays until another one replaces it. To "
                "watch: shoal status --watch %.*s\n",
                (long long)total, total == 1 ? "" : "s", STR_ARG(target_text(target)));
    }
    return 0;
}

static int verb_request_resources_run(const struct cli *cli, const void *fields)
{
    const struct request_fields *given = fields;
    struct verb_request_resources_bundles bundles;
    struct err err;
    if (!bundles_read(given->num_cpus, given->bundles, cli->arena, &bundles.items, &bundles.count,
                      &err)) {
        return output_error(cli, &err);
    }
    return target_work(cli, &given->target, verb_request_resources_send, &bundles);
}

const struct verb verb_request_resources = {
    .name = "request-resources",
    .summary = "scale a cluster up before work needs it",
    .description =
        "Does what ray.autoscaler.sdk.request_resources() does: the autoscaler launches nodes "
        "until the cluster has the requested resources, whether or not work is running, and "
        "keeps these nodes even if they are idle. A cluster has only one such request: a new "
        "request replaces it, and an empty request withdraws it.\n\n"
        "Ray Train and Ray Data use the same request. Once one of them has run in the cluster, "
        "their actor replaces any other request within about 20 s. The command warns if that "
        "actor is alive. To keep nodes while such a run is active, set min_workers in the cluster "
        "file.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if Ray accepted the request, 1 if not, 2 for a usage error, 130 after "
                   "Ctrl-C.",
    .fields_size = sizeof(struct request_fields),
    .run = verb_request_resources_run,
};
