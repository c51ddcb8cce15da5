/* ctl_internal.h: shared by the files that read and write lines. */
#pragma once

#include "app/head/ctl/ctl.h"
#include "io/json_line.h"

/* A value of the wrong type makes the whole line invalid; a missing one is empty. */
struct ctl_reading {
    struct arena *arena;
    bool is_wrong;
};

static inline void ctl_expect(struct ctl_reading *reading, bool is_right)
{
    reading->is_wrong = reading->is_wrong || !is_right;
}

struct str ctl_text(struct ctl_reading *reading, const json_t *json, const char *name);
int64_t ctl_number(struct ctl_reading *reading, const json_t *json, const char *name);
bool ctl_flag(struct ctl_reading *reading, const json_t *json, const char *name);

json_t *ctl_answer_json(const struct ctl_answer *answer);
json_t *ctl_bundles_json(const struct ctl_request *request);

void ctl_read_answer(struct ctl_reading *reading, const json_t *json, struct ctl_answer *ret);
void ctl_read_bundles(struct ctl_reading *reading, json_t *json, struct ctl_request *request);
