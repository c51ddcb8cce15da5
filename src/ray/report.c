/* report.c: encodes the autoscaler's report to Ray. */
#include "ray/report.h"

#include "base/buf.h"
#include "ray/wire.h"

/* Far more than any report needs, and below Ray's own limit. */
enum { REPORT_BYTES_MAX = 64 << 20, ENTRY_BYTES_MAX = 1 << 20 };

/* Beyond this many entries, the last one includes the rest. */
enum { REQUEST_ENTRIES_MAX = 10000 };

enum {
    TAG_REPORT = 1, /* tag of the report in the request */

    TAG_SEEN_VERSION = 1,
    TAG_VERSION = 2,
    TAG_REQUESTS = 3,
    TAG_INFEASIBLE = 4,
    TAG_INFEASIBLE_GANGS = 5,
    TAG_NODES = 7,
    TAG_FAILURES = 8,

    TAG_MACHINE = 1, /* same tags in all entries */
    TAG_TYPE = 2,
    TAG_COUNT = 3,
};

static void add_kind(struct buf *entry, struct str machine, struct str type)
{
    wire_add_text(entry, TAG_MACHINE, machine);
    wire_add_text(entry, TAG_TYPE, type);
}

/* Omits an entry that is too long: a part of it would corrupt the message. */
static void add_entry(struct buf *out, uint32_t tag, const struct buf *entry)
{
    if (!entry->is_full) {
        wire_add_bytes(out, tag, buf_str(entry));
    }
}

static int64_t clamp_count(int64_t count)
{
    return count < 0 ? 0 : count > INT32_MAX ? INT32_MAX : count;
}

static void add_request(struct buf *out, const struct ray_pending_request *request, int64_t count)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, ENTRY_BYTES_MAX);
    add_kind(&entry, request->machine, request->type);
    wire_add_number(&entry, TAG_COUNT, clamp_count(count));
    wire_add_number(&entry, 4, request->asked_s);
    add_entry(out, TAG_REQUESTS, &entry);
}

/* `ray status` counts entries and ignores their counts: writes one per machine. */
static void add_requests(struct buf *out, const struct ray_report *report)
{
    int64_t room = REQUEST_ENTRIES_MAX;
    for (size_t i = 0; i < report->request_count; i++) {
        const struct ray_pending_request *request = &report->requests[i];
        int64_t left = clamp_count(request->count);
        for (; left > 0 && room > 1; left--, room--) {
            add_request(out, request, 1);
        }
        if (left > 0) {
            add_request(out, request, left);
        }
    }
}

static void report_add_node(struct buf *out, const struct ray_pending_node *node)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, ENTRY_BYTES_MAX);
    add_kind(&entry, node->machine, node->type);
    wire_add_text(&entry, 3, node->instance_id);
    wire_add_text(&entry, 4, node->address);
    wire_add_text(&entry, 5, node->details);
    add_entry(out, TAG_NODES, &entry);
}

static void report_add_failure(struct buf *out, const struct ray_failed_request *failure)
{
    AUTO_BUF struct buf entry;
    buf_init(&entry, ENTRY_BYTES_MAX);
    add_kind(&entry, failure->machine, failure->type);
    wire_add_number(&entry, TAG_COUNT, clamp_count(failure->count));
    wire_add_text(&entry, 4, failure->reason);
    wire_add_number(&entry, 5, failure->asked_s);
    wire_add_number(&entry, 6, failure->failed_s);
    add_entry(out, TAG_FAILURES, &entry);
}

struct str ray_report_bytes(const struct ray_report *report, struct arena *arena)
{
    AUTO_BUF struct buf inside;
    AUTO_BUF struct buf out;
    buf_init(&inside, REPORT_BYTES_MAX);
    buf_init(&out, REPORT_BYTES_MAX + 16);
    wire_add_number(&inside, TAG_SEEN_VERSION, report->seen_version);
    wire_add_number(&inside, TAG_VERSION, report->version);
    add_requests(&inside, report);
    for (size_t i = 0; i < report->infeasible_count; i++) {
        wire_add_bytes(&inside, TAG_INFEASIBLE, report->infeasible[i]);
    }
    for (size_t i = 0; i < report->infeasible_gang_count; i++) {
        wire_add_bytes(&inside, TAG_INFEASIBLE_GANGS, report->infeasible_gangs[i]);
    }
    for (size_t i = 0; i < report->node_count; i++) {
        report_add_node(&inside, &report->nodes[i]);
    }
    for (size_t i = 0; i < report->failure_count; i++) {
        report_add_failure(&inside, &report->failures[i]);
    }
    wire_add_bytes(&out, TAG_REPORT, buf_str(&inside));
    return arena_str(arena, buf_str(&out));
}
