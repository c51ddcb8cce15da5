/* preflight_internal.h: the evaluation of a preflight, private; shared by its files. */
#pragma once

#include "base/attr.h"
#include "provider/aws/preflight/preflight_evaluate.h"

struct judge {
    const struct preflight_request *request;
    const struct preflight_answers *answers;
    struct arena *arena;
    struct finding *items;
    size_t count;
    size_t capacity;
    bool has_errors;
    struct aws_facts facts;
};

/* The pointer is valid until the next finding is added. */
struct finding *judge_add(struct judge *judge, enum finding_level level, const char *subject,
                          const char *fmt, ...) PRINTF_LIKE(4, 5);

/* The path of a node type's key that a finding is about. */
struct str judge_path(const struct judge *judge, const struct requested_type *type,
                      const char *key);

/* True if the call was made and fully answered. */
static inline bool judge_knows(const struct judge *judge, enum preflight_ask ask)
{
    return judge->answers->answers[ask].is_ok;
}

/* " (head, gpu)": the types marked in `counts`; empty if all are marked. */
struct str judge_types(const struct judge *judge, const bool *counts);

struct judge_rows {
    struct finding_row *items;
    size_t count;
    size_t capacity;
};
void judge_row(struct judge *judge, struct judge_rows *rows, struct finding_row row);
void judge_set_rows(struct finding *finding, const struct judge_rows *rows);

/* Each adds findings and fills its part of the facts. */
void judge_machines(struct judge *judge);
void judge_images(struct judge *judge);
void judge_disks(struct judge *judge);
void judge_groups(struct judge *judge);
void judge_subnets(struct judge *judge);
void judge_keys(struct judge *judge);
void judge_profiles(struct judge *judge);
void judge_quotas(struct judge *judge);
void judge_spot_role(struct judge *judge);
void judge_dry_runs(struct judge *judge);
void judge_disk_keys(struct judge *judge);
void judge_rights(struct judge *judge);
void judge_foreign(struct judge *judge); /* problems only */
