/* verb_logs.c: what the set-up of a node said. */
#include "app/cluster_state.h"
#include "cli/cloud.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "io/file.h"

#include <string.h>

struct logs_fields {
    struct target_fields target;
    const char *node;
    bool follow;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct logs_fields),
    {"NODE", offsetof(struct logs_fields, node), true, COMPLETE_NOTHING, NULL,
     "head, worker-1, ...: as up and status name it. Without it: the head."},
};

static const struct option options[] = {
    {"follow", 'f', OPTION_FLAG, offsetof(struct logs_fields, follow), NULL, NULL,
     "Go on with what comes, until Ctrl-C."},
    TARGET_NAME_OPTION(struct logs_fields),
    TARGET_PROFILE_OPTION(struct logs_fields),
    TARGET_VERBOSE_OPTION(struct logs_fields),
};

static const struct example examples[] = {
    {"shoal logs cluster.yaml worker-2", "The whole output of its set-up."},
    {"shoal logs -f cluster.yaml head", "The same as it happens."},
};

static bool write_out(void *context, struct str bytes)
{
    return fwrite(bytes.ptr, 1, bytes.len, context) == bytes.len;
}

/* What this machine wrote down itself while it set the node up; false: nothing. */
static bool print_kept(const struct target *target, struct str node, struct err *err)
{
    struct cluster_state state;
    struct arena *arena = target->cli.arena;
    if (str_find_char(node, '/') != SIZE_MAX || str_starts(node, ".")) {
        return err_set(err, ERR_USAGE, "\"%.*s\" is no name of a node",
                       STR_ARG(str_sub(node, 0, 100)));
    }
    if (!cluster_state_open(target->config, false, arena, &state, err)) {
        return false;
    }
    struct str path = arena_printf(arena, "%s/log/%.*s", state.folder, STR_ARG(node));
    return file_stream(path.ptr, write_out, target->cli.out, err) && fflush(target->cli.out) == 0;
}

/* The laptop sets the head up, the head sets the workers up: each keeps what it was told. */
static int print_log(struct target *target, const void *fields)
{
    const struct logs_fields *given = fields;
    struct str node = given->node ? str_from(given->node) : STR("head");
    bool follows = given->follow;
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    struct err kept;
    bool ok = target_find(target, &head, &place, &err) &&
              talk_log(&target->session, &place, target->cli.arena, node, follows, target->cli.out,
                       &err);
    if (ok) {
        return 0;
    }
    if (err.kind == ERR_CANCELLED) {
        return follows ? 0 : target_fail(target, &err);
    }
    if (!print_kept(target, node, &kept)) {
        return target_fail(target, &err);
    }
    cloud_print_lines(&target->cli, "note",
                      arena_printf(target->cli.arena,
                                   "this is what was kept on this machine; the head was not asked "
                                   "(%s)",
                                   err.text));
    return 0;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct logs_fields *given = fields;
    return target_work(cli, &given->target, print_log, given);
}

const struct verb verb_logs = {
    .name = "logs",
    .summary = "print what the set-up of a node said",
    .description =
        "Prints what the commands of a node's set-up wrote, every node's apart. The service on the "
        "head is asked, by ssh; when it does not answer, what this machine kept when it set the "
        "node up is printed: the head is set up from here.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .fields_size = sizeof(struct logs_fields),
    .run = run,
};
