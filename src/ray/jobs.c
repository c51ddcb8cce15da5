/* jobs.c: the calls of the Jobs API, and the meaning of their failures. */
#include "ray/jobs.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "io/json_line.h"
#include "io/xalloc.h"

#include <ctype.h>
#include <jansson.h>

enum {
    DEADLINE_MS = 30 * 1000,
    REPLY_BYTES_MAX = 32 << 20, /* a list has the records of every job that Ray remembers */
    REQUEST_BYTES_MAX = 4 << 20,
    URL_BYTES_MAX = 1024,
    WHY_BYTES_MAX = 240,
};

struct jobs {
    struct http *http;
    struct arena arena;
    const char *server, *ca_file;
    struct str bearer; /* "Bearer ..."; empty if none */
    bool is_direct;
    int64_t deadline_ms;
    struct jobs_call *calls;
};

/* In the list of its client until its `done` is called. */
struct jobs_call {
    struct jobs *jobs;
    struct http_call *http; /* NULL while it is being refused */
    void (*handle)(struct jobs_call *call, const struct http_reply *reply);
    const char *what; /* for messages: "submit job" */
    union {
        jobs_submit_fn *submit;
        jobs_get_fn *get;
        jobs_list_fn *list;
        jobs_logs_fn *logs;
        jobs_end_fn *end;
    } done;
    void *context;
    struct arena arena;
    struct str id; /* of its job; or the prefix of a list */
    struct str entrypoint;
    const char *field; /* of the reply to an end: "stopped", "deleted" */
    struct err err;    /* of a refused call, or of a submission that is being looked up */
    struct loop_task refusal;
    struct jobs_call *next, *before;
};

/* ---- opening and closing ---- */

struct jobs *jobs_open(const struct jobs_setup *setup)
{
    struct jobs *jobs = HEAP_NEW(struct jobs);
    arena_init_secret(&jobs->arena); /* contains the token */
    jobs->http = setup->http;
    jobs->server = arena_str(&jobs->arena, str_from(setup->server)).ptr;
    jobs->ca_file = setup->ca_file ? arena_str(&jobs->arena, str_from(setup->ca_file)).ptr : NULL;
    jobs->is_direct = setup->is_direct;
    jobs->deadline_ms = setup->deadline_ms > 0 ? setup->deadline_ms : DEADLINE_MS;
    if (setup->token.len > 0) {
        jobs->bearer = arena_printf(&jobs->arena, "Bearer %.*s", STR_ARG(setup->token));
    }
    return jobs;
}

static struct jobs_call *new_call(struct jobs *jobs, const char *what, struct str id, void *context)
{
    struct jobs_call *call = HEAP_NEW(struct jobs_call);
    arena_init(&call->arena);
    call->jobs = jobs;
    call->what = what;
    call->id = arena_str(&call->arena, id);
    call->context = context;
    call->next = jobs->calls;
    if (jobs->calls) {
        jobs->calls->before = call;
    }
    jobs->calls = call;
    return call;
}

/* Before `done`, which may close the client. */
static void jobs_leave_list(struct jobs_call *call)
{
    if (call->before) {
        call->before->next = call->next;
    } else {
        call->jobs->calls = call->next;
    }
    if (call->next) {
        call->next->before = call->before;
    }
    call->jobs = NULL;
}

static void jobs_free_call(struct jobs_call *call)
{
    arena_clear(&call->arena);
    free(call);
}

void jobs_close(struct jobs *jobs)
{
    while (jobs->calls) {
        struct jobs_call *call = jobs->calls;
        jobs_leave_list(call);
        loop_later_cancel(http_loop(jobs->http), &call->refusal);
        if (call->http) {
            http_forget(call->http);
        }
        jobs_free_call(call);
    }
    arena_clear(&jobs->arena);
    free(jobs);
}

/* ---- sending ---- */

static void jobs_handle(void *context, const struct http_reply *reply)
{
    struct jobs_call *call = context;
    call->http = NULL;
    call->handle(call, reply);
}

/* `tail` follows the id. */
static void jobs_send(struct jobs_call *call, const char *method, struct str id, const char *tail,
                      struct str body)
{
    const struct jobs *jobs = call->jobs;
    AUTO_BUF struct buf url;
    struct http_header headers[2] = {{STR("Content-Type"), STR("application/json")}};
    size_t count = 1;
    buf_init(&url, URL_BYTES_MAX);
    buf_addf(&url, "%s/api/jobs/%.*s%s", jobs->server, STR_ARG(id), tail);
    if (jobs->bearer.len > 0) {
        headers[count++] = (struct http_header){STR("Authorization"), jobs->bearer};
    }
    struct http_request request = {
        .method = method,
        .url = buf_str(&url).ptr,
        .headers = headers,
        .header_count = count,
        .body = body,
        .is_direct = jobs->is_direct,
        .ca_file = jobs->ca_file,
        .total_ms = jobs->deadline_ms,
        .body_max = REPLY_BYTES_MAX,
        .done = jobs_handle,
        .context = call,
    };
    call->http = http_start(jobs->http, &request);
}

