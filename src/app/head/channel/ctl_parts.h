/* ctl_parts.h: lines of the control channel from inside; shared by the files that make it up. */
#pragma once

#include "app/head/channel/ctl.h"
#include "io/json_line.h"

/* ---- ctl_reading.c ---- */

/* What is not of its type fails the whole line; what is missing is empty. */
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

/* ---- ctl_insight.c ---- */

json_t *ctl_demand_json(const struct insight_demand *demand);
json_t *ctl_event_json(const struct insight_event *event);
json_t *ctl_answer_json(const struct ctl_answer *answer);
json_t *ctl_wishes_json(const struct ctl_request *request);

void ctl_read_demand(struct ctl_reading *reading, const json_t *json, struct insight_demand *ret);
void ctl_read_event(struct ctl_reading *reading, const json_t *json, struct insight_event *ret);
void ctl_read_answer(struct ctl_reading *reading, const json_t *json, struct ctl_answer *ret);
void ctl_read_wishes(struct ctl_reading *reading, json_t *json, struct ctl_request *request);
