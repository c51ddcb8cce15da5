/*
 * instance_reply.h: machines as EC2 lists, launches and ends them, read as the reply arrives.
 *
 * One record for each machine, with what we act on and nothing else. Texts that many machines
 * share are kept once. A reply in which a machine has no id is not believed at all.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum instance_state {
    INSTANCE_STATE_OTHER, /* a word we do not know, or none */
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
    struct str reason;      /* code of the state's reason: "Client.UserInitiatedShutdown" */
    struct str reason_text; /* the same for people */
    struct str client_token;
    int64_t launched_at;       /* seconds since 1970; INT64_MIN: not told */
    struct instance_tag *tags; /* the wanted ones, in the order of the reply */
    uint32_t tag_count;
    uint8_t state;  /* enum instance_state; of a change, the new one */
    uint8_t market; /* enum instance_market */
};

struct instance_list {
    struct instance_record *items;
    size_t count;
    struct str next_token; /* empty: this was the last page */
};

enum instance_reply_kind {
    INSTANCES_LISTED,   /* DescribeInstances */
    INSTANCES_LAUNCHED, /* RunInstances */
    INSTANCES_CHANGED,  /* TerminateInstances, StopInstances, StartInstances: id and state only */
};

struct instance_reply;

/*
 * Keeps tags whose key starts with one of `tag_prefixes` (a NULL ends them; NULL alone keeps all).
 * Records live in `arena`; the prefixes must outlive the reader.
 */
struct instance_reply *instance_reply_new(enum instance_reply_kind kind,
                                          const char *const *tag_prefixes, struct arena *arena);
void instance_reply_free(struct instance_reply *reply);

bool instance_reply_feed(struct instance_reply *reply, struct str bytes, struct err *err) MUST_USE;

/* The whole reply has come. Only now is there a list. */
bool instance_reply_end(struct instance_reply *reply, struct instance_list *ret_list,
                        struct err *err) MUST_USE;
