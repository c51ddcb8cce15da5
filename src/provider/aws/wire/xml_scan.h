/*
 * xml_scan.h: does the same as xml_reply.h several times faster, for the one large kind of reply:
 * listings of instances.
 *
 * Supports a subset of XML: UTF-8 without byte order mark, ASCII names, no document type, no
 * processing instruction except the declaration, tokens of at most XML_SCAN_TOKEN_MAX bytes. AWS
 * sends nothing else. Expat accepts everything that this scanner accepts, with the same elements
 * and texts; a fuzz target checks that. The limits of xml_reply.h apply too.
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
void xml_scan_free(struct xml_scan *scan); /* NULL is allowed */

/* After a failure all further calls fail with the same error. */
bool xml_scan_feed(struct xml_scan *scan, struct str bytes, struct err *err) MUST_USE;
bool xml_scan_end(struct xml_scan *scan, struct err *err) MUST_USE;
