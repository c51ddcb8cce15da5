/*
 * instance_reply.h: reads instances from EC2 replies as they arrive.
 *
 * One record per instance, with only the fields we use. Strings that many instances share are
 * stored once. A reply with an instance without id is rejected as a whole.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum instance_state {
    INSTANCE_STATE_OTHER, /* unknown or missing */
    INSTANCE_PENDING,
    INSTANCE_RUNNING,
    INSTANCE_SHUTTING_DOWN,
    INSTANCE_TERMINATED,
    INSTANCE_STOPPING,
    INSTANCE_STOPPED,
};

enum instance_market { INSTANCE_ON_DEMAND, INSTANCE_SPOT, INSTANCE_RESERVED_BLOCK };

struct instance_tag {
    struct str key;
    struct str value;
};

struct instance_record {
    struct str id;
    struct str type;
    struct str zone;
    struct str image;
    struct str subnet;
    struct str private_ip;
    struct str public_ip;
    struct str reason;      /* code of the state reason: "Client.UserInitiatedShutdown" */
    struct str reason_text; /* the reason as text */
    struct str client_token;
    int64_t launched_at;       /* seconds since 1970; INT64_MIN: unknown */
    struct instance_tag *tags; /* selected tags, in reply order */
    uint32_t tag_count;
    uint8_t state;  /* enum instance_state; after a change, the new state */
    uint8_t market; /* enum instance_market */
};

struct instance_list {
    struct instance_record *items;
    size_t count;
    struct str next_token; /* empty: last page */
};

enum instance_reply_kind {
    INSTANCES_LISTED,   /* DescribeInstances */
    INSTANCES_LAUNCHED, /* RunInstances */
    INSTANCES_CHANGED,  /* TerminateInstances, StopInstances, StartInstances: only id and state */
};

struct instance_reply;

/*
 * Keeps tags whose key starts with one of `tag_prefixes` (ends with NULL; NULL itself keeps all).
 * Records are allocated in `arena`; the prefixes must outlive the reader.
 */
struct instance_reply *instance_reply_new(enum instance_reply_kind kind,
                                          const char *const *tag_prefixes, struct arena *arena);
void instance_reply_free(struct instance_reply *reply);

bool instance_reply_feed(struct instance_reply *reply, struct str bytes, struct err *err) MUST_USE;

/* Call at the end of the reply. The list is available only now. */
bool instance_reply_end(struct instance_reply *reply, struct instance_list *ret_list,
                        struct err *err) MUST_USE;