/* Never sends the call, and reports its error from the loop. */
static void jobs_end_refused(void *context)
{
    struct jobs_call *call = context;
    call->handle(call, NULL);
}

static void jobs_refuse(struct jobs_call *call)
{
    call->refusal = (struct loop_task){.run = jobs_end_refused, .context = call};
    loop_defer(http_loop(call->jobs->http), &call->refusal);
}

/* The id is a part of URLs, and of file names on the node. */
static bool check_id(struct str id, struct err *err)
{
    bool is_valid = id.len > 0 && id.len <= JOBS_ID_LEN_MAX && id.ptr[0] != '.';
    for (size_t i = 0; is_valid && i < id.len; i++) {
        char c = id.ptr[i];
        is_valid = isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
    }
    return is_valid || err_set(err, ERR_USAGE,
                               "the id of a job must have 1 to %d letters, digits, \"-\", \"_\" "
                               "and \".\", and must not begin with a dot",
                               JOBS_ID_LEN_MAX);
}

/* ---- failures ---- */

/* The last line that says something: Ray answers with the traceback of an exception. */
static struct str last_line(struct str text)
{
    struct str rest = str_trim(text);
    struct str line = rest;
    while (rest.len > 0) {
        struct str next = str_trim(str_cut(&rest, '\n'));
        line = next.len > 1 ? next : line;
    }
    return line;
}

/* The agent's refusal comes through the head as an internal error of the head. */
static enum err_kind kind_of_status(const struct http_reply *reply)
{
    switch (reply->status) {
    case 401:
    case 403:
        return ERR_AUTH;
    case 404:
        return ERR_NOT_FOUND;
    case 429:
        return ERR_THROTTLED;
    default:
        break;
    }
    bool is_refusal = reply->status < 500 ||
                      str_find(reply->body, "Request failed with status code 4") != SIZE_MAX ||
                      str_find(reply->body, "non-terminal state") != SIZE_MAX;
    return is_refusal ? ERR_PROTOCOL : ERR_UNAVAILABLE;
}

static bool is_success(const struct http_reply *reply)
{
    return reply->outcome == HTTP_REPLIED && reply->status == 200;
}

/* Writes why the reply is not a success. */
static void jobs_explain(const struct jobs_call *call, const struct http_reply *reply,
                         bool has_effect, struct err *err)
{
    AUTO_BUF struct buf why;
    buf_init(&why, (size_t)4 * WHY_BYTES_MAX);
    if (reply->outcome != HTTP_REPLIED) {
        bool is_unknown = has_effect && reply->may_have_acted;
        *err = reply->err;
        err->kind = is_unknown ? ERR_TIMEOUT : ERR_UNAVAILABLE;
        err_prepend(err, "cannot %s %.*s%s", call->what, STR_ARG(call->id),
                    is_unknown ? ", or Ray's answer was lost" : "");
        return;
    }
    utf8_add_visible(&why, str_sub(last_line(reply->body), 0, WHY_BYTES_MAX), false);
    struct str shown = buf_str(&why);
    enum err_kind kind = kind_of_status(reply);
    if (kind == ERR_AUTH) {
        err_set(err, kind,
                "cannot %s %.*s: the dashboard at %s refused the token (HTTP %d: %.*s); use the "
                "cluster's token, which the head has in ~/.ray/auth_token",
                call->what, STR_ARG(call->id), call->jobs->server, reply->status, STR_ARG(shown));
        return;
    }
    err_set(err, kind, "cannot %s %.*s: the dashboard at %s answered HTTP %d%s%.*s", call->what,
            STR_ARG(call->id), call->jobs->server, reply->status, shown.len > 0 ? ": " : "",
            STR_ARG(shown));
}

/* ---- submit ---- */

static void end_submit(struct jobs_call *call, bool is_new, const struct err *err)
{
    jobs_leave_list(call);
    call->done.submit(call->context, is_new, err);
    jobs_free_call(call);
}

/* The reply to the lookup after a submission with an unclear result. */
static void on_lookup(struct jobs_call *call, const struct http_reply *reply)
{
    struct jobs_job job;
    struct err err;
    if (!is_success(reply)) {
        /* Known to be missing: the first error is the result. Otherwise nothing is known. */
        bool is_missing = reply->outcome == HTTP_REPLIED && reply->status == 404;
        call->err.kind = is_missing ? call->err.kind : ERR_TIMEOUT;
        end_submit(call, false, &call->err);
    } else if (!jobs_read_job(reply->body, &call->arena, &job, &err)) {
        end_submit(call, false, &err);
    } else if (!str_eq(job.entrypoint, call->entrypoint)) {
        err_set(&err, ERR_EXISTS, "Ray has a job %.*s with another command; choose another name",
                STR_ARG(call->id));
        end_submit(call, false, &err);
    } else {
        end_submit(call, false, NULL);
    }
}

