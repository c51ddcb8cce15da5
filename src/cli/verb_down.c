/* verb_down.c: deletes a cluster. */
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/columns.h"
#include "cli/confirm.h"
#include "cli/disks.h"
#include "cli/json_object.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "io/file.h"

#include <string.h>
#include <unistd.h>

struct down_fields {
    struct target_fields target;
    bool yes;
    bool workers_only;
    bool keep_min_workers;
    bool terminate;
    const char *region;
    const char *uid;
    const char *output;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct down_fields, target.file), false, COMPLETE_CLUSTER, NULL,
     "The cluster file, as for ray up, or the name of a cluster. With --region, or if the "
     "cluster was started from this machine, no file is needed. The default is $SHOAL_CLUSTER, "
     "or cluster.yaml in this directory.",
     false, cluster_choice},
};

static const struct option options[] = {
    {"yes", 'y', OPTION_FLAG, offsetof(struct down_fields, yes), NULL, NULL, "Do not ask."},
    {"workers-only", 0, OPTION_FLAG, offsetof(struct down_fields, workers_only), NULL, NULL,
     "Terminate the workers but not the head."},
    {"keep-min-workers", 0, OPTION_FLAG, offsetof(struct down_fields, keep_min_workers), NULL, NULL,
     "Keep min_workers workers of each node type. With --workers-only the head keeps running too; "
     "else the workers that stay shut down when they have lost contact with the head for 15 "
     "minutes (metadata.shoal.contact_timeout_minutes)."},
    {"terminate", 0, OPTION_FLAG, offsetof(struct down_fields, terminate), NULL, NULL,
     "Terminate all instances, including stopped ones, even if the file sets "
     "cache_stopped_nodes: true."},
    {"region", 0, OPTION_TEXT, offsetof(struct down_fields, region), "REGION", NULL,
     "The region of a cluster that is given by its name. No file is needed then, only "
     "credentials."},
    {"project", 0, OPTION_TEXT, offsetof(struct down_fields, target.project), "ID", NULL,
     "The Google Cloud project of a cluster that is given by its name. No file is needed then, "
     "only credentials. --region is optional: it only selects the cluster's files on this "
     "machine."},
    {"uid", 0, OPTION_TEXT, offsetof(struct down_fields, uid), "UID", NULL,
     "Remove the cluster with this shoal-cluster-uid tag, if several have the same name."},
    TARGET_NAME_OPTION(struct down_fields),
    TARGET_PROFILE_OPTION(struct down_fields),
    {"output", 'o', OPTION_CHOICE, offsetof(struct down_fields, output), "FORMAT", text_or_json,
     "Output format: json prints one object on standard output at the end; progress goes to "
     "standard error."},
    TARGET_LOG_OPTIONS(struct down_fields),
};

static const struct example examples[] = {
    {"shoal down cluster.yaml", "Ask, then remove everything that was created for the cluster."},
    {"shoal down -y --workers-only cluster.yaml", "Keep the head and terminate the workers."},
    {"shoal down --workers-only --keep-min-workers cluster.yaml",
     "Terminate the workers beyond min_workers."},
    {"shoal down --terminate cluster.yaml", "Terminate stopped instances too, with their disks."},
    {"shoal down demo", "Remove a cluster by its name, if it was started from this machine."},
    {"shoal down demo --region us-west-2", "Remove a cluster by its name, from any machine, "
                                           "without its file."},
    {"shoal down demo --project my-project", "The same on Google Cloud."},
};

/* ---- stopped instances ---- */

/*
 * Ray stops instances by default without saying so, and their disks keep costing money. Shoal
 * terminates them, unless the file itself asks for stopping.
 */
static bool keeps_stopped(const struct target *target, bool is_terminate)
{
    const struct value *written = value_get_c(target->config->provider, "cache_stopped_nodes");
    bool is_users = written && place_is_users(written->place);
    bool keeps = is_users && value_is_true(written) && !is_terminate;
    struct str words = target_text(target);
    if (config_is_local(target->config)) {
        return false; /* own machines are neither terminated nor stopped */
    }
    if (keeps) {
        disks_say(target);
        cloud_print_lines(&target->cli, "note",
                          arena_printf(target->cli.arena,
                                       "cache_stopped_nodes is true: instances are stopped, not "
                                       "terminated; shoal down --terminate %.*s terminates them",
                                       STR_ARG(words)));
    } else if (!is_users && target->file) {
        cloud_print_lines(&target->cli, "note",
                          STR("instances are terminated with their disks; to stop them instead, "
                              "set cache_stopped_nodes: true in the file"));
    }
    return keeps;
}

/* ---- confirmation ---- */

/* "demo on aws us-west-2: 3 instances ($0.17/h) will be terminated with their disks." */
static struct str verb_down_question_of(const struct target *target,
                                        const struct launcher_seen *seen, bool keeps)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    utf8_add_visible(&out, target->config->cluster_name, false);
    buf_addf(&out, " on %.*s: ", STR_ARG(target_where(target)));
    if (seen->count == 0) {
        buf_add_c(&out, target->setup.is_workers_only
                            ? "no workers are listed. The head will not be changed."
                            : "no instances are listed. The cluster's other resources will be "
                              "deleted.");
        return arena_str(target->cli.arena, buf_str(&out));
    }
    bool is_one = seen->count == 1;
    buf_addf(&out, "%zu %s%s", seen->count, target->setup.is_workers_only ? "worker" : "instance",
             is_one ? "" : "s");
    if (seen->price > 0 || !seen->is_priced) {
        buf_add_c(&out, " (");
        columns_add_hourly(&out, seen->price, seen->is_priced);
        buf_add_c(&out, ")");
    }
    if (config_is_local(target->config)) {
        buf_addf(&out, " will be freed: Ray is stopped on %s.", is_one ? "it" : "them");
        return arena_str(target->cli.arena, buf_str(&out));
    }
    buf_addf(&out, " will be %s %s disk%s.", keeps ? "stopped and keep" : "terminated with",
             is_one ? "its" : "their", is_one ? "" : "s");
    return arena_str(target->cli.arena, buf_str(&out));
}

