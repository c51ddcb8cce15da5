/*
 * json_line.h: JSON objects exchanged between our own programs, one per line.
 *
 * Writing omits empty and zero values; reading returns empty and zero for fields that are missing
 * or have another type, so that different versions understand each other. A strict reader must
 * check the object itself.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes that are not UTF-8 are escaped visibly, so nothing is lost. */
void json_put_text(json_t *object, const char *name, struct str value);
void json_put_number(json_t *object, const char *name, int64_t value);
void json_put_flag(json_t *object, const char *name, bool value);

/* Writes any value in compact form. False if it cannot be encoded or `out` is full. */
bool json_add(const json_t *json, struct buf *out) MUST_USE;

/* Writes the object in compact form, with a newline if `ends_line`, and releases it. */
void json_put_out(json_t *object, bool ends_line, struct buf *out);

/* Reads exactly one object. Fails with ERR_PROTOCOL; `what` names the expected object. Release it
 * with json_decref(). */
bool json_line_read(struct str text, const char *what, json_t **ret_object,
                    struct err *err) MUST_USE;

struct str json_take_text(const json_t *object, const char *name, struct arena *arena);
int64_t json_take_number(const json_t *object, const char *name, int64_t least, int64_t most);
