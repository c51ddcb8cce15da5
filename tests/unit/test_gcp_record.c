/* test_gcp_record.c: the lease in a chain of instance templates; writers with stale listings. */
#include "gcp_stage.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define CHAIN "shoal-demo-2a97516c-"
#define OPERATION "{\"name\":\"operation-1\",\"status\":\"DONE\"}"
#define EXPIRED "\\\"epoch\\\":7,\\\"holder\\\":\\\"old\\\",\\\"until\\\":1"
#define HELD "\\\"epoch\\\":9,\\\"holder\\\":\\\"other\\\",\\\"until\\\":9999999999"
#define INSTANCE                                                                           \
    "{\"items\":{\"zones/us-a\":{\"instances\":[{\"name\":\"w-1\",\"status\":\"RUNNING\"," \
    "\"zone\":\"https://x/zones/us-a\",\"labels\":{\"ray-cluster-name\":\"demo\","         \
    "\"shoal-cluster-uid\":\"there\"}}]}}}"
#define VERSION(number, lease)                                                          \
    "{\"name\":\"" CHAIN number "\",\"properties\":{\"metadata\":{\"items\":[{\"key\":" \
    "\"shoal-record\",\"value\":\"{\\\"cluster\\\":\\\"demo\\\",\\\"uid\\\":\\\"u\\\"," \
    "\\\"lease\\\":{" lease "}}\"}]}}}"

enum { TEXT_MAX = 16384, LISTS_MAX = 4, MANY_MAX = 32768 };

struct stage {
    const char *lists[LISTS_MAX]; /* items; "%" is what was written */
    int lists_asked, refused;     /* inserts that find the name taken */
    char written[TEXT_MAX], text[3 * TEXT_MAX], deleted[256];
    int inserts, deletes, delete_status;
    int instance_lists;
    const char *instances; /* NULL: none */
    size_t machines;
    struct gcp_stage gcp;
    int answered;
    enum outcome outcome;
    char holder[64], uid[64];
    uint64_t epoch;
};

static struct script_answer list(struct stage *stage)
{
    int at = stage->lists_asked < LISTS_MAX - 1 ? stage->lists_asked : LISTS_MAX - 1;
    while (!stage->lists[at]) {
        at--;
    }
    stage->lists_asked++;
    const char *mark = strchr(stage->lists[at], '%');
    if (mark) {
        snprintf(stage->text, sizeof(stage->text), "{\"items\":[%.*s%s%s]}",
                 (int)(mark - stage->lists[at]), stage->lists[at], stage->written, mark + 1);
    } else {
        snprintf(stage->text, sizeof(stage->text), "{\"items\":[%s]}", stage->lists[at]);
    }
    return (struct script_answer){.body = stage->text};
}

static struct script_answer serve(void *context, const struct script_request *request)
{
    struct stage *stage = context;
    if (strcmp(request->method, "GET") == 0) {
        if (strstr(request->target, "aggregated/instances")) {
            stage->instance_lists++;
            return (struct script_answer){.body = stage->instances ? stage->instances : "{}"};
        }
        return list(stage);
    }
    if (strcmp(request->method, "DELETE") == 0) {
        snprintf(stage->deleted, sizeof(stage->deleted), "%s", strstr(request->target, CHAIN));
        stage->deletes++;
        return (struct script_answer){.status = stage->delete_status, .body = OPERATION};
    }
    if (stage->inserts++ < stage->refused) {
        return (struct script_answer){.status = 409, .body = "{}"};
    }
    snprintf(stage->written, sizeof(stage->written), "%s", request->body);
    return (struct script_answer){.body = OPERATION};
}

static void stage_open(struct stage *stage)
{
    memset(stage, 0, sizeof(*stage));
    gcp_stage_open(&stage->gcp, serve, stage);
}

static void stage_close(struct stage *stage)
{
    gcp_stage_close(&stage->gcp);
}

static void on_lease(void *context, const struct provider_answer *answer,
                     const struct cluster_lease *lease)
{
    struct stage *stage = context;
    stage->answered++;
    stage->outcome = answer->outcome;
    stage->epoch = lease ? lease->epoch : 0;
    snprintf(stage->holder, sizeof(stage->holder), "%.*s",
             STR_ARG(lease ? lease->holder : STR("")));
    snprintf(stage->uid, sizeof(stage->uid), "%.*s", STR_ARG(lease ? lease->uid : STR("")));
    loop_stop(stage->gcp.loop);
}

