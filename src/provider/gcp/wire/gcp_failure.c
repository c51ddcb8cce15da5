/* gcp_failure.c: a table of Google's reasons, then the status. */
#include "provider/gcp/wire/gcp_failure.h"

#include "provider/host_record.h"

#include <stdio.h>
#include <string.h>

enum { OPERATION_NAME_MAX = 200 };

/* The reasons in an error body and the codes in an operation. */
static const struct {
    const char *reason;
    enum outcome outcome;
} reasons[] = {
    {"ZONE_RESOURCE_POOL_EXHAUSTED", OUTCOME_CAPACITY},
    {"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", OUTCOME_CAPACITY},
    {"insufficientCapacity", OUTCOME_CAPACITY},
    {"stockout", OUTCOME_CAPACITY},
    {"IP_SPACE_EXHAUSTED", OUTCOME_CAPACITY},
    {"IP_SPACE_EXHAUSTED_WITH_DETAILS", OUTCOME_CAPACITY},
    {"CONDITION_NOT_MET", OUTCOME_INVALID},      /* a policy of the organization */
    {"UNSUPPORTED_OPERATION", OUTCOME_CAPACITY}, /* preempted while it was created */
    {"QUOTA_EXCEEDED", OUTCOME_QUOTA},
    {"quotaExceeded", OUTCOME_QUOTA},
    {"rateLimitExceeded", OUTCOME_THROTTLED},
    {"userRateLimitExceeded", OUTCOME_THROTTLED},
    {"RESOURCE_OPERATION_RATE_EXCEEDED", OUTCOME_THROTTLED},
    {"resourceNotReady", OUTCOME_THROTTLED}, /* a network or an instance is just being changed */
    {"SERVICE_ACCOUNT_ACCESS_DENIED", OUTCOME_DENIED},
    {"RESOURCE_ALREADY_EXISTS", OUTCOME_MISMATCH},
    {"RESOURCE_NOT_FOUND", OUTCOME_NOT_FOUND},
    {"OPERATION_CANCELED_BY_USER", OUTCOME_CAPACITY}, /* deleted while it was created */
    {"VM_MIN_COUNT_NOT_REACHED", OUTCOME_CAPACITY},
};

static enum outcome outcome_of_status(int status)
{
    switch (status) {
    case 400:
    case 405:
    case 412: /* a policy of the organization; of a fingerprint only where one is sent */
    case 413:
    case 501:
        return OUTCOME_INVALID;
    case 401:
    case 403:
        return OUTCOME_DENIED;
    case 404:
        return OUTCOME_NOT_FOUND;
    case 409:
        return OUTCOME_MISMATCH;
    case 429:
        return OUTCOME_THROTTLED;
    default:
        return OUTCOME_UNKNOWN;
    }
}

static void gcp_failure_copy(char *to, size_t size, struct str from)
{
    snprintf(to, size, "%.*s", STR_ARG(str_sub(from, 0, size - 1)));
    for (; *to; to++) {
        *to = (unsigned char)*to < ' ' || *to == 0x7f ? ' ' : *to;
    }
}

static void gcp_failure_set(struct gcp_failure *failure, struct str reason, struct str message)
{
    gcp_failure_copy(failure->reason, sizeof(failure->reason), reason);
    gcp_failure_copy(failure->message, sizeof(failure->message),
                     message.len > 0 ? message : STR("Google gave no reason"));
    failure->outcome = outcome_of_status(failure->status);
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (str_is(reason, reasons[i].reason)) {
            failure->outcome = reasons[i].outcome;
        }
    }
}

/* The first error with the name `key`, or the one that says more. "Too few" is a consequence. */
static const json_t *gcp_failure_choose(const json_t *list, const char *key)
{
    const json_t *chosen = json_array_get(list, 0);
    for (size_t i = 1; i < json_array_size(list); i++) {
        if (str_is(host_record_text(chosen, key), "VM_MIN_COUNT_NOT_REACHED")) {
            chosen = json_array_get(list, i);
        }
    }
    return chosen;
}

void gcp_failure_read(int status, struct str body, struct gcp_failure *ret_failure)
{
    json_t *all = json_loadb(body.ptr ? body.ptr : "", body.len, 0, NULL);
    const json_t *error = json_object_get(all, "error");
    const json_t *first = gcp_failure_choose(json_object_get(error, "errors"), "reason");
    *ret_failure = (struct gcp_failure){.status = status};
    struct str reason = host_record_text(first, "reason");
    gcp_failure_set(ret_failure, reason.len > 0 ? reason : host_record_text(error, "status"),
                    host_record_text(error, "message"));
    json_decref(all);
}

enum err_kind gcp_failure_kind(const struct gcp_failure *failure)
{
    switch (failure->outcome) {
    case OUTCOME_THROTTLED:
        return ERR_THROTTLED;
    case OUTCOME_CAPACITY:
        return ERR_CAPACITY;
    case OUTCOME_QUOTA:
        return ERR_QUOTA;
    case OUTCOME_DENIED:
        return ERR_AUTH;
    case OUTCOME_NOT_FOUND:
        return ERR_NOT_FOUND;
    case OUTCOME_MISMATCH:
    case OUTCOME_NO_LEASE:
        return ERR_EXISTS;
    case OUTCOME_INVALID:
        return ERR_CONFIG;
    case OUTCOME_UNKNOWN:
    case OUTCOME_DONE:
    case OUTCOME_COUNT:
        break;
    }
    return ERR_UNAVAILABLE;
}

/* It becomes part of a path. */
static bool is_operation_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) {
            return false;
        }
    }
    return name.len > 0 && name.len <= OPERATION_NAME_MAX;
}

bool gcp_operation_state_read(const json_t *body, struct gcp_operation_state *ret_state)
{
    struct str status = host_record_text(body, "status");
    struct str name = host_record_text(body, "name");
    const json_t *error = json_object_get(body, "error");
    if (!is_operation_name(name) ||
        !(str_is(status, "PENDING") || str_is(status, "RUNNING") || str_is(status, "DONE"))) {
        return false;
    }
    *ret_state = (struct gcp_operation_state){.name = name, .is_done = str_is(status, "DONE")};
    if (ret_state->is_done && error) {
        const json_t *first = gcp_failure_choose(json_object_get(error, "errors"), "code");
        int64_t code = host_record_number(body, "httpErrorStatusCode");
        ret_state->has_failed = true;
        ret_state->failure.status = code > 0 && code < 1000 ? (int)code : 0;
        gcp_failure_set(&ret_state->failure, host_record_text(first, "code"),
                        host_record_text(first, "message"));
    }
    return true;
}