static bool is_our_id(struct str body, struct str id, struct err *err)
{
    json_t *object;
    if (!json_line_read(body, "the reply to a submission", &object, err)) {
        return false;
    }
    const json_t *value = json_object_get(object, "submission_id");
    struct str text = {json_string_value(value), json_string_length(value)};
    bool is_ours = json_is_string(value) && str_eq(text, id);
    json_decref(object);
    return is_ours || err_set(err, ERR_PROTOCOL, "Ray's reply is not about job %.*s", STR_ARG(id));
}

static void on_submitted(struct jobs_call *call, const struct http_reply *reply)
{
    if (!reply) {
        end_submit(call, false, &call->err);
        return;
    }
    if (is_success(reply)) {
        bool is_ours = is_our_id(reply->body, call->id, &call->err);
        end_submit(call, is_ours, is_ours ? NULL : &call->err);
        return;
    }
    bool has_answer = reply->outcome == HTTP_REPLIED;
    jobs_explain(call, reply, true, &call->err);
    if (call->err.kind == ERR_AUTH || (!has_answer && !reply->may_have_acted)) {
        end_submit(call, false, &call->err);
        return;
    }
    call->handle = on_lookup;
    jobs_send(call, "GET", call->id, "", (struct str){0});
}

/* NULL if a text is not UTF-8: setting that as a value fails. */
static json_t *pairs_of(const struct jobs_pair *pairs, size_t count, struct arena *arena)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        struct str value = arena_str(arena, pairs[i].value);
        if (json_object_set_new(object, arena_str(arena, pairs[i].name).ptr,
                                json_stringn(value.ptr, value.len)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* The same, also for amounts that are not finite. */
static json_t *amounts_of(const struct jobs_amount *amounts, size_t count, struct arena *arena)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++) {
        if (json_object_set_new(object, arena_str(arena, amounts[i].name).ptr,
                                json_real(amounts[i].amount)) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static bool put_parts(const struct jobs_request *from, struct arena *arena, json_t *object,
                      json_t *environment)
{
    struct str entrypoint = arena_str(arena, from->entrypoint);
    return json_object_set_new(object, "entrypoint",
                               json_stringn(entrypoint.ptr, entrypoint.len)) == 0 &&
           json_object_set_new(environment, "env_vars",
                               pairs_of(from->env_vars, from->env_var_count, arena)) == 0 &&
           json_object_set_new(object, "metadata",
                               pairs_of(from->metadata, from->metadata_count, arena)) == 0 &&
           json_object_set_new(object, "entrypoint_resources",
                               amounts_of(from->resources, from->resource_count, arena)) == 0 &&
           json_object_set_new(object, "entrypoint_num_cpus", json_real(from->num_cpus)) == 0 &&
           json_object_set_new(object, "entrypoint_num_gpus", json_real(from->num_gpus)) == 0;
}

/* Zeros and empty maps are Ray's own defaults. */
static bool write_request(const struct jobs_request *from, struct arena *arena, struct buf *out,
                          struct err *err)
{
    json_t *object = json_object();
    json_t *environment = json_object();
    bool is_whole = put_parts(from, arena, object, environment);
    json_put_text(object, "submission_id", from->submission_id);
    json_object_set_new(object, "runtime_env", environment);
    json_put_out(object, false, out);
    if (out->is_full) {
        return err_set(err, ERR_USAGE, "the command and variables of a job are larger than %d MB",
                       REQUEST_BYTES_MAX >> 20);
    }
    return is_whole || err_set(err, ERR_USAGE,
                               "the command, variables and resources of a job must be UTF-8 text "
                               "and numbers");
}

void jobs_submit(struct jobs *jobs, const struct jobs_request *request, jobs_submit_fn *done,
                 void *context)
{
    struct jobs_call *call = new_call(jobs, "submit job", request->submission_id, context);
    AUTO_BUF struct buf body;
    buf_init(&body, REQUEST_BYTES_MAX);
    call->handle = on_submitted;
    call->done.submit = done;
    call->entrypoint = arena_str(&call->arena, request->entrypoint);
    if (check_id(call->id, &call->err) && write_request(request, &call->arena, &body, &call->err)) {
        jobs_send(call, "POST", (struct str){0}, "", buf_str(&body));
    } else {
        jobs_refuse(call);
    }
}

/* ---- get and list ---- */

static void on_job(struct jobs_call *call, const struct http_reply *reply)
{
    struct jobs_job job;
    bool is_read = false;
    if (reply && !is_success(reply)) {
        jobs_explain(call, reply, false, &call->err);
    } else if (reply) {
        is_read = jobs_read_job(reply->body, &call->arena, &job, &call->err);
    }
    jobs_leave_list(call);
    call->done.get(call->context, is_read ? &job : NULL, is_read ? NULL : &call->err);
    jobs_free_call(call);
}

static void on_logs(struct jobs_call *call, const struct http_reply *reply)
{
    struct str text = {0};
    json_t *object = NULL;
    bool is_read = false;
    if (reply && !is_success(reply)) {
        jobs_explain(call, reply, false, &call->err);
    } else if (reply) {
        is_read = json_line_read(reply->body, "the logs of a job", &object, &call->err);
        const json_t *value = json_object_get(object, "logs");
        text = (struct str){json_string_value(value), json_string_length(value)};
    }
    jobs_leave_list(call);
    call->done.logs(call->context, text, is_read ? NULL : &call->err);
    json_decref(object);
    jobs_free_call(call);
}

void jobs_logs(struct jobs *jobs, struct str submission_id, jobs_logs_fn *done, void *context)
{
    struct jobs_call *call = new_call(jobs, "read the logs of job", submission_id, context);
    call->handle = on_logs;
    call->done.logs = done;
    if (check_id(call->id, &call->err)) {
        jobs_send(call, "GET", call->id, "/logs", (struct str){0});
    } else {
        jobs_refuse(call);
    }
}

void jobs_get(struct jobs *jobs, struct str submission_id, jobs_get_fn *done, void *context)
{
    struct jobs_call *call = new_call(jobs, "look up job", submission_id, context);
    call->handle = on_job;
    call->done.get = done;
    if (check_id(call->id, &call->err)) {
        jobs_send(call, "GET", call->id, "", (struct str){0});
    } else {
        jobs_refuse(call);
    }
}

static void on_list(struct jobs_call *call, const struct http_reply *reply)
{
    struct jobs_list list;
    bool is_read = false;
    if (!is_success(reply)) {
        jobs_explain(call, reply, false, &call->err);
    } else {
        is_read = jobs_read_list(reply->body, call->id, &call->arena, &list, &call->err);
    }
    jobs_leave_list(call);
    call->done.list(call->context, is_read ? &list : NULL, is_read ? NULL : &call->err);
    jobs_free_call(call);
}

void jobs_list(struct jobs *jobs, struct str prefix, jobs_list_fn *done, void *context)
{
    struct jobs_call *call = new_call(jobs, "list jobs", prefix, context);
    call->handle = on_list;
    call->done.list = done;
    jobs_send(call, "GET", (struct str){0}, "", (struct str){0});
}

/* ---- stop and delete ---- */

static bool read_flag(struct str body, const char *field, bool *ret_flag, struct err *err)
{
    json_t *object;
    if (!json_line_read(body, "Ray's reply", &object, err)) {
        return false;
    }
    const json_t *value = json_object_get(object, field);
    bool is_flag = json_is_boolean(value);
    *ret_flag = json_is_true(value);
    json_decref(object);
    return is_flag || err_set(err, ERR_PROTOCOL, "Ray's reply has no \"%s\"", field);
}

static void on_end(struct jobs_call *call, const struct http_reply *reply)
{
    bool has_acted = false;
    bool is_read = false;
    if (reply && !is_success(reply)) {
        jobs_explain(call, reply, true, &call->err);
    } else if (reply) {
        is_read = read_flag(reply->body, call->field, &has_acted, &call->err);
    }
    jobs_leave_list(call);
    call->done.end(call->context, is_read && has_acted, is_read ? NULL : &call->err);
    jobs_free_call(call);
}

void jobs_stop(struct jobs *jobs, struct str submission_id, jobs_end_fn *done, void *context)
{
    struct jobs_call *call = new_call(jobs, "stop job", submission_id, context);
    call->handle = on_end;
    call->done.end = done;
    call->field = "stopped";
    if (check_id(call->id, &call->err)) {
        jobs_send(call, "POST", call->id, "/stop", (struct str){0});
    } else {
        jobs_refuse(call);
    }
}

void jobs_delete(struct jobs *jobs, struct str submission_id, jobs_end_fn *done, void *context)
{
    struct jobs_call *call = new_call(jobs, "delete job", submission_id, context);
    call->handle = on_end;
    call->done.end = done;
    call->field = "deleted";
    if (check_id(call->id, &call->err)) {
        jobs_send(call, "DELETE", call->id, "", (struct str){0});
    } else {
        jobs_refuse(call);
    }
}
