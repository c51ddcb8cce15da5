/* fuzz_jobs.c: any bytes as replies of Ray's Jobs API, and as the address of a dashboard. */
#include "fuzz.h"

#include "ray/jobs.h"

#include <string.h>

static void check_job(const struct jobs_job *job, struct str bytes)
{
    if (job->status >= JOBS_STATUS_COUNT || !jobs_status_name(job->status)) {
        fuzz_fail("the status is known", bytes);
    }
    if (job->node_id.len != 0 && job->node_id.len != 56) {
        fuzz_fail("the id of a node has 56 digits", bytes);
    }
    if (!job->has_exit_code && job->exit_code != 0) {
        fuzz_fail("without an exit code there is none", bytes);
    }
    for (size_t i = 0; i < job->node_host.len; i++) {
        if ((unsigned char)job->node_host.ptr[i] <= ' ' || strchr("/@[]", job->node_host.ptr[i])) {
            fuzz_fail("a host has the characters of a host", bytes);
        }
    }
}

static void check_address(struct str bytes)
{
    char server[JOBS_SERVER_SIZE];
    char again[JOBS_SERVER_SIZE];
    struct err err = {0};
    if (!jobs_address_parse(bytes, server, &err)) {
        if (err.kind != ERR_USAGE) {
            fuzz_fail("a refusal says why", bytes);
        }
        return;
    }
    if (!jobs_address_parse(str_from(server), again, &err) || strcmp(server, again) != 0) {
        fuzz_fail("an address that was read is read as itself", bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {size > 0 ? (const char *)data : "", size};
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct jobs_job job;
    struct jobs_list list;
    struct err err = {0};
    if (jobs_read_job(bytes, &arena, &job, &err)) {
        check_job(&job, bytes);
    } else if (err.kind != ERR_PROTOCOL) {
        fuzz_fail("a refusal says why", bytes);
    }
    if (jobs_read_list(bytes, STR("train-"), &arena, &list, &err)) {
        for (size_t i = 0; i < list.count; i++) {
            check_job(&list.jobs[i], bytes);
            if (!str_starts(list.jobs[i].submission_id, "train-")) {
                fuzz_fail("only jobs with the prefix are listed", bytes);
            }
        }
    }
    check_address(bytes);
    return 0;
}
