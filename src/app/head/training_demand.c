/* training_demand.c: checks, stores and removes the requests of training jobs. */
#include "app/head/training_demand.h"

#include <string.h>

#define AMOUNT_MOST 1e15 /* bytes of memory */

/* ---- checks ---- */

static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
        if (!is_plain) {
            return false;
        }
    }
    return text.len > 0 && text.len < TRAINING_NAME_SIZE;
}

static bool check_bundle(const struct gcs_bundle *bundle, struct err *err)
{
    bool is_empty = bundle->count == 0 && bundle->leaving == 0;
    if (is_empty || bundle->count < 0 || bundle->count > TRAINING_COUNT_MAX ||
        bundle->leaving < 0 || bundle->leaving > TRAINING_COUNT_MAX) {
        return err_set(err, ERR_USAGE, "a training job can request 1 to %d replicas of one shape",
                       TRAINING_COUNT_MAX);
    }
    if (bundle->amount_count < 1 || bundle->amount_count > TRAINING_AMOUNTS_MAX) {
        return err_set(err, ERR_USAGE, "a replica can request 1 to %d resources",
                       TRAINING_AMOUNTS_MAX);
    }
    for (size_t i = 0; i < bundle->amount_count; i++) {
        const struct ray_quantity *one = &bundle->amounts[i];
        if (!is_name(one->name) || !(one->amount >= 0 && one->amount <= AMOUNT_MOST)) {
            return err_set(err, ERR_USAGE, "the request has an invalid resource or amount");
        }
    }
    return true;
}

static bool check_request(struct str job, const struct gcs_bundle *bundles, size_t count,
                          struct err *err)
{
    if (!is_name(job)) {
        return err_set(err, ERR_USAGE,
                       "the name of a training job has 1 to %d letters, digits and dashes",
                       TRAINING_NAME_SIZE - 1);
    }
    if (count > TRAINING_BUNDLES_MAX) {
        return err_set(err, ERR_USAGE, "a training job can request at most %d shapes",
                       TRAINING_BUNDLES_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        if (!check_bundle(&bundles[i], err)) {
            return false;
        }
    }
    return true;
}

/* ---- storage ---- */

static bool is_bundle_same(const struct gcs_bundle *a, const struct gcs_bundle *b)
{
    if (a->count != b->count || a->leaving != b->leaving || a->amount_count != b->amount_count) {
        return false;
    }
    for (size_t i = 0; i < a->amount_count; i++) {
        const struct ray_quantity *one = &a->amounts[i];
        const struct ray_quantity *other = &b->amounts[i];
        if (!str_eq(one->name, other->name) || one->amount < other->amount ||
            one->amount > other->amount) {
            return false;
        }
    }
    return true;
}

static bool is_request_same(const struct training_job *job, const struct gcs_bundle *bundles,
                            size_t count)
{
    bool is_same = job->bundle_count == count;
    for (size_t i = 0; i < count && is_same; i++) {
        is_same = is_bundle_same(&job->bundles[i], &bundles[i]);
    }
    return is_same;
}

static void copy_name(char to[TRAINING_NAME_SIZE], struct str name)
{
    memcpy(to, name.ptr, name.len);
    to[name.len] = '\0';
}

static void keep_request(struct training_job *job, const struct gcs_bundle *bundles, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < bundles[i].amount_count; j++) {
            const struct ray_quantity *one = &bundles[i].amounts[j];
            copy_name(job->names[i][j], one->name);
            job->amounts[i][j] = (struct ray_quantity){str_from(job->names[i][j]), one->amount};
        }
        job->bundles[i] = bundles[i];
        job->bundles[i].amounts = job->amounts[i];
    }
    job->bundle_count = count;
}

static struct training_job *find_job(struct training_demand *demand, struct str name)
{
    for (size_t i = 0; i < demand->job_count; i++) {
        if (str_is(name, demand->jobs[i].name)) {
            return &demand->jobs[i];
        }
    }
    return NULL;
}

/* The last one takes its place. */
static void remove_job(struct training_demand *demand, struct training_job *job)
{
    struct training_job *last = &demand->jobs[--demand->job_count];
    if (job != last) {
        copy_name(job->name, str_from(last->name));
        job->until = last->until;
        keep_request(job, last->bundles, last->bundle_count);
    }
}

bool training_demand_set(struct training_demand *demand, struct str job,
                         const struct gcs_bundle *bundles, size_t count, int64_t now,
                         bool *ret_is_new, struct err *err)
{
    struct training_job *known = find_job(demand, job);
    if (!check_request(job, bundles, count, err)) {
        return false;
    }
    *ret_is_new = known ? !is_request_same(known, bundles, count) : count > 0;
    if (count == 0) {
        if (known) {
            remove_job(demand, known);
        }
        return true;
    }
    if (!known && demand->job_count == TRAINING_JOBS_MAX) {
        return err_set(err, ERR_UNAVAILABLE,
                       "%d training jobs already request nodes, which is the limit",
                       TRAINING_JOBS_MAX);
    }
    if (!known) {
        known = &demand->jobs[demand->job_count++];
        copy_name(known->name, job);
    }
    keep_request(known, bundles, count);
    known->until = now + TRAINING_VALID_MS;
    return true;
}

bool training_demand_expire(struct training_demand *demand, int64_t now)
{
    size_t before = demand->job_count;
    for (size_t i = demand->job_count; i > 0; i--) {
        if (demand->jobs[i - 1].until <= now) {
            remove_job(demand, &demand->jobs[i - 1]);
        }
    }
    return demand->job_count < before;
}
