/* node_record.h: nodes for -o json: the fields of up, down and status. */
#pragma once

#include "app/head/channel/ctl.h"
#include "app/view.h"
#include "config/document/value.h"

struct value *node_record(struct arena *arena, const struct node_view *view);
struct value *node_records(struct arena *arena, const struct node_view *views, size_t count);