/* The session is closed during the question, because it would handle Ctrl-C. */
static int verb_down_request(struct target *target, const struct down_fields *given, bool keeps)
{
    struct launcher_seen seen;
    struct err err;
    if (given->yes) {
        return 0;
    }
    if (!launcher_see(&target->setup, target->cli.arena, &seen, &err)) {
        return target_fail(target, &err);
    }
    struct str question = verb_down_question_of(target, &seen, keeps);
    target_close(target);
    return confirm(&target->cli, question.ptr, false, &err) ? target_connect_again(target)
                                                            : target_fail(target, &err);
}

/* ---- the verb ---- */

static int take_down(struct target *target, const struct down_fields *given)
{
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    struct value *record = is_json ? record_new(target->cli.arena) : NULL;
    struct err err;
    bool keeps = keeps_stopped(target, given->terminate);
    /* Confirmation is impossible without a terminal, so the cloud is not queried either. */
    if (!given->yes && isatty(STDIN_FILENO) != 1 && !confirm(&target->cli, "", false, &err)) {
        return target_fail(target, &err);
    }
    int status = target_connect(target);
    if (status != 0) {
        return status;
    }
    target_announce(target);
    target->setup.is_workers_only = given->workers_only;
    target->setup.keeps_min = given->keep_min_workers;
    target->setup.keeps_stopped = keeps;
    target->setup.uid = str_from(given->uid);
    status = verb_down_request(target, given, keeps);
    if (status != 0) {
        return status;
    }
    status = launch_down(target, record);
    return record ? launch_print(target, record, status) : status;
}

/* Where a cluster is that is given by its name, and whose file is not here any more. */
static struct str region_of(const struct cli *cli, const struct down_fields *given)
{
    struct cluster_known known;
    struct err ignored;
    if (given->region) {
        return str_from(given->region);
    }
    bool is_google = given->target.project != NULL;
    bool is_named = cluster_choice_named(given->target.file, cli->arena, &known, &ignored) &&
                    strcmp(known.cloud, is_google ? "gcp" : "aws") == 0;
    bool has_file = is_named && known.file && file_stat(known.file).kind == FILE_REGULAR;
    return is_named && (is_google || !has_file) ? known.region : STR("");
}

static int verb_down_run(const struct cli *cli, const void *fields)
{
    const struct down_fields *given = fields;
    struct target target;
    struct err err;
    struct str region = region_of(cli, given);
    bool is_named = given->region || given->target.project || region.len > 0;
    if (given->target.project && *given->target.project == '\0') {
        err_set(&err, ERR_USAGE, "--project is empty; name a Google Cloud project");
        return output_error(cli, &err);
    }
    if (given->keep_min_workers && is_named) {
        err_set(&err, ERR_USAGE,
                "--keep-min-workers needs the cluster file, which has min_workers; nothing was "
                "changed");
        return output_error(cli, &err);
    }
    int status = is_named ? target_open_named(&target, cli, &given->target, region)
                          : target_open(&target, cli, &given->target, INPUT_AS_RAY);
    if (status == 0) {
        status = take_down(&target, given);
    }
    target_close(&target);
    return status;
}

const struct verb verb_down = {
    .name = "down",
    .summary = "remove a cluster and stop paying for it",
    .description =
        "Terminates all instances of the cluster and deletes the other resources that were "
        "created for it: security group, key pair, IAM role and launch template. It asks first. "
        "Only resources with the cluster's own tag (shoal-cluster-uid) are changed. At the end "
        "it checks that every launch is accounted for and that a complete listing shows no "
        "resources. EC2 may list a new instance with a delay, so if a launch has not been listed "
        "yet, it lists again after a minute. Resources that could not be deleted or checked are "
        "printed, and the exit status is 1.\n\n"
        "It works from any machine, without local state, and even if the lease object of the "
        "cluster (the launch template shoal-anchor-NAME) was deleted; it never creates one. "
        "Instances that ray up launched under the same name are printed, but not changed.\n\n"
        "With --region, or with --project on Google Cloud, the cluster is given by its name, and "
        "only credentials are needed: shoal down NAME --region REGION. The command then connects "
        "to the head as user ubuntu to ask its service to release the lease. If that fails, it "
        "takes the lease over, and the final check takes two minutes.\n\n"
        "By default, Ray's launcher only stops instances on AWS, and their disks are still "
        "billed. shoal down terminates them, unless the file sets provider.cache_stopped_nodes "
        "to true. Then it stops them and prints what their disks cost a month.\n\n"
        "With -o json the object on standard output has: cluster, where, nodes (as in shoal up), "
        "terminated_instances, stopped_instances, kept_instances, removed_resources, "
        "dollars (the cost of the terminated instances, without traffic; null: "
        "unknown), left (kind, id, note), nothing_left, took_ms.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if nothing is left, 1 if something is left or an operation failed, 2 for a "
                   "usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct down_fields),
    .run = verb_down_run,
};
