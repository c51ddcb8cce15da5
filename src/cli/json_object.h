/* json_object.h: builds objects for -o json field by field. */
#pragma once

#include "app/model/fields.h"
#include "config/document/value.h"

struct value *record_new(struct arena *arena);
struct value *record_list(struct arena *arena);

void record_text(struct arena *arena, struct value *record, const char *key, struct str text);
void record_int(struct arena *arena, struct value *record, const char *key, int64_t number);
void record_number(struct arena *arena, struct value *record, const char *key, double number);
void record_flag(struct arena *arena, struct value *record, const char *key, bool flag);
void record_null(struct arena *arena, struct value *record, const char *key);

/* All fields of `from`; what the wire leaves out is empty, zero or null here. */
void record_fields(struct arena *arena, struct value *record, const struct field_table *table,
                   const void *from);
