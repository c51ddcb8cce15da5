/* action_code.c: encodes actions. All kinds have all fields: an unused one is a zero byte. */
#include "core/action.h"

#include "core/node_state.h"
#include "core/record/frame.h"

#include <string.h>

static bool reason_is_sound(const struct reason *reason)
{
    /* For drained nodes the amount is an enum reason_kind, which is used as an index. */
    return reason->kind != REASON_DRAINED ||
           (reason->amount >= 0 && reason->amount < REASON_KIND_COUNT);
}

struct str action_encode(const struct action *action, struct arena *arena)
{
    struct byte_writer writer;
    frame_begin(&writer, arena);
    bytes_put_enum(&writer, action->kind, ACTION_KIND_COUNT);
    bytes_put_enum(&writer, action->reason.kind, REASON_KIND_COUNT);
    bytes_put_enum(&writer, action->reason.state, NODE_STATE_COUNT);
    bytes_put_i64(&writer, action->reason.amount);
    bytes_put_i64(&writer, action->reason.limit);
    bytes_put_i64(&writer, action->not_after);
    bytes_put_u64(&writer, action->epoch);
    bytes_put_u64(&writer, action->instance);
    bytes_put_u64(&writer, action->launch);
    bytes_put_u64(&writer, action->offering);
    bytes_put_i64(&writer, action->count);
    for (size_t i = 0; i < LAUNCH_CAUSE_COUNT; i++) {
        bytes_put_i64(&writer, action->count_by_cause[i]);
    }
    bytes_put_bool(&writer, action->is_rejectable);
    bytes_put_i64(&writer, action->drain_until);
    if (!reason_is_sound(&action->reason)) {
        writer.is_bad = true;
    }
    return frame_end(&writer, RECORD_ACTION);
}

static bool action_code_decode_body(struct str body, struct action *ret_action)
{
    struct byte_reader reader;
    bytes_read(&reader, body);
    memset(ret_action, 0, sizeof(*ret_action));
    ret_action->kind = (enum action_kind)bytes_take_enum(&reader, ACTION_KIND_COUNT);
    ret_action->reason.kind = (uint8_t)bytes_take_enum(&reader, REASON_KIND_COUNT);
    ret_action->reason.state = (uint8_t)bytes_take_enum(&reader, NODE_STATE_COUNT);
    ret_action->reason.amount = bytes_take_i64(&reader);
    ret_action->reason.limit = bytes_take_i64(&reader);
    ret_action->not_after = bytes_take_i64(&reader);
    ret_action->epoch = bytes_take_u64(&reader);
    ret_action->instance = bytes_take_u64(&reader);
    ret_action->launch = bytes_take_u64(&reader);
    ret_action->offering = bytes_take_u32(&reader);
    ret_action->count = bytes_take_i64(&reader);
    for (size_t i = 0; i < LAUNCH_CAUSE_COUNT; i++) {
        ret_action->count_by_cause[i] = bytes_take_i64(&reader);
    }
    ret_action->is_rejectable = bytes_take_bool(&reader);
    ret_action->drain_until = bytes_take_i64(&reader);
    return !reader.is_bad && reader.len == 0 && reason_is_sound(&ret_action->reason);
}

bool action_decode(struct str *bytes, struct action *ret_action)
{
    struct str rest = *bytes;
    struct str body;
    if (!frame_open(&rest, RECORD_ACTION, &body)) {
        return false;
    }
    if (frame_kind(body) >= ACTION_KIND_COUNT) {
        *bytes = rest;
        return false;
    }
    if (!action_code_decode_body(body, ret_action)) {
        return false;
    }
    *bytes = rest;
    return true;
}
