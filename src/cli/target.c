/* target.c: opens the cluster of a FILE: configuration, session, head. */
#include "cli/target.h"

#include "app/cloud_provider.h"
#include "app/launch/adopt.h"
#include "app/launch/head_connection.h"
#include "app/launch/up_failure.h"
#include "cli/cloud.h"
#include "cli/columns.h"
#include "cli/output.h"
#include "cli/remote_line.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/foreground.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const target_log_styles[] = {"auto", "record", "pretty", NULL};
const char *const target_log_colours[] = {"auto", "false", "true", NULL};

enum { FIND_MS = 120 * 1000, AGE_BYTES_MAX = 64, MINUTE_MS = 60 * 1000 };

/* ---- the file ---- */

static struct input_overrides overrides_of(const struct target_fields *given)
{
    struct input_overrides overrides = {.cluster_name = str_from(given->name)};
    if (given->min_workers.count > 0) {
        overrides.min_workers = &given->min_workers.items[given->min_workers.count - 1];
    }
    if (given->max_workers.count > 0) {
        overrides.max_workers = &given->max_workers.items[given->max_workers.count - 1];
    }
    overrides.keep_failed_minutes = (double)given->keep_failed_ms / MINUTE_MS;
    return overrides;
}

/* A name instead of a file: the file that `up` read last for it. */
static bool find_file(struct target *target, struct input_overrides *overrides, struct err *err)
{
    struct cluster_known known;
    const char *word = target->given->file;
    target->file = word;
    if (!cluster_choice_named(word, target->cli.arena, &known, err)) {
        return err->kind == ERR_NONE;
    }
    if (!known.file || file_stat(known.file).kind != FILE_REGULAR) {
        return err_set(err, ERR_NOT_FOUND,
                       "the file of cluster %s was not found on this machine%s%s; give its new "
                       "path, or remove the cluster: shoal down %s --region %.*s%s",
                       word, known.file ? ": " : "", known.file ? known.file : "", word,
                       STR_ARG(known.region),
                       strcmp(known.cloud, "gcp") == 0 ? " --project ID" : "");
    }
    target->file = known.file;
    if (overrides->cluster_name.len == 0) {
        overrides->cluster_name = str_from(word);
    }
    return true;
}

/* Problems that concern every command are reported once, here; warnings belong to validate and
 * up. */
static int target_read_file(struct target *target, enum input_depth depth)
{
    struct err err;
    struct input_overrides overrides = overrides_of(target->given);
    struct input *input = &target->input;
    if (!find_file(target, &overrides, &err) ||
        !input_read_as(&target->cli, target->file, depth, &overrides, input, &err)) {
        return output_error(&target->cli, &err);
    }
    if (!input->config || depth == INPUT_CHECKED) {
        input_print_findings(&target->cli, &input->diags);
    }
    if (!input->config) {
        err_set(&err, ERR_CONFIG, "%s is not valid; nothing was changed", target->file);
        return output_error(&target->cli, &err);
    }
    if (!cloud_provider_supports(input->config, &err)) {
        return output_error(&target->cli, &err);
    }
    target->config = input->config;
    return 0;
}

static const char *full_path(struct arena *arena, const char *file)
{
    char *found = realpath(file, NULL);
    const char *path = arena_str(arena, str_from(found ? found : file)).ptr;
    free(found);
    return path;
}

const char *target_file_or_here(const struct cli *cli, const char *file)
{
    const char *socket = file_expand_home(cli->arena, STR("~/.shoal/cluster/ctl.sock")).ptr;
    if (file || file_stat(socket).kind != FILE_MISSING) {
        return file;
    }
    return cluster_choice(NULL, false);
}

/* ---- the session ---- */

static enum log_level level_of(unsigned verbose)
{
    return verbose == 0 ? LOG_LEVEL_WARNING : verbose == 1 ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
}

static void choose_colours(struct target *target)
{
    const char *colour = target->given->log_color;
    if (colour && strcmp(colour, "auto") != 0) {
        target->cli.colour_err = target->cli.colour_out = strcmp(colour, "true") == 0;
    }
}

int target_open(struct target *target, const struct cli *cli, const struct target_fields *given,
                enum input_depth depth)
{
    *target = (struct target){.cli = *cli, .given = given};
    choose_colours(target);
    return target_read_file(target, depth);
}

