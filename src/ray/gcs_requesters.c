/*
 * gcs_requesters.c: who may have set the constraint of request_resources(), in replies of the GCS.
 * The calls are in gcs_drivers.c.
 *
 * Ray Train and Ray Data send their requests to one detached actor, which merges them and sets the
 * constraint again every 20 s, also when nothing is requested. A run of Ray Train has a controller
 * actor; these actors have no names, so they are found by their class.
 */
#include "base/encode.h"
#include "ray/gcs.h"
#include "ray/wire.h"

#define COORDINATOR "AutoscalingCoordinator" /* name and namespace */
#define CONTROLLER "TrainController"         /* class */

enum { STATE_ALIVE = 2, JOB_BYTES = 4 };

/* Tags of Ray's messages. */
enum {
    REPLY_STATUS = 1,
    REPLY_ITEM = 2,
    STATUS_CODE = 1,
    ACTOR_JOB = 4,
    ACTOR_STATE = 6,
    ACTOR_NAME = 12,
    ACTOR_NAMESPACE = 19,
    ACTOR_CLASS = 23,
    JOB_ENTRYPOINT = 9,
};

static bool gcs_requesters_is_refused(struct str status)
{
    struct wire wire = wire_open(status);
    struct wire_field field;
    bool is_refused = false;
    while (wire_next(&wire, &field)) {
        is_refused = is_refused ||
                     (field.key == WIRE_KEY(STATUS_CODE, WIRE_VARINT) && field.number != 0);
    }
    return is_refused || wire.is_broken;
}

static void note_run(struct gcs_requesters *requesters, struct str job)
{
    if (requesters->run_count++ == 0 && job.len == JOB_BYTES) {
        encode_hex_to(requesters->job, (const uint8_t *)job.ptr, job.len);
    }
}

static bool read_actor(struct str actor, struct gcs_requesters *requesters)
{
    struct wire wire = wire_open(actor);
    struct wire_field field;
    struct str job = STR(""), name = STR(""), space = STR(""), class = STR("");
    uint64_t state = 0;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(ACTOR_JOB, WIRE_BYTES)) {
            job = field.bytes;
        } else if (field.key == WIRE_KEY(ACTOR_STATE, WIRE_VARINT)) {
            state = field.number;
        } else if (field.key == WIRE_KEY(ACTOR_NAME, WIRE_BYTES)) {
            name = field.bytes;
        } else if (field.key == WIRE_KEY(ACTOR_NAMESPACE, WIRE_BYTES)) {
            space = field.bytes;
        } else if (field.key == WIRE_KEY(ACTOR_CLASS, WIRE_BYTES)) {
            class = field.bytes;
        }
    }
    bool is_alive = state == STATE_ALIVE;
    requesters->has_coordinator = requesters->has_coordinator ||
                                  (is_alive && str_is(name, COORDINATOR) &&
                                   str_is(space, COORDINATOR));
    if (is_alive && str_is(class, CONTROLLER)) {
        note_run(requesters, job);
    }
    return !wire.is_broken;
}

bool gcs_requesters_read(struct str reply, struct gcs_requesters *ret_requesters, struct err *err)
{
    struct wire wire = wire_open(reply);
    struct wire_field field;
    bool ok = true;
    *ret_requesters = (struct gcs_requesters){0};
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(REPLY_ITEM, WIRE_BYTES)) {
            ok = read_actor(field.bytes, ret_requesters) && ok;
        } else if (field.key == WIRE_KEY(REPLY_STATUS, WIRE_BYTES)) {
            ok = !gcs_requesters_is_refused(field.bytes) && ok;
        }
    }
    return (ok && !wire.is_broken) || err_set(err, ERR_PROTOCOL, "invalid list of actors from Ray");
}

static bool read_job(struct str job, struct str *ret_entrypoint)
{
    struct wire wire = wire_open(job);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(JOB_ENTRYPOINT, WIRE_BYTES)) {
            *ret_entrypoint = field.bytes;
        }
    }
    return !wire.is_broken;
}

bool gcs_entrypoint_read(struct str reply, struct str *ret_entrypoint, struct err *err)
{
    struct wire wire = wire_open(reply);
    struct wire_field field;
    bool ok = true;
    *ret_entrypoint = STR("");
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(REPLY_ITEM, WIRE_BYTES)) {
            ok = read_job(field.bytes, ret_entrypoint) && ok;
        } else if (field.key == WIRE_KEY(REPLY_STATUS, WIRE_BYTES)) {
            ok = !gcs_requesters_is_refused(field.bytes) && ok;
        }
    }
    return (ok && !wire.is_broken) || err_set(err, ERR_PROTOCOL, "invalid job from Ray");
}