static void stage_take_with(struct stage *stage, bool may_create, bool is_new)
{
    struct take_request request = {.holder = STR("me"),
                                   .lease_ms = 60000,
                                   .may_create = may_create,
                                   .is_new = is_new,
                                   .key = STR("ssh-ed25519 AAAA me\n")};
    stage->gcp.provider->ops->take(stage->gcp.provider, &request, on_lease, stage);
    while (stage->answered == 0) {
        loop_run(stage->gcp.loop);
    }
}

static void stage_take(struct stage *stage, bool is_new)
{
    stage_take_with(stage, true, is_new);
}

static void the_newest_version_counts(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = VERSION("10", EXPIRED) "," VERSION("9", HELD);
    stage.lists[1] = VERSION("10", EXPIRED) ",%";
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_int_equal(stage.epoch, 8);
    assert_non_null(strstr(stage.written, CHAIN "11\""));
    assert_string_equal(stage.deleted, "");
    stage_close(&stage);
}

static void a_held_lease_is_not_written(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = VERSION("5", HELD);
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    assert_int_equal(stage.inserts, 0);
    stage_close(&stage);
}

static void who_comes_second_reads_again(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.refused = 1;
    stage.lists[0] = VERSION("5", EXPIRED);
    stage.lists[1] = VERSION("5", EXPIRED) "," VERSION("6", HELD);
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    stage_close(&stage);
}

/* A template must name an image and a network that exist: those of the file's head, or of the last
 * version if the file leaves them to a template that this process has not read. */
static void the_template_is_like_the_head(void **state)
{
    static const char last[] = "{\"name\":\"" CHAIN "5\",\"properties\":{\"disks\":[{"
                               "\"initializeParams\":{\"sourceImage\":\"projects/q/old\"}}],"
                               "\"networkInterfaces\":[{\"subnetwork\":\"regions/r/s\"}],"
                               "\"metadata\":{\"items\":[{\"key\":\"shoal-record\",\"value\":"
                               "\"{\\\"cluster\\\":\\\"demo\\\",\\\"uid\\\":\\\"u\\\","
                               "\\\"lease\\\":{" EXPIRED "}}\"}]}}}";
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct stage stage;
        stage_open(&stage);
        struct arena *arena = &stage.gcp.arena;
        struct param *config = param_new_map(arena);
        struct provider_type head = {.name = STR("h"), .is_head = true, .node_config = config};
        stage.gcp.cluster.types = &head;
        stage.gcp.cluster.type_count = 1;
        if (i == 1) {
            param_add_text(
                param_add_map(param_add_map(param_add_list(config, "disks", arena), "", arena),
                              "initializeParams", arena),
                "sourceImage", STR("projects/q/new"), arena);
        }
        stage.lists[0] = last;
        stage.lists[1] = "%";
        stage_take(&stage, false);
        assert_non_null(strstr(stage.written, i ? "\"projects/q/new\"" : "\"projects/q/old\""));
        assert_non_null(strstr(stage.written, "\"subnetwork\":\"regions/r/s\""));
        assert_null(strstr(stage.written, "networks/default"));
        stage_close(&stage);
    }
}

/* Versions 6 to 9 were made, and 5 to 8 deleted, after the listing was made. */
static void a_write_after_a_stale_listing_does_not_count(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = VERSION("5", EXPIRED);
    stage.lists[1] = "%," VERSION("9", HELD);
    stage.lists[2] = VERSION("9", HELD);
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    assert_true(strncmp(stage.deleted, CHAIN "6", strlen(CHAIN "6")) == 0);
    stage_close(&stage);
}

/* Version 5 was not deleted with 6 to 8: this does not prove that 5 was the newest. */
static void a_write_below_the_newest_version_does_not_count(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = VERSION("5", EXPIRED);
    stage.lists[1] = VERSION("5", EXPIRED) ",%," VERSION("9", HELD);
    stage.lists[2] = stage.lists[1];
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    assert_int_equal(stage.inserts, 1);
    assert_int_equal(stage.deletes, 0);
    stage_close(&stage);
}

static void a_foreign_template_is_not_a_record(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = "{\"name\":\"" CHAIN "5\",\"properties\":{}}";
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_INVALID);
    assert_int_equal(stage.inserts, 0);
    stage_close(&stage);
}

