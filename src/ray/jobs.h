/*
 * jobs.h: a client of Ray's Jobs API, the REST service of the dashboard (port 8265).
 *
 * Every call ends with one call of `done`, from the loop: `err` is NULL on success, otherwise the
 * result is empty. ERR_TIMEOUT: the call may have taken effect. ERR_UNAVAILABLE: it had none, try
 * again. ERR_NOT_FOUND: Ray knows no such job. ERR_AUTH: Ray refused the token. ERR_PROTOCOL: Ray
 * refused the call, or its reply is not valid.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "io/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOBS_SERVER_SIZE = 320, JOBS_ID_LEN_MAX = 200 };

/*
 * Turns what users write into "http://HOST:PORT", without a slash at the end: "http://HOST:PORT",
 * "HOST:PORT", "HOST" (port 8265) and "ray://HOST:10001" (the address of Ray Client, whose host
 * also has the dashboard: port 8265). IPv6 addresses need brackets. "https" is kept. ERR_USAGE.
 */
bool jobs_address_parse(struct str text, char ret_server[JOBS_SERVER_SIZE],
                        struct err *err) MUST_USE;

struct jobs;

struct jobs_setup {
    struct http *http;
    const char *server;  /* from jobs_address_parse() */
    struct str token;    /* empty if authentication is off; see ray/token.h */
    const char *ca_file; /* for https; NULL: the default certificates */
    bool is_direct;      /* bypasses proxies: for a dashboard in the same network */
    int64_t deadline_ms; /* of one request; default 30 s: Ray waits up to 10 s for an agent */
};

/* Strings are copied; `http` must outlive the client. Sends nothing. */
struct jobs *jobs_open(const struct jobs_setup *setup);
/* Cancels its calls: their `done` is no longer called. May be called from `done`. */
void jobs_close(struct jobs *jobs);

/* ---- submitting ---- */

struct jobs_pair {
    struct str name, value;
};

struct jobs_amount {
    struct str name;
    double amount;
};

/* Everything is copied. */
struct jobs_request {
    struct str submission_id; /* letters, digits, ".", "_" and "-" */
    struct str entrypoint;    /* a shell command */
    double num_cpus;          /* 0: none. Without any resource Ray places the job on the head */
    double num_gpus;
    const struct jobs_amount *resources; /* custom ones; Ray refuses "CPU" and "GPU" here */
    size_t resource_count;
    const struct jobs_pair *env_vars;
    size_t env_var_count;
    const struct jobs_pair *metadata;
    size_t metadata_count;
};

/*
 * `is_new` is false if a job with this id and this entrypoint exists, from an earlier call whose
 * reply was lost: that is a success. ERR_EXISTS: the id is that of another command. If Ray's reply
 * is lost or an error of the server, the job is looked up before `done`; sending the same request
 * again is always safe.
 */
typedef void jobs_submit_fn(void *context, bool is_new, const struct err *err);
void jobs_submit(struct jobs *jobs, const struct jobs_request *request, jobs_submit_fn *done,
                 void *context);

/* ---- looking ---- */

enum jobs_status {
    JOBS_PENDING, /* waits for resources or for its supervisor */
    JOBS_RUNNING,
    JOBS_SUCCEEDED,
    JOBS_FAILED,
    JOBS_STOPPED, /* after jobs_stop(); it has no exit code */
    JOBS_STATUS_COUNT
};

const char *jobs_status_name(enum jobs_status status); /* "PENDING", ... */
bool jobs_status_is_final(enum jobs_status status);

struct jobs_job {
    struct str submission_id;
    struct str entrypoint;
    enum jobs_status status;
    struct str message;    /* Ray's, for humans; may be empty */
    struct str error_type; /* such as "JOB_SUPERVISOR_ACTOR_DIED"; empty if none */
    struct str node_id;    /* 56 hexadecimal digits; empty until it runs */
    struct str node_host;  /* address of its node, without port; empty until it runs */
    bool has_exit_code;
    int exit_code;
    int64_t start_ms, end_ms; /* since 1970; 0 if unknown */
};

/* Valid during the call. */
typedef void jobs_get_fn(void *context, const struct jobs_job *job, const struct err *err);
void jobs_get(struct jobs *jobs, struct str submission_id, jobs_get_fn *done, void *context);

struct jobs_list {
    const struct jobs_job *jobs;
    size_t count;
};

/* Jobs whose id begins with `prefix`, in Ray's order. Valid during the call; NULL on failure. */
typedef void jobs_list_fn(void *context, const struct jobs_list *list, const struct err *err);
void jobs_list(struct jobs *jobs, struct str prefix, jobs_list_fn *done, void *context);

/* The output of a job so far. Valid during the call; empty on failure. Ray cannot read that of a
 * node which is gone. */
typedef void jobs_logs_fn(void *context, struct str text, const struct err *err);
void jobs_logs(struct jobs *jobs, struct str submission_id, jobs_logs_fn *done, void *context);

/* ---- ending ---- */

/* `has_acted`: Ray's answer. False from jobs_stop(): the job had already ended. */
typedef void jobs_end_fn(void *context, bool has_acted, const struct err *err);

/* Ray sends SIGTERM, and SIGKILL after the job's env_var RAY_JOB_STOP_WAIT_TIME_S (default 3). A
 * pending job stays pending until it is placed. */
void jobs_stop(struct jobs *jobs, struct str submission_id, jobs_end_fn *done, void *context);

/* Removes the record of a job that has ended; Ray refuses it for others. */
void jobs_delete(struct jobs *jobs, struct str submission_id, jobs_end_fn *done, void *context);

/* ---- parsing of replies; strings live in `arena` ---- */

bool jobs_read_job(struct str body, struct arena *arena, struct jobs_job *ret_job,
                   struct err *err) MUST_USE;
/* Leaves out drivers, which have no submission id, and jobs with other ids. */
bool jobs_read_list(struct str body, struct str prefix, struct arena *arena,
                    struct jobs_list *ret_list, struct err *err) MUST_USE;
