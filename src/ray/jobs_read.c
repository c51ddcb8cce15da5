/* jobs_read.c: addresses of dashboards, and the records of jobs in their replies. */
#include "ray/jobs.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "ray/state.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HOST_LEN_MAX = 255, SHOWN_MAX = 120, PORT_DEFAULT = 8265 };

#define ADDRESS_HELP "write http://HOST:8265, HOST:8265 or ray://HOST:10001"

/* ---- addresses ---- */

/* Text of others in a message: short, without control characters. */
static void jobs_read_show(char ret_shown[SHOWN_MAX + 1], struct str text)
{
    AUTO_BUF struct buf visible;
    buf_init(&visible, (size_t)4 * SHOWN_MAX);
    utf8_add_visible(&visible, str_sub(text, 0, SHOWN_MAX), false);
    struct str shown = str_sub(buf_str(&visible), 0, SHOWN_MAX);
    memcpy(ret_shown, shown.ptr, shown.len);
    ret_shown[shown.len] = '\0';
}

static bool is_host(struct str host, const char *more)
{
    for (size_t i = 0; i < host.len; i++) {
        if (!isalnum((unsigned char)host.ptr[i]) && !strchr(more, host.ptr[i])) {
            return false;
        }
    }
    return host.len > 0 && host.len <= HOST_LEN_MAX && !memchr(host.ptr, '\0', host.len);
}

/* "HOST", "HOST:PORT", "[ADDRESS]:PORT"; the host keeps its brackets. Port 0 if there is none. */
static bool split_host(struct str text, struct str *ret_host, uint32_t *ret_port)
{
    struct str rest = text;
    struct str host;
    uint32_t port = 0;
    if (str_starts(text, "[")) {
        size_t end = str_find_char(text, ']');
        if (end == SIZE_MAX || !is_host(str_sub(text, 1, end), ":.")) {
            return false;
        }
        host = str_sub(text, 0, end + 1);
        rest = str_sub(text, end + 1, text.len);
        if (rest.len > 0 && rest.ptr[0] != ':') {
            return false;
        }
        rest = str_sub(rest, 1, rest.len);
    } else {
        host = str_cut(&rest, ':');
        if (!is_host(host, ".-_")) {
            return false;
        }
    }
    bool has_port = text.len > host.len;
    if (has_port && (!str_to_u32(rest, &port) || port == 0 || port > UINT16_MAX)) {
        return false;
    }
    *ret_host = host;
    *ret_port = port;
    return true;
}

bool jobs_address_parse(struct str text, char ret_server[JOBS_SERVER_SIZE], struct err *err)
{
    struct str rest = str_trim(text);
    const char *scheme = "http";
    bool is_client = str_starts(rest, "ray://");
    bool is_bare = str_find(rest, "://") == SIZE_MAX;
    struct str host;
    uint32_t port;
    char shown[SHOWN_MAX + 1];
    jobs_read_show(shown, text);
    if (str_starts(rest, "https://")) {
        scheme = "https";
    } else if (!is_bare && !is_client && !str_starts(rest, "http://")) {
        return err_set(err, ERR_USAGE, "\"%s\" is not the address of a Ray dashboard; %s", shown,
                       ADDRESS_HELP);
    }
    if (!is_bare) {
        rest = str_sub(rest, str_find(rest, "://") + 3, rest.len);
    }
    if (str_ends(rest, "/")) {
        rest.len--;
    }
    if (!split_host(rest, &host, &port)) {
        return err_set(err, ERR_USAGE, "\"%s\" has no valid host and port; %s", shown,
                       ADDRESS_HELP);
    }
    if (is_client || port == 0) {
        port = PORT_DEFAULT;
    }
    snprintf(ret_server, JOBS_SERVER_SIZE, "%s://%.*s:%u", scheme, STR_ARG(host), (unsigned)port);
    return true;
}

/* ---- words ---- */

static const char *const status_names[JOBS_STATUS_COUNT] = {
    [JOBS_PENDING] = "PENDING", [JOBS_RUNNING] = "RUNNING", [JOBS_SUCCEEDED] = "SUCCEEDED",
    [JOBS_FAILED] = "FAILED",   [JOBS_STOPPED] = "STOPPED",
};

const char *jobs_status_name(enum jobs_status status)
{
    return status_names[status];
}

bool jobs_status_is_final(enum jobs_status status)
{
    return status == JOBS_SUCCEEDED || status == JOBS_FAILED || status == JOBS_STOPPED;
}

static bool read_status(struct str word, enum jobs_status *ret_status, struct err *err)
{
    char shown[SHOWN_MAX + 1];
    for (int i = 0; i < JOBS_STATUS_COUNT; i++) {
        if (str_is(word, status_names[i])) {
            *ret_status = (enum jobs_status)i;
            return true;
        }
    }
    jobs_read_show(shown, word);
    return err_set(err, ERR_PROTOCOL, "unknown status \"%s\"", shown);
}

/* ---- fields: the right type or, unless required, null or missing ---- */

enum need { OPTIONAL, REQUIRED };

static bool read_text(const json_t *object, const char *name, enum need need, struct arena *arena,
                      struct str *ret_text, struct err *err)
{
    const json_t *value = json_object_get(object, name);
    bool is_missing = !value || json_is_null(value);
    if (is_missing ? need == REQUIRED : !json_is_string(value)) {
        return err_set(err, ERR_PROTOCOL, "\"%s\" is %s", name,
                       is_missing ? "missing" : "not a text");
    }
    *ret_text = arena_str(arena, (struct str){json_string_value(value), json_string_length(value)});
    return true;
}

