/*
 * xml_reply.h: parses an AWS XML reply as it arrives.
 *
 * Bounded: XML_REPLY_BYTES_MAX bytes, XML_REPLY_DEPTH_MAX nested elements. Document types are
 * rejected, and with them all entities except XML's five. Attributes and comments are ignored. Do
 * not use the parsed data before xml_reply_end() has returned true: a reply may turn out to be
 * malformed at its end.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

enum { XML_REPLY_BYTES_MAX = 32 * 1024 * 1024, XML_REPLY_DEPTH_MAX = 64 };

/* Parser callbacks. Text may come in pieces. Returning false stops parsing with `err`. */
struct xml_listener {
    bool (*start)(void *context, struct str name, struct err *err);
    bool (*text)(void *context, struct str text, struct err *err);
    bool (*end)(void *context, struct err *err);
};

struct xml_reply;

/* `listener` and `context` must outlive the reader. */
struct xml_reply *xml_reply_new(const struct xml_listener *listener, void *context);
void xml_reply_free(struct xml_reply *reply); /* NULL is allowed */

/* After a failure all further calls fail with the same error. */
bool xml_reply_feed(struct xml_reply *reply, struct str bytes, struct err *err) MUST_USE;
bool xml_reply_end(struct xml_reply *reply, struct err *err) MUST_USE;
