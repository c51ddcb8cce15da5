/* survey_parts.h: the judging of a survey from inside; shared by the files that make it up. */
#pragma once

#include "base/attr.h"
#include "provider/aws/survey/survey_judge.h"

struct judge {
    const struct survey_wish *wish;
    const struct survey_answers *answers;
    struct arena *arena;
    struct finding *items;
    size_t count;
    size_t capacity;
    bool has_errors;
    struct aws_facts facts;
};

/* Valid until the next one is added. */
struct finding *judge_add(struct judge *judge, enum finding_level level, const char *subject,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);

/* The key of a node type that a finding is about. */
struct str judge_path(const struct judge *judge, const struct wish_type *type, const char *key);

/* Was it asked, and answered in full? */
static inline bool judge_knows(const struct judge *judge, enum survey_ask ask)
{
    return judge->answers->answers[ask].is_ok;
}

/* " (head, gpu)": the types that `counts` marks; empty when those are all. */
struct str judge_types(const struct judge *judge, const bool *counts);

struct judge_rows {
    struct finding_row *items;
    size_t count;
    size_t capacity;
};
void judge_row(struct judge *judge, struct judge_rows *rows, struct finding_row row);
void judge_set_rows(struct finding *finding, const struct judge_rows *rows);

/* Each says what is fine, what is wrong, and fills its part of the facts. */
void judge_machines(struct judge *judge);
void judge_images(struct judge *judge);
void judge_disks(struct judge *judge);
void judge_groups(struct judge *judge);
void judge_subnets(struct judge *judge);
void judge_keys(struct judge *judge);
void judge_profiles(struct judge *judge);

/* The VPC of the groups that the file names; empty: none, or not known. */
struct str judge_groups_vpc(const struct judge *judge);