int target_open_named(struct target *target, const struct cli *cli,
                      const struct target_fields *given, struct str region)
{
    struct err err;
    *target = (struct target){.cli = *cli, .given = given, .region = region};
    choose_colours(target);
    if (!input_read_named(cli, str_from(given->file), region, str_from(given->project),
                          &target->input, &err)) {
        return output_error(cli, &err);
    }
    target->config = target->input.config;
    return 0;
}

int target_connect_again(struct target *target)
{
    struct err err;
    struct cloud_session_setup setup = {.least = level_of(target->given->verbose)};
    return cloud_session_open(&target->session, &setup, &err) ? 0
                                                              : output_error(&target->cli, &err);
}

bool target_has_instances(const struct target *target, struct str instead, struct err *err)
{
    return !config_is_local(target->config) ||
           err_set(err, ERR_USAGE,
                   "own machines (provider type local) are not stopped and started; %.*s",
                   STR_ARG(instead));
}

void target_announce(const struct target *target)
{
    if (!config_is_local(target->config)) {
        cloud_announce(&target->cli, &target->session);
    }
}

int target_connect(struct target *target)
{
    const struct target_fields *given = target->given;
    int status = target_connect_again(target);
    if (status != 0) {
        return status;
    }
    if (given->verbose > 0) {
        target_announce(target);
    }
    const struct value *cache = value_get_c(target->config->provider, "cache_stopped_nodes");
    target->setup = (struct launcher_setup){
        .keeps_stopped = value_is_true(cache) && place_is_users(cache->place) &&
                         !config_is_local(target->config),
        .session = &target->session,
        .config = target->config,
        .profile = str_from(given->profile),
        .config_path = target->file ? full_path(target->cli.arena, target->file) : NULL,
        .has_usage_stats = !given->no_usage_stats,
    };
    return 0;
}

void target_close(struct target *target)
{
    if (target->session.loop) {
        cloud_session_close(&target->session);
        target->session = (struct cloud_session){0};
    }
}

int target_work(const struct cli *cli, const struct target_fields *given, target_work_fn *work,
                const void *fields)
{
    return target_work_as(cli, given, INPUT_AS_RAY, work, fields);
}

int target_work_as(const struct cli *cli, const struct target_fields *given, enum input_depth depth,
                   target_work_fn *work, const void *fields)
{
    struct target target;
    int status = target_open(&target, cli, given, depth);
    status = status ? status : target_connect(&target);
    status = status ? status : work(&target, fields);
    target_close(&target);
    return status;
}

void target_warn_of_set_up(const struct target *target, const struct launcher_head *head)
{
    if (!head->is_up_to_date) {
        cloud_print_lines(&target->cli, "warning",
                          STR("setup of the head has failed or has not finished"));
    }
}

int target_fail(const struct target *target, const struct err *err)
{
    output_error(&target->cli, err);
    return target->session.loop ? cloud_session_exit_status(&target->session, err)
                                : err_exit_status(err->kind);
}

void target_say_last_failure(const struct target *target)
{
    AUTO_BUF struct buf age;
    struct arena *arena = target->cli.arena;
    struct cluster_state state;
    struct up_failure failure;
    struct err err;
    buf_init(&age, AGE_BYTES_MAX);
    if (!cluster_state_open(target->config, false, arena, &state, &err) ||
        !up_failure_read(&state, arena, &failure, &err)) {
        output_error(&target->cli, &err);
        return;
    }
    if (failure.why.len == 0) {
        return;
    }
    columns_add_age(&age, clock_wall_ms(&clock_of_machine) - failure.wall_ms);
    struct str words = target_text(target);
    struct str text = arena_printf(arena,
                                   "the last `shoal up` failed %.*s ago: %.*s\n`shoal up %.*s` "
                                   "tries again; `shoal down %.*s` removes what was created",
                                   STR_ARG(buf_str(&age)), STR_ARG(failure.why), STR_ARG(words),
                                   STR_ARG(words));
    cloud_print_lines(&target->cli, "note", text);
}

int target_fail_head(const struct target *target, const struct err *err)
{
    int status = target_fail(target, err);
    if (err->kind != ERR_CANCELLED) {
        target_say_last_failure(target);
    }
    return status;
}

/* ---- the head ---- */

struct str target_where(const struct target *target)
{
    struct str region = value_text(value_get_c(target->config->provider, "region"));
    return arena_printf(target->cli.arena, "%.*s%s%.*s", STR_ARG(target->config->provider_type),
                        region.len > 0 ? " " : "", STR_ARG(region));
}

