/* node_json.h: nodes for -o json, with the fields of up, down and status; and events. */
#pragma once

#include "app/head/ctl/ctl.h"
#include "app/model/node_view.h"
#include "config/document/value.h"

struct value *node_records(struct arena *arena, const struct node_view *views, size_t count);
struct value *event_record(struct arena *arena, const struct cluster_event *event);
