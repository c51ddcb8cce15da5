/* gcs_autoscaler.c: the calls of an autoscaler: cluster state, reports, drains. */
#include "io/failpoint.h"
#include "ray/gcs.h"
#include "ray/gcs_internal.h"
#include "ray/wire.h"

#define AUTOSCALER "/ray.rpc.autoscaler.AutoscalerStateService/"

static void on_plain(struct gcs_call *call, const struct gcs_answer *answer, struct str body)
{
    (void)body; /* these replies are empty */
    call->done.plain(call->context, answer);
}

/* ---- GetClusterResourceState ---- */

static void gcs_autoscaler_handle_state(struct gcs_call *call, const struct gcs_answer *answer,
                                        struct str body)
{
    call->done.state(call->context, answer, body);
}

/* The request is always empty: a GCS that is asked for changes since a version that it has not
 * reached, because it was restarted, crashes. */
void gcs_read_state(struct gcs *gcs, gcs_state_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, AUTOSCALER "GetClusterResourceState",
                                         gcs_autoscaler_handle_state, context);
    call->done.state = done;
    gcs_call_start(call);
}

void gcs_read_status(struct gcs *gcs, gcs_state_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, AUTOSCALER "GetClusterStatus",
                                         gcs_autoscaler_handle_state, context);
    call->done.state = done;
    gcs_call_start(call);
}

/* ---- ReportAutoscalingState ---- */

void gcs_report(struct gcs *gcs, const struct ray_report *report, gcs_done_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, AUTOSCALER "ReportAutoscalingState", on_plain,
                                         context);
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    buf_add(&call->body, ray_report_bytes(report, &arena));
    call->done.plain = done;
    gcs_call_start(call);
}

/* ---- ReportClusterConfig ---- */

enum { ENTRY_BYTES_MAX = 1 << 20, MESSAGE_BYTES_MAX = 64 << 20 };

/* Ray expects integers here; fractions are truncated. */
static void add_whole_amount(struct buf *out, uint32_t tag, const struct ray_quantity *quantity)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, ENTRY_BYTES_MAX);
    bool is_sane = quantity->amount >= 0 && quantity->amount < 9e18;
    wire_add_text(&entry, 1, quantity->name);
    wire_add_number(&entry, 2, is_sane ? (int64_t)quantity->amount : 0);
    wire_add_bytes(out, tag, buf_str(&entry));
}

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void gcs_autoscaler_add_group(struct buf *out, const struct gcs_group *group)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, ENTRY_BYTES_MAX);
    for (size_t i = 0; i < group->resource_count; i++) {
        add_whole_amount(&entry, 1, &group->resources[i]);
    }
    wire_add_number(&entry, 2, clamp(group->min_count, 0, INT32_MAX));
    wire_add_number(&entry, 3, clamp(group->max_count, -1, INT32_MAX));
    wire_add_text(&entry, 4, group->name);
    wire_add_bytes(out, 3, buf_str(&entry));
}

void gcs_report_groups(struct gcs *gcs, const struct gcs_group *groups, size_t count,
                       gcs_done_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, AUTOSCALER "ReportClusterConfig", on_plain, context);
    AUTO_BUF struct buf config;
    buf_init(&config, MESSAGE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        gcs_autoscaler_add_group(&config, &groups[i]);
    }
    wire_add_bytes(&call->body, 1, buf_str(&config));
    call->done.plain = done;
    gcs_call_start(call);
}

/* ---- RequestClusterResourceConstraint ---- */

static void gcs_autoscaler_add_amount(struct buf *out, uint32_t tag,
                                      const struct ray_quantity *quantity)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, ENTRY_BYTES_MAX);
    wire_add_text(&entry, 1, quantity->name);
    wire_add_double(&entry, 2, quantity->amount > 0 ? quantity->amount : 0);
    wire_add_bytes(out, tag, buf_str(&entry));
}

static void gcs_autoscaler_add_request(struct buf *out, const struct gcs_bundle *bundle)
{
    AUTO_BUF struct buf request;
    AUTO_BUF struct buf entry;
    buf_init(&request, ENTRY_BYTES_MAX);
    buf_init(&entry, 2 * ENTRY_BYTES_MAX);
    for (size_t i = 0; i < bundle->amount_count; i++) {
        gcs_autoscaler_add_amount(&request, 1, &bundle->amounts[i]);
    }
    wire_add_bytes(&entry, 1, buf_str(&request));
    wire_add_number(&entry, 2, bundle->count);
    wire_add_bytes(out, 1, buf_str(&entry));
}