struct str target_text(const struct target *target)
{
    AUTO_BUF struct buf out;
    buf_init(&out, (size_t)PATH_MAX * 2);
    remote_line_quote(&out, str_from(target->given->file));
    if (target->region.len > 0 || target->given->project) {
        bool has_region = target->region.len > 0;
        struct str project = str_from(target->given->project);
        buf_addf(&out, "%s%.*s%s%.*s", has_region ? " --region " : "", STR_ARG(target->region),
                 project.len > 0 ? " --project " : "", STR_ARG(project));
    } else if (target->given->name) {
        buf_add_c(&out, " -n ");
        remote_line_quote(&out, str_from(target->given->name));
    }
    return arena_str(target->cli.arena, buf_str(&out));
}

bool target_is_others(const struct target *target, struct err *err)
{
    struct arena *arena = target->cli.arena;
    struct cluster_folder folder = cluster_folder_find(target->config, arena);
    if (folder.count == 0 || !launcher_know_owner(&target->setup, arena, err)) {
        return false;
    }
    folder = cluster_folder_find(target->config, arena);
    return folder.other.len > 0 && !folder.has_records &&
           !adopt_refuse(target->config, folder.other, arena, err);
}

bool target_find(struct target *target, struct launcher_head *ret_head,
                 struct ssh_target *ret_place, struct err *err)
{
    struct arena *arena = target->cli.arena;
    if (!launcher_find_head(&target->setup, arena, ret_head, err)) {
        if (err->kind == ERR_NOT_FOUND) {
            struct str words = target_text(target);
            if (target_is_others(target, err)) {
                return false;
            }
            return err_set(err, ERR_NOT_FOUND,
                           "cluster %.*s has no head in %.*s; start it with: shoal up %.*s",
                           STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)),
                           STR_ARG(words));
        }
        return false;
    }
    if (!ret_place) {
        return true;
    }
    struct str added;
    if (!launcher_head_place(&target->setup, ret_head, arena, ret_place, err) ||
        !launcher_admit(&target->setup, ret_head, arena, &added, err)) {
        return false;
    }
    if (added.len > 0) {
        cloud_print_lines(&target->cli, "note",
                          arena_printf(arena,
                                       "the head did not answer, and this machine has a new "
                                       "address: ssh from %.*s is allowed now in the cluster's "
                                       "security group; the next shoal up removes rules of other "
                                       "addresses",
                                       STR_ARG(added)));
    }
    return true;
}

bool target_reach(struct target *target, struct launcher_head *ret_head,
                  struct ssh_target *ret_place, struct err *err)
{
    struct arena *arena = target->cli.arena;
    if (!target->given->no_config_cache &&
        head_connection_resume(&target->setup, arena, ret_head, ret_place)) {
        return true;
    }
    if (!target_find(target, ret_head, ret_place, err)) {
        return false;
    }
    head_connection_start(&target->setup, ret_head, arena, ret_place);
    return target->session.signal == 0 || err_set(err, ERR_CANCELLED, "interrupted");
}

/* ---- programs in our terminal ---- */

bool target_has_terminal(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

struct ssh_target target_way(const struct ssh_target *place, bool has_forwards)
{
    struct ssh_target way = *place;
    bool is_terminal = target_has_terminal() && isatty(STDERR_FILENO) == 1;
    if (has_forwards || (!is_terminal && !way.is_client)) {
        way.control = NULL;
    }
    return way;
}

void target_show_argv(const struct target *target, const char *const *argv)
{
    AUTO_BUF struct buf line;
    buf_init(&line, (size_t)REMOTE_LINE_BYTES_MAX * 2);
    for (size_t i = 0; argv[i]; i++) {
        buf_add_c(&line, i > 0 ? " " : "");
        remote_line_quote(&line, str_from(argv[i]));
    }
    if (target->given->verbose > 0) {
        fprintf(target->cli.err, "-> %.*s\n", STR_ARG(buf_str(&line)));
    }
}

int target_run(struct target *target, const char *const *argv, struct str notice)
{
    enum { SSH_FAILED = 255, SIGNAL_BASE = 128 };
    struct err err;
    struct foreground_end end;
    target_show_argv(target, argv);
    fflush(target->cli.out);
    fflush(target->cli.err);
    target_close(target);
    if (!foreground_run(argv, FOREGROUND_OURS, notice, &end, &err)) {
        return output_error(&target->cli, &err);
    }
    /* After a signal, ssh exits as if the connection had failed. */
    return end.signal != 0 && end.status == SSH_FAILED ? SIGNAL_BASE + end.signal : end.status;
}
