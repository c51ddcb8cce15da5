/*
 * json_line.h: objects of JSON as our own programs send them to each other: one to a line.
 *
 * Writing leaves out what is empty or zero; reading gives empty and zero for what is missing or of
 * another type, so that programs of different versions understand each other. Whoever must be
 * strict looks at the object itself.
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

/* Bytes that are not UTF-8 become visible ones: nothing that is said is lost. */
void json_put_text(json_t *object, const char *name, struct str value);
void json_put_number(json_t *object, const char *name, int64_t value);
void json_put_flag(json_t *object, const char *name, bool value);

/* Any value as it stands, compact. False: it has no form, or `out` is full. */
bool json_add(const json_t *json, struct buf *out) MUST_USE;

/* Compact, with a newline when `ends_line`; lets go of the object. */
void json_put_out(json_t *object, bool ends_line, struct buf *out);

/* An object and nothing else, or ERR_PROTOCOL with `what` it should have been. Release it with
 * json_decref(). */
bool json_line_read(struct str text, const char *what, json_t **ret_object,
                    struct err *err) MUST_USE;

struct str json_take_text(const json_t *object, const char *name, struct arena *arena);
int64_t json_take_number(const json_t *object, const char *name, int64_t least, int64_t most);
bool json_take_flag(const json_t *object, const char *name);
