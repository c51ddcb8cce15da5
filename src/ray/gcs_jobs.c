/* gcs_jobs.c: counts the connected drivers. */
#include "ray/gcs.h"
#include "ray/gcs_internal.h"
#include "ray/wire.h"

/* Tags of Ray's messages. */
enum {
    REPLY_STATUS = 1,
    REPLY_JOB = 2,
    STATUS_CODE = 1,
    JOB_IS_DEAD = 2,
    JOB_CONFIG = 6,
    CONFIG_NAMESPACE = 5,
    REQUEST_SKIP_SUBMISSIONS = 3,
    REQUEST_SKIP_RUNNING = 4, /* otherwise the GCS would query every driver */
};

/* Prefix of the namespaces of Ray's own drivers, such as the dashboard's. */
#define INTERNAL "_ray_internal_"

static bool is_internal(struct str config, bool *is_broken)
{
    struct wire wire = wire_open(config);
    struct wire_field field;
    bool is_one = false;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(CONFIG_NAMESPACE, WIRE_BYTES)) {
            is_one = str_starts(field.bytes, INTERNAL);
        }
    }
    *is_broken = *is_broken || wire.is_broken;
    return is_one;
}

static bool is_users(struct str job, bool *is_broken)
{
    struct wire wire = wire_open(job);
    struct wire_field field;
    bool is_one = true;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(JOB_IS_DEAD, WIRE_VARINT)) {
            is_one = is_one && field.number == 0;
        } else if (field.key == WIRE_KEY(JOB_CONFIG, WIRE_BYTES)) {
            is_one = !is_internal(field.bytes, is_broken) && is_one;
        }
    }
    *is_broken = *is_broken || wire.is_broken;
    return is_one;
}

static bool is_fine(struct str status)
{
    struct wire wire = wire_open(status);
    struct wire_field field;
    bool ok = true;
    while (wire_next(&wire, &field)) {
        ok = ok && (field.key != WIRE_KEY(STATUS_CODE, WIRE_VARINT) || field.number == 0);
    }
    return ok && !wire.is_broken;
}

bool gcs_drivers_read(struct str reply, size_t *ret_count, struct err *err)
{
    struct wire wire = wire_open(reply);
    struct wire_field field;
    bool is_broken = false;
    size_t count = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(REPLY_JOB, WIRE_BYTES)) {
            count += is_users(field.bytes, &is_broken);
        } else if (field.key == WIRE_KEY(REPLY_STATUS, WIRE_BYTES)) {
            is_broken = is_broken || !is_fine(field.bytes);
        }
    }
    if (wire.is_broken || is_broken) {
        return err_set(err, ERR_PROTOCOL, "invalid list of drivers from Ray");
    }
    *ret_count = count;
    return true;
}

static void hear_drivers(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    struct gcs_answer result = *answer;
    size_t count = 0;
    if (answer->trouble == GCS_FINE && !gcs_drivers_read(body, &count, &result.err)) {
        result.trouble = GCS_REFUSED;
    }
    call->done.drivers(call->context, &result, count);
}

void gcs_count_drivers(struct gcs *gcs, gcs_drivers_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, "/ray.rpc.JobInfoGcsService/GetAllJobInfo",
                                         hear_drivers, context);
    wire_add_number(&call->body, REQUEST_SKIP_SUBMISSIONS, 1);
    wire_add_number(&call->body, REQUEST_SKIP_RUNNING, 1);
    call->done.drivers = done;
    gcs_call_start(call);
}
