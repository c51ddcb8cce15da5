/* record.h: objects for -o json, field by field. */
#pragma once

#include "config/document/value.h"

struct value *record_new(struct arena *arena);
struct value *record_list(struct arena *arena);

void record_text(struct arena *arena, struct value *record, const char *key, struct str text);
void record_int(struct arena *arena, struct value *record, const char *key, int64_t number);
void record_number(struct arena *arena, struct value *record, const char *key, double number);
void record_flag(struct arena *arena, struct value *record, const char *key, bool flag);
void record_null(struct arena *arena, struct value *record, const char *key);