/* The names of versions from 1 to `last`, as Google sorts them, before the text of the newest. */
static const char *many(char text[MANY_MAX], int last, const char *newest)
{
    size_t len = 0;
    for (int first = 1; first <= 9; first++) {
        for (int scale = 1; scale <= last; scale *= 10) {
            for (int i = first * scale; i < (first + 1) * scale && i <= last; i++) {
                len += (size_t)snprintf(text + len, MANY_MAX - len, "{\"name\":\"" CHAIN "%d\"},",
                                        i);
            }
        }
    }
    snprintf(text + len, MANY_MAX - len, "%s", newest);
    return text;
}

/* Google lists 500 of them at once, in the order of their names. */
static void the_newest_of_hundreds_counts(void **state)
{
    static char list[MANY_MAX];
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = many(list, 600, VERSION("601", HELD));
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    assert_int_equal(stage.inserts, 0);
    stage_close(&stage);
}

static void stage_stop(void *context)
{
    struct stage *stage = context;
    loop_stop(stage->gcp.loop);
}

static void old_versions_are_deleted(void **state)
{
    enum { KEPT = 5, LAST = 9 };
    static char before[MANY_MAX], after[MANY_MAX];
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = many(before, LAST - 1, VERSION("9", EXPIRED));
    stage.lists[1] = many(after, LAST - 1, VERSION("9", EXPIRED) ",%");
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    struct loop_timer *timer = loop_timer_new(stage.gcp.loop, stage_stop, &stage);
    while (*(volatile int *)&stage.deletes < LAST + 1 - KEPT) {
        loop_timer_start(timer, 5);
        loop_run(stage.gcp.loop);
    }
    loop_timer_free(timer);
    stage_close(&stage);
    assert_int_equal(stage.deletes, LAST + 1 - KEPT);
}

/* Each renewal would leave one more template in the project. */
static void versions_that_stay_are_an_error(void **state)
{
    static char before[MANY_MAX], after[MANY_MAX];
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = many(before, 50, VERSION("51", EXPIRED));
    stage.lists[1] = stage.lists[0];
    stage.lists[2] = many(after, 50, VERSION("51", EXPIRED) ",%");
    stage.delete_status = 403;
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_DENIED);
    assert_int_equal(stage.inserts, 0);
    assert_true(strncmp(stage.deleted, CHAIN "1?", strlen(CHAIN "1?")) == 0);
    stage.delete_status = 200;
    stage.answered = 0;
    stage_take(&stage, false);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_int_equal(stage.inserts, 1);
    stage_close(&stage);
}

static void a_new_record_is_not_read_first(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = "%";
    stage_take(&stage, true);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_non_null(strstr(stage.written, CHAIN "1\""));
    assert_non_null(strstr(stage.written, "\\\"key\\\":\\\"ssh-ed25519 AAAA me\\\""));
    assert_int_equal(stage.inserts, 1);
    assert_int_equal(stage.lists_asked, 1);
    stage_close(&stage);
}

/* Its first versions were deleted, so that the name was free. */
static void a_new_record_of_a_cluster_with_records_does_not_count(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = "%," VERSION("9", HELD);
    stage.lists[1] = VERSION("9", HELD);
    stage_take(&stage, true);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    assert_int_equal(stage.inserts, 1);
    assert_true(strncmp(stage.deleted, CHAIN "1?", strlen(CHAIN "1?")) == 0);
    stage_close(&stage);
}

#define HANDED                                                                     \
    "{\"version\":5,\"record\":{\"cluster\":\"demo\",\"uid\":\"u\",\"key\":\"k\"," \
    "\"lease\":{\"epoch\":7,\"holder\":\"up\",\"since\":1,\"until\":9999999999}}}"
#define UP "\\\"epoch\\\":7,\\\"holder\\\":\\\"up\\\",\\\"until\\\":9999999999"

static void stage_take_handed(struct stage *stage, uint64_t from)
{
    struct take_request request = {.holder = STR("me"),
                                   .lease_ms = 60000,
                                   .from = from,
                                   .uid = STR("u"),
                                   .known_uid = STR("u"),
                                   .lease_object = STR(HANDED)};
    stage->gcp.provider->ops->take(stage->gcp.provider, &request, on_lease, stage);
    while (stage->answered == 0) {
        loop_run(stage->gcp.loop);
    }
}

static void a_lease_that_was_handed_over_is_not_read_first(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = VERSION("5", UP) ",%";
    stage_take_handed(&stage, 7);
    assert_int_equal(stage.outcome, OUTCOME_DONE);
    assert_int_equal(stage.epoch, 8);
    assert_non_null(strstr(stage.written, CHAIN "6\""));
    assert_non_null(strstr(stage.written, "\\\"key\\\":\\\"k\\\""));
    assert_int_equal(stage.lists_asked, 1);
    stage_close(&stage);
}

