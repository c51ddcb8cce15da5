/*
 * jobs_probe.c: ADDRESS [TOKEN] on the command line, a call per line on standard input: "submit ID
 * CPUS COMMAND", "get ID", "list PREFIX", "stop ID", "delete ID". One line for each answer, so that
 * a test can compare it with what Ray says of itself.
 */
#include "ray/jobs.h"

#include <stdio.h>
#include <string.h>

static void say_err(const char *what, const struct err *err)
{
    printf("%s %s %s\n", what, err_kind_name(err->kind), err->text);
}

static void say_flag(void *context, bool flag, const struct err *err)
{
    if (err) {
        say_err("failed", err);
    } else {
        printf("%s\n", flag ? "yes" : "no");
    }
    loop_stop(context);
}

static void print_job(const struct jobs_job *job)
{
    char code[16] = "-";
    if (job->has_exit_code) {
        snprintf(code, sizeof(code), "%d", job->exit_code);
    }
    printf("job %.*s %s %s %s%.*s %s%.*s\n", STR_ARG(job->submission_id),
           jobs_status_name(job->status), code, job->node_host.len > 0 ? "" : "-",
           STR_ARG(job->node_host), job->node_id.len > 0 ? "" : "-", STR_ARG(job->node_id));
}

static void say_job(void *context, const struct jobs_job *job, const struct err *err)
{
    if (err) {
        say_err("failed", err);
    } else {
        print_job(job);
    }
    loop_stop(context);
}

static void say_list(void *context, const struct jobs_list *list, const struct err *err)
{
    if (err) {
        say_err("failed", err);
    } else {
        printf("list %zu\n", list->count);
    }
    for (size_t i = 0; list && i < list->count; i++) {
        print_job(&list->jobs[i]);
    }
    loop_stop(context);
}

static void submit(struct jobs *jobs, struct str rest, struct loop *loop)
{
    static const struct jobs_pair wait = {{"RAY_JOB_STOP_WAIT_TIME_S", 24}, {"20", 2}};
    uint32_t cpus = 0;
    struct str id = str_cut(&rest, ' ');
    if (!str_to_u32(str_cut(&rest, ' '), &cpus)) {
        cpus = 0;
    }
    struct jobs_request request = {.submission_id = id,
                                   .entrypoint = rest,
                                   .num_cpus = cpus,
                                   .env_vars = &wait,
                                   .env_var_count = 1,
                                   .metadata = &wait,
                                   .metadata_count = 1};
    jobs_submit(jobs, &request, say_flag, loop);
}

static void call(struct jobs *jobs, struct str line, struct loop *loop)
{
    struct str rest = line;
    struct str verb = str_cut(&rest, ' ');
    if (str_is(verb, "submit")) {
        submit(jobs, rest, loop);
    } else if (str_is(verb, "get")) {
        jobs_get(jobs, rest, say_job, loop);
    } else if (str_is(verb, "list")) {
        jobs_list(jobs, rest, say_list, loop);
    } else if (str_is(verb, "stop")) {
        jobs_stop(jobs, rest, say_flag, loop);
    } else {
        jobs_delete(jobs, rest, say_flag, loop);
    }
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct loop *loop = NULL;
    struct http *http = NULL;
    char server[JOBS_SERVER_SIZE];
    char line[1000];
    if (argc < 2 || !jobs_address_parse(str_from(argv[1]), server, &err) ||
        !loop_open(&clock_of_machine, &loop, &err) ||
        !http_open(loop, &(struct http_limits){0}, &http, &err)) {
        fprintf(stderr, "jobs_probe ADDRESS [TOKEN]: %s\n", err.text);
        return 2;
    }
    struct jobs *jobs = jobs_open(&(struct jobs_setup){.http = http,
                                                       .server = server,
                                                       .token = str_from(argc > 2 ? argv[2] : NULL),
                                                       .is_direct = true});
    while (fgets(line, sizeof(line), stdin)) {
        call(jobs, str_trim(str_from(line)), loop);
        loop_run(loop);
        fflush(stdout);
    }
    jobs_close(jobs);
    http_close(http);
    loop_close(loop);
    return 0;
}
