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

    ENTRY_KEY = WIRE_KEY(1, WIRE_BYTES), /* of a map */
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

/* Finds the state in a reply. */
bool state_find(struct str reply, struct str *ret_state, struct err *err) MUST_USE;

/* Sets the error for malformed replies. */
bool state_garbled(struct err *err);

/* Unknown values are treated as unspecified. */
enum ray_node_status state_node_status(uint64_t number);