static bool read_number(const json_t *object, const char *name, int64_t least, int64_t most,
                        bool *ret_is_there, int64_t *ret_number, struct err *err)
{
    const json_t *value = json_object_get(object, name);
    *ret_is_there = value && !json_is_null(value);
    *ret_number = 0;
    if (!*ret_is_there) {
        return true;
    }
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most) {
        return err_set(err, ERR_PROTOCOL, "\"%s\" is not a number in its range", name);
    }
    *ret_number = json_integer_value(value);
    return true;
}

/* ---- a job ---- */

static bool read_node(const json_t *object, struct arena *arena, struct jobs_job *job,
                      struct err *err)
{
    struct str address;
    struct str host;
    uint32_t port;
    if (!read_text(object, "driver_node_id", OPTIONAL, arena, &job->node_id, err) ||
        !read_text(object, "driver_agent_http_address", OPTIONAL, arena, &address, err)) {
        return false;
    }
    for (size_t i = 0; i < job->node_id.len; i++) {
        if (!isxdigit((unsigned char)job->node_id.ptr[i]) || job->node_id.len != 2 * RAY_ID_BYTES) {
            return err_set(err, ERR_PROTOCOL, "\"driver_node_id\" is not an id of a node");
        }
    }
    if (address.len == 0) {
        return true;
    }
    struct str rest = str_starts(address, "http://") ? str_sub(address, 7, address.len) : address;
    if (!split_host(rest, &host, &port)) {
        return err_set(err, ERR_PROTOCOL, "\"driver_agent_http_address\" is not an address");
    }
    bool has_brackets = host.ptr[0] == '[';
    job->node_host = arena_str(arena, has_brackets ? str_sub(host, 1, host.len - 1) : host);
    return true;
}

static bool read_times(const json_t *object, struct jobs_job *job, struct err *err)
{
    bool is_there;
    int64_t code;
    if (!read_number(object, "start_time", 0, INT64_MAX, &is_there, &job->start_ms, err) ||
        !read_number(object, "end_time", 0, INT64_MAX, &is_there, &job->end_ms, err) ||
        !read_number(object, "driver_exit_code", INT_MIN, INT_MAX, &job->has_exit_code, &code,
                     err)) {
        return false;
    }
    job->exit_code = (int)code;
    return true;
}

static bool read_job(const json_t *object, struct arena *arena, struct jobs_job *ret_job,
                     struct err *err)
{
    struct jobs_job job = {0};
    struct str status;
    char shown[SHOWN_MAX + 1];
    if (!json_is_object(object)) {
        return err_set(err, ERR_PROTOCOL, "a job of Ray's reply is not an object");
    }
    if (!read_text(object, "submission_id", REQUIRED, arena, &job.submission_id, err)) {
        return err_wrap(err, "a job of Ray's reply");
    }
    if (!read_text(object, "status", REQUIRED, arena, &status, err) ||
        !read_status(status, &job.status, err) ||
        !read_text(object, "entrypoint", REQUIRED, arena, &job.entrypoint, err) ||
        !read_text(object, "message", OPTIONAL, arena, &job.message, err) ||
        !read_text(object, "error_type", OPTIONAL, arena, &job.error_type, err) ||
        !read_node(object, arena, &job, err) || !read_times(object, &job, err)) {
        jobs_read_show(shown, job.submission_id);
        return err_wrap(err, "job %s of Ray's reply", shown);
    }
    *ret_job = job;
    return true;
}

static bool parse(struct str body, json_t **ret_json, struct err *err)
{
    json_error_t where;
    json_t *json = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, &where);
    if (!json) {
        return err_set(err, ERR_PROTOCOL,
                       "the reply is not JSON (line %d): is this a Ray dashboard?", where.line);
    }
    *ret_json = json;
    return true;
}

bool jobs_read_job(struct str body, struct arena *arena, struct jobs_job *ret_job, struct err *err)
{
    json_t *json;
    if (!parse(body, &json, err)) {
        return false;
    }
    bool is_read = read_job(json, arena, ret_job, err);
    json_decref(json);
    return is_read;
}

static bool is_wanted(const json_t *job, struct str prefix)
{
    const json_t *id = json_object_get(job, "submission_id");
    struct str text = {json_string_value(id), json_string_length(id)};
    return json_is_string(id) && str_eq(str_sub(text, 0, prefix.len), prefix);
}

static bool read_jobs(const json_t *array, struct str prefix, struct arena *arena,
                      struct jobs_list *ret_list, struct err *err)
{
    size_t count = 0;
    if (!json_is_array(array)) {
        return err_set(err, ERR_PROTOCOL, "Ray's list of jobs is not a list");
    }
    struct jobs_job *jobs = ARENA_ARRAY(arena, json_array_size(array), struct jobs_job);
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *job = json_array_get(array, i);
        if (is_wanted(job, prefix) && !read_job(job, arena, &jobs[count++], err)) {
            return false;
        }
    }
    *ret_list = (struct jobs_list){jobs, count};
    return true;
}

bool jobs_read_list(struct str body, struct str prefix, struct arena *arena,
                    struct jobs_list *ret_list, struct err *err)
{
    json_t *json;
    if (!parse(body, &json, err)) {
        return false;
    }
    bool is_read = read_jobs(json, prefix, arena, ret_list, err);
    json_decref(json);
    return is_read;
}
