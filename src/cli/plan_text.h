/* plan_text.h: a plan of `up` as text: as a list, and as a question. */
#pragma once

#include "app/launch/up_plan.h"
#include "base/buf.h"

/* One line per step, and the price per hour before and after. */
void plan_text_list(struct buf *out, const struct up_plan *plan);

/* "This will launch 3 instances: head m5.large ($0.096/h), 2 x m5.large spot ($0.038/h each):
 * $0.17/h. Ray will be restarted on 2 nodes; 1 job is running." Empty if there is nothing to do. */
void plan_text_question(struct buf *out, const struct up_plan *plan);
