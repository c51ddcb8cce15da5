/* state_internal.h: Ray's tags in the reply of GetClusterResourceState, for its parsers. */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "ray/state.h"
#include "ray/wire.h"

#include <stdbool.h>

enum state_key {
    REPLY_STATE = WIRE_KEY(1, WIRE_BYTES),

    STATE_VERSION = WIRE_KEY(1, WIRE_VARINT),
    STATE_NODE = WIRE_KEY(3, WIRE_BYTES),
    STATE_DEMAND = WIRE_KEY(4, WIRE_BYTES),
    STATE_GANG = WIRE_KEY(5, WIRE_BYTES),
    STATE_CONSTRAINT = WIRE_KEY(6, WIRE_BYTES),
    STATE_SESSION = WIRE_KEY(7, WIRE_BYTES),

    NODE_ID = WIRE_KEY(1, WIRE_BYTES),
    NODE_INSTANCE = WIRE_KEY(2, WIRE_BYTES),
    NODE_TYPE = WIRE_KEY(3, WIRE_BYTES),
    NODE_AVAILABLE = WIRE_KEY(4, WIRE_BYTES),
    NODE_TOTAL = WIRE_KEY(5, WIRE_BYTES),
    NODE_PUT_LABEL = WIRE_KEY(6, WIRE_BYTES), /* added by Ray at run time, for placement groups */
    NODE_STATUS = WIRE_KEY(8, WIRE_VARINT),
    NODE_IDLE = WIRE_KEY(9, WIRE_VARINT),
    NODE_ADDRESS = WIRE_KEY(10, WIRE_BYTES),
    NODE_MACHINE = WIRE_KEY(11, WIRE_BYTES),
    NODE_ACTIVITY = WIRE_KEY(12, WIRE_BYTES),
    NODE_LABEL = WIRE_KEY(13, WIRE_BYTES),

    ENTRY_KEY = WIRE_KEY(1, WIRE_BYTES), /* key of a map entry */
    ENTRY_TEXT = WIRE_KEY(2, WIRE_BYTES),
    ENTRY_AMOUNT = WIRE_KEY(2, WIRE_FIXED64),

    DEMAND_REQUEST = WIRE_KEY(1, WIRE_BYTES),
    DEMAND_COUNT = WIRE_KEY(2, WIRE_VARINT),
    CONSTRAINT_DEMAND = WIRE_KEY(1, WIRE_BYTES),

    REQUEST_AMOUNT = WIRE_KEY(1, WIRE_BYTES),
    REQUEST_PLACEMENT = WIRE_KEY(2, WIRE_BYTES),
    REQUEST_SELECTOR = WIRE_KEY(3, WIRE_BYTES),
    PLACEMENT_APART = WIRE_KEY(1, WIRE_BYTES),
    PLACEMENT_TOGETHER = WIRE_KEY(2, WIRE_BYTES),
    SELECTOR_RULE = WIRE_KEY(1, WIRE_BYTES),
    RULE_KEY = WIRE_KEY(1, WIRE_BYTES),
    RULE_OPERATOR = WIRE_KEY(2, WIRE_VARINT),
    RULE_VALUE = WIRE_KEY(3, WIRE_BYTES),

    GANG_REQUEST = WIRE_KEY(1, WIRE_BYTES), /* deprecated, without selectors */
    GANG_DETAILS = WIRE_KEY(2, WIRE_BYTES),
    GANG_BUNDLES = WIRE_KEY(3, WIRE_BYTES),
    BUNDLES_REQUEST = WIRE_KEY(1, WIRE_BYTES),
    BUNDLES_LOCALITY = WIRE_KEY(2, WIRE_BYTES),
    LOCALITY_CONSTRAINT = WIRE_KEY(1, WIRE_BYTES),
    LOCALITY_SELECTOR = WIRE_KEY(2, WIRE_BYTES),
    LOCALITY_LABEL = WIRE_KEY(1, WIRE_BYTES),
    LOCALITY_STRATEGY = WIRE_KEY(2, WIRE_VARINT),
};

/* Sets the error for malformed replies. */
bool state_garbled(struct err *err);

/* Hashes that start from `about`, a tag. Those of unordered parts are added up. */
uint64_t state_mark_number(uint64_t about, uint64_t number);
uint64_t state_mark_bytes(uint64_t about, struct str bytes);

/* Malformed bytes are detected at the end: until then they are parsed as far as possible. */
struct state_reading {
    struct arena *arena;
    bool is_broken;
};

/* Into a struct ray_quantity. */
void state_read_quantity(struct state_reading *in, struct str bytes, void *item);
/* Into a struct ray_label: an entry of a map, or the name and value of a placement, which have the
 * same tags. */
void state_read_label(struct state_reading *in, struct str bytes, void *item);

/* ---- state_node.c ---- */

/* False if it is malformed. */
bool state_node_summarize(struct str bytes, struct ray_node_summary *ret_glance);
