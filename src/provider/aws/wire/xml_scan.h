/*
 * xml_scan.h: the same pass over an XML reply as xml_reply.h, several times faster, for the one
 * kind of reply that is large: listings of machines.
 *
 * Takes a part of XML only: UTF-8 without a mark, names in ASCII, no document type, no processing
 * instruction but the declaration, tokens of at most XML_SCAN_TOKEN_MAX bytes. AWS sends nothing
 * else. Whatever it accepts, expat accepts with the same elements and texts; a fuzz target holds it
 * to that. The limits of xml_reply.h hold too.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/wire/xml_reply.h"

enum { XML_SCAN_TOKEN_MAX = 64 * 1024 };

struct xml_scan;

/* `listener` and `context` must outlive the scanner. */
struct xml_scan *xml_scan_new(const struct xml_listener *listener, void *context);
void xml_scan_free(struct xml_scan *scan); /* NULL is fine */

/* After a failure every further call fails in the same way. */
bool xml_scan_feed(struct xml_scan *scan, struct str bytes, struct err *err) MUST_USE;
bool xml_scan_end(struct xml_scan *scan, struct err *err) MUST_USE;
