/*
 * xml_reply.h: an XML reply of AWS in one pass, as it arrives.
 *
 * Bounded: XML_REPLY_BYTES_MAX bytes, XML_REPLY_DEPTH_MAX elements deep. A document type, and with
 * it every entity but the five of XML itself, is refused. Attributes and comments are not looked
 * at. A reply that does not parse to its end is no reply: only when xml_reply_end() has said true
 * may what was heard be believed.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>

enum { XML_REPLY_BYTES_MAX = 32 * 1024 * 1024, XML_REPLY_DEPTH_MAX = 64 };

/* What hears the reply. Text may come in pieces. Returning false stops the reading; `err` is then
 * what the reader's caller gets. */
struct xml_listener {
    bool (*start)(void *context, struct str name, struct err *err);
    bool (*text)(void *context, struct str text, struct err *err);
    bool (*end)(void *context, struct err *err);
};

struct xml_reply;

/* `listener` and `context` must outlive the reader. */
struct xml_reply *xml_reply_new(const struct xml_listener *listener, void *context);
void xml_reply_free(struct xml_reply *reply); /* NULL is fine */

/* After a failure every further call fails in the same way. */
bool xml_reply_feed(struct xml_reply *reply, struct str bytes, struct err *err) MUST_USE;
bool xml_reply_end(struct xml_reply *reply, struct err *err) MUST_USE;