void gcs_request_resources(struct gcs *gcs, const struct gcs_bundle *bundles, size_t count,
                           gcs_done_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, AUTOSCALER "RequestClusterResourceConstraint",
                                         on_plain, context);
    AUTO_BUF struct buf constraint;
    buf_init(&constraint, MESSAGE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (bundles[i].count > 0 && bundles[i].amount_count > 0) {
            gcs_autoscaler_add_request(&constraint, &bundles[i]);
        }
    }
    wire_add_bytes(&call->body, 1, buf_str(&constraint));
    call->done.plain = done;
    gcs_call_start(call);
}

/* ---- InternalKVPut ---- */

void gcs_note_metrics(struct gcs *gcs, struct str address, gcs_done_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, "/ray.rpc.InternalKVGcsService/InternalKVPut",
                                         on_plain, context);
    wire_add_bytes(&call->body, 1, STR("AutoscalerMetricsAddress"));
    wire_add_bytes(&call->body, 2, address);
    wire_add_number(&call->body, 3, 1); /* overwrite */
    call->done.plain = done;
    gcs_call_start(call);
}

/* ---- DrainNode ---- */

#define DRAIN_METHOD AUTOSCALER "DrainNode"

/* Ray's enum values. A raylet that receives another one exits, with its work. */
enum drain_reason { DRAIN_IDLE = 1, DRAIN_PREEMPTED = 2 };

struct gcs_answer gcs_drain_read(struct str reply, bool *ret_is_accepted, struct str *ret_why_not)
{
    struct gcs_answer answer = {GCS_FINE, {0}};
    struct wire wire = wire_open(reply);
    struct wire_field field;
    struct str why_not = {0};
    bool is_accepted = false;
    while (wire_next(&wire, &field)) {
        if (field.key == WIRE_KEY(1, WIRE_VARINT)) {
            is_accepted = field.number != 0;
        } else if (field.key == WIRE_KEY(2, WIRE_BYTES)) {
            why_not = field.bytes;
        }
    }
    if (wire.is_broken) {
        answer = gcs_garbled(DRAIN_METHOD);
    }
    *ret_is_accepted = is_accepted && answer.trouble == GCS_FINE;
    *ret_why_not = *ret_is_accepted ? (struct str){0} : why_not;
    return answer;
}

static void gcs_autoscaler_handle_drain(struct gcs_call *call, const struct gcs_answer *answer,
                                        struct str body)
{
    failpoint("ray", "DrainNode", "reply");
    struct gcs_answer result = *answer;
    struct str why_not = {0};
    bool is_accepted = false;
    if (answer->trouble == GCS_FINE) {
        result = gcs_drain_read(body, &is_accepted, &why_not);
    }
    call->done.drain(call->context, &result, is_accepted, why_not);
}

static bool check_drain(const struct gcs_drain *drain, struct err *err)
{
    if (drain->node.len != RAY_ID_BYTES) {
        return err_set(err, ERR_INTERNAL, "the id of a node to drain has %zu bytes instead of %d",
                       drain->node.len, RAY_ID_BYTES);
    }
    if (!drain->is_refusable && drain->deadline_ms < 0) {
        return err_set(err, ERR_INTERNAL, "the deadline of a drain is before 1970");
    }
    return true;
}

void gcs_drain(struct gcs *gcs, const struct gcs_drain *drain, gcs_drain_fn *done, void *context)
{
    struct gcs_call *call = gcs_call_new(gcs, DRAIN_METHOD, gcs_autoscaler_handle_drain, context);
    struct err err;
    call->done.drain = done;
    if (!check_drain(drain, &err)) {
        gcs_call_refuse(call, &err);
        return;
    }
    wire_add_bytes(&call->body, 1, drain->node);
    wire_add_number(&call->body, 2, drain->is_refusable ? DRAIN_IDLE : DRAIN_PREEMPTED);
    wire_add_text(&call->body, 3, drain->message);
    wire_add_number(&call->body, 4, drain->is_refusable ? 0 : drain->deadline_ms);
    failpoint("ray", "DrainNode", "before");
    gcs_call_start(call);
}
