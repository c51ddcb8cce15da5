/*
 * survey_run.h: the questions of a survey, on the loop. What does not depend on an answer is asked
 * at once; what does (the newest image, the machines of a region) in a second and a third wave.
 * Every question is one that changes nothing.
 */
#pragma once

#include "provider/aws/client/aws_client.h"
#include "provider/aws/survey/survey_judge.h"

struct survey_run;

/* Called once, from the loop. What was found lives in `arena`, which now belongs to the callee. */
typedef void survey_run_fn(void *context, const struct survey_result *result, struct arena *arena);

/* `cluster` must outlive the result. */
struct survey_run *survey_run_start(struct aws_client *client,
                                    const struct provider_cluster *cluster, enum survey_scope scope,
                                    survey_run_fn *done, void *context);

/* No callback is called any more. */
void survey_run_cancel(struct survey_run *run);