static void a_lease_that_was_handed_over_and_lost_is_read(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.refused = 1;
    stage.lists[0] = VERSION("5", UP) "," VERSION("6", HELD);
    stage_take_handed(&stage, 7);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "other");
    stage_close(&stage);
}

static void the_text_of_another_lease_does_not_count(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = VERSION("5", UP);
    stage_take_handed(&stage, 6);
    assert_int_equal(stage.outcome, OUTCOME_MISMATCH);
    assert_string_equal(stage.holder, "up");
    assert_int_equal(stage.inserts, 0);
    stage_close(&stage);
}

/* The cluster was removed since: what was written is deleted, and nothing is created. */
static void a_lease_that_was_handed_over_and_removed_does_not_count(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = "%";
    stage.lists[1] = "";
    stage_take_handed(&stage, 7);
    assert_int_equal(stage.outcome, OUTCOME_NOT_FOUND);
    assert_int_equal(stage.inserts, 1);
    assert_true(strncmp(stage.deleted, CHAIN "6?", strlen(CHAIN "6?")) == 0);
    stage_close(&stage);
}

static void on_machines(void *context, const struct provider_answer *answer,
                        const struct machine *machines, size_t count)
{
    struct stage *stage = context;
    (void)machines;
    stage->answered++;
    stage->outcome = answer->outcome;
    stage->machines = count;
    loop_stop(stage->gcp.loop);
}

/* A uid that was just made has no instances. Only the first listing may rely on that. */
static void a_new_cluster_is_not_listed(void **state)
{
    struct stage stage;
    (void)state;
    stage_open(&stage);
    stage.lists[0] = "%";
    stage_take(&stage, true);
    assert_int_equal(stage.instance_lists, 1); /* by name */
    for (int i = 1; i <= 2; i++) {
        stage.answered = 0;
        stage.gcp.provider->ops->list(stage.gcp.provider, on_machines, &stage);
        while (stage.answered == 0) {
            loop_run(stage.gcp.loop);
        }
        assert_int_equal(stage.outcome, OUTCOME_DONE);
        assert_int_equal(stage.machines, 0);
        assert_int_equal(stage.instance_lists, i);
    }
    stage_close(&stage);
}

/* The record is gone, its instances are not: with another uid they would be lost. `down`, which
 * makes no record, learns their uid, too. */
static void a_record_that_is_made_again_has_the_uid_of_the_instances(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        bool is_up = i < 2;
        struct stage stage;
        stage_open(&stage);
        stage.instances = INSTANCE;
        stage.lists[0] = "";
        stage.lists[i == 0 ? 2 : 1] = "%";
        stage_take_with(&stage, is_up, i == 1);
        assert_int_equal(stage.outcome, is_up ? OUTCOME_DONE : OUTCOME_NOT_FOUND);
        assert_string_equal(stage.uid, "there");
        assert_int_equal(stage.inserts, is_up);
        assert_true(!is_up || strstr(stage.written, "\\\"uid\\\":\\\"there\\\""));
        stage_close(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_version_counts),
        cmocka_unit_test(a_held_lease_is_not_written),
        cmocka_unit_test(who_comes_second_reads_again),
        cmocka_unit_test(the_template_is_like_the_head),
        cmocka_unit_test(a_write_after_a_stale_listing_does_not_count),
        cmocka_unit_test(a_write_below_the_newest_version_does_not_count),
        cmocka_unit_test(a_foreign_template_is_not_a_record),
        cmocka_unit_test(the_newest_of_hundreds_counts),
        cmocka_unit_test(old_versions_are_deleted),
        cmocka_unit_test(versions_that_stay_are_an_error),
        cmocka_unit_test(a_new_record_is_not_read_first),
        cmocka_unit_test(a_new_record_of_a_cluster_with_records_does_not_count),
        cmocka_unit_test(a_lease_that_was_handed_over_is_not_read_first),
        cmocka_unit_test(a_lease_that_was_handed_over_and_lost_is_read),
        cmocka_unit_test(the_text_of_another_lease_does_not_count),
        cmocka_unit_test(a_lease_that_was_handed_over_and_removed_does_not_count),
        cmocka_unit_test(a_new_cluster_is_not_listed),
        cmocka_unit_test(a_record_that_is_made_again_has_the_uid_of_the_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
