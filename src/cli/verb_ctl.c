/* verb_ctl.c: the head's end of the control channel; started over ssh by other verbs. */
#include "app/head/ctl.h"
#include "cli/verb.h"

enum { WAIT_MS = 10 * 1000 };

struct ctl_fields {
    const char *folder;
    bool waits;
};

static const struct option options[] = {
    {"folder", 0, OPTION_TEXT, offsetof(struct ctl_fields, folder), "FOLDER", NULL,
     "The service's folder. The default is ~/.shoal/cluster."},
    {"wait", 0, OPTION_FLAG, offsetof(struct ctl_fields, waits), NULL, NULL,
     "Give a service that was just started ten seconds to listen."},
};

static int run(const struct cli *cli, const void *fields)
{
    const struct ctl_fields *given = fields;
    (void)cli;
    return ctl_relay(given->folder, given->waits ? WAIT_MS : 0);
}

const struct verb verb_ctl = {
    .name = "ctl",
    .summary = "speak with the service of this head",
    .description = "Connects standard input and output with the service that runs the cluster from "
                   "its head. One request a line, as JSON; other verbs of shoal use it over ssh.",
    .options = options,
    .option_count = ARRAY_LEN(options),
    .exit_status = "0 when there was a service, 1 when there was none.",
    .fields_size = sizeof(struct ctl_fields),
    .run = run,
};
