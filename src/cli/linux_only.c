/* linux_only.c: on macOS, the commands that run on nodes say that they need Linux. */
#include "cli/autoscaler_run.h"
#include "cli/output.h"

static int linux_only_run(const struct cli *cli)
{
    struct err err;
    err_set(&err, ERR_USAGE,
            "this command runs on the nodes of a cluster, which have Linux, and not on macOS; "
            "`shoal up` starts it there");
    return output_error(cli, &err);
}

int autoscaler_run(const struct cli *cli, const void *fields)
{
    (void)fields;
    return linux_only_run(cli);
}

static int linux_only_node(const struct cli *cli, const void *fields)
{
    (void)fields;
    return linux_only_run(cli);
}

static int linux_only_ctl(const struct cli *cli, const void *fields)
{
    (void)fields;
    return linux_only_run(cli);
}

#define LINUX_ONLY_VERB(NAME)                                                \
    const struct verb verb_##NAME = {                                        \
        .name = #NAME,                                                       \
        .summary = "an internal command that Shoal runs on nodes",           \
        .description = "Shoal runs this command on the nodes of a cluster.", \
        .fields_size = 1,                                                    \
        .run = linux_only_##NAME,                                            \
    }

LINUX_ONLY_VERB(ctl);
LINUX_ONLY_VERB(node);
