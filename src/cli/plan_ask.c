/* plan_ask.c: makes the plan and asks the head for running jobs. */
#include "cli/plan_ask.h"

#include "app/cluster_folder.h"
#include "app/preflight_text.h"
#include "cli/cloud.h"
#include "cli/ctl_query.h"
#include "cli/output.h"

enum { ANSWER_MS = 10 * 1000, FINDINGS_BYTES_MAX = 1 << 20 };

static void plan_ask_give_up(void *context)
{
    cloud_session_stop(context);
}

static void ask_for_jobs(struct target *target, struct up_plan *plan)
{
    struct arena *arena = target->cli.arena;
    struct launcher_head head;
    struct ssh_target place;
    struct ctl_query_status status = {0};
    struct err ignored;
    struct loop_timer *timer = loop_timer_new(target->session.loop, plan_ask_give_up,
                                              &target->session);
    loop_timer_start(timer, ANSWER_MS);
    if (target_reach(target, &head, &place, &ignored) &&
        ctl_query_status(&target->session, &place, arena, &status, &ignored) && status.has_status) {
        plan->jobs = status.status.jobs;
    }
    loop_timer_free(timer);
}

void plan_show_findings(void *context, const struct finding *findings, size_t count)
{
    const struct target *target = context;
    AUTO_BUF struct buf out;
    struct diag_style style = output_style(target->cli.colour_err);
    buf_init(&out, FINDINGS_BYTES_MAX);
    preflight_text_problems(&out, findings, count, target->config->tree, &style);
    fwrite(out.ptr ? out.ptr : "", 1, out.len, target->cli.err);
}

static void tell_of_other(const struct target *target)
{
    struct arena *arena = target->cli.arena;
    struct cluster_folder folder = cluster_folder_find(target->config, arena);
    struct str owner = cluster_folder_owner(target->config, arena);
    if (owner.len > 0 && folder.other.len > 0 && !folder.has_records) {
        cloud_print_lines(&target->cli, "note",
                          arena_printf(arena,
                                       "this machine knows a cluster %.*s of %.*s, which is not "
                                       "changed; this one is of %.*s, and separate",
                                       STR_ARG(target->config->cluster_name), STR_ARG(folder.other),
                                       STR_ARG(owner)));
    }
}

bool plan_ask(struct target *target, struct up_plan *ret_plan, struct err *err)
{
    if (!launcher_plan(&target->setup, target->cli.arena, ret_plan, err)) {
        return false;
    }
    tell_of_other(target);
    if (ret_plan->restarts > 0) {
        ask_for_jobs(target, ret_plan);
    }
    return true;
}

int plan_check_restart(const struct cli *cli, bool no_restart, bool restart_only)
{
    struct err err;
    if (!no_restart || !restart_only) {
        return 0;
    }
    err_set(&err, ERR_USAGE, "--no-restart and --restart-only contradict each other");
    return output_error(cli, &err);
}
