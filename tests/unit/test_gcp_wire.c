/* test_gcp_wire.c: Google's errors, operations, listings, instances and labels. */
#include "provider/gcp/wire/gcp_failure.h"
#include "provider/gcp/wire/gcp_instance.h"
#include "unit.h"

#include <string.h>

static json_t *parsed(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    return json;
}

/* ---- errors ---- */

#define BODY(reason) \
    "{\"error\":{\"code\":1,\"message\":\"m\",\"errors\":[{\"reason\":\"" reason "\"}]}}"

static void refusals(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum outcome outcome;
    } rows[] = {
        {400, BODY("invalid"), OUTCOME_INVALID},
        {401, "", OUTCOME_DENIED},
        {403, BODY("forbidden"), OUTCOME_DENIED},
        {403, BODY("rateLimitExceeded"), OUTCOME_THROTTLED},
        {403, BODY("quotaExceeded"), OUTCOME_QUOTA},
        {400, BODY("resourceNotReady"), OUTCOME_THROTTLED},
        {404, BODY("notFound"), OUTCOME_NOT_FOUND},
        {409, BODY("alreadyExists"), OUTCOME_MISMATCH},
        {412, BODY("conditionNotMet"), OUTCOME_INVALID},
        {429, "{", OUTCOME_THROTTLED},
        {500, "[]", OUTCOME_UNKNOWN},
        {503, BODY("backendError"), OUTCOME_UNKNOWN},
        {503, BODY("ZONE_RESOURCE_POOL_EXHAUSTED"), OUTCOME_CAPACITY},
        {301, "<html>", OUTCOME_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct gcp_failure failure;
        gcp_failure_read(rows[i].status, str_from(rows[i].body), &failure);
        assert_int_equal(failure.outcome, rows[i].outcome);
        assert_true(*failure.message != '\0');
    }
}

static void messages_have_no_control_characters(void **state)
{
    struct gcp_failure failure;
    (void)state;
    gcp_failure_read(400, STR("{\"error\":{\"message\":\"a\\u001bb\\nc\"}}"), &failure);
    assert_string_equal(failure.message, "a b c");
}

/* In an operation a policy of the organization has a code of its own. */
static void an_operation_against_a_policy_is_invalid(void **state)
{
    struct gcp_operation_state read;
    json_t *json = parsed(
        "{\"name\":\"operation-1\",\"status\":\"DONE\",\"httpErrorStatusCode\":503,"
        "\"error\":{\"errors\":[{\"code\":\"VM_MIN_COUNT_NOT_REACHED\",\"message\":\"few\"},"
        "{\"code\":\"CONDITION_NOT_MET\",\"message\":\"Constraint violated\"}]}}");
    (void)state;
    assert_true(gcp_operation_state_read(json, &read));
    assert_int_equal(read.failure.outcome, OUTCOME_INVALID);
    json_decref(json);
}

static void operations(void **state)
{
    struct gcp_operation_state read;
    json_t *json = parsed("{\"name\":\"operation-1\",\"status\":\"RUNNING\"}");
    (void)state;
    assert_true(gcp_operation_state_read(json, &read));
    assert_false(read.is_done || read.has_failed);
    json_decref(json);
    /* Too few is a consequence; the other code is the reason. */
    json = parsed(
        "{\"name\":\"operation-1\",\"status\":\"DONE\",\"httpErrorStatusCode\":503,"
        "\"error\":{\"errors\":[{\"code\":\"VM_MIN_COUNT_NOT_REACHED\",\"message\":\"x\"},"
        "{\"code\":\"QUOTA_EXCEEDED\",\"message\":\"CPUS\"}]}}");
    assert_true(gcp_operation_state_read(json, &read));
    assert_true(read.is_done && read.has_failed);
    assert_int_equal(read.failure.outcome, OUTCOME_QUOTA);
    assert_string_equal(read.failure.message, "CPUS");
    json_decref(json);
    static const char *const wrong[] = {"{}", "{\"name\":\"a/b\",\"status\":\"DONE\"}",
                                        "{\"name\":\"a\",\"status\":\"GONE\"}",
                                        "{\"name\":5,\"status\":\"DONE\"}"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        json = parsed(wrong[i]);
        assert_false(gcp_operation_state_read(json, &read));
        json_decref(json);
    }
}

/* ---- listings ---- */

static void pages(void **state)
{
    static const struct {
        const char *kind, *text;
        size_t count; /* SIZE_MAX: refused */
    } rows[] = {
        {NULL, "{}", 0},
        {NULL, "{\"items\":[{},{}]}", 2},
        {NULL, "{\"items\":{}}", SIZE_MAX},
        {NULL, "{\"items\":[5]}", SIZE_MAX},
        {NULL, "{\"warning\":{\"code\":\"NO_RESULTS_ON_PAGE\"}}", 0},
        {NULL, "{\"warning\":{\"code\":\"UNREACHABLE\"}}", SIZE_MAX},
        {"instances",
         "{\"items\":{\"zones/a\":{\"instances\":[{}]},"
         "\"zones/b\":{\"warning\":{\"code\":\"NO_RESULTS_ON_PAGE\"}}}}",
         1},
        {"instances", "{\"items\":{\"zones/a\":{\"warning\":{\"code\":\"UNREACHABLE\"}}}}",
         SIZE_MAX},
        {"instances", "{\"items\":{},\"unreachables\":[\"zones/a\"]}", SIZE_MAX},
        {"instances", "{\"items\":{\"zones/a\":5}}", SIZE_MAX},
        {"instances", "{\"items\":[]}", SIZE_MAX},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str next;
        struct err err = {0};
        json_t *items = json_array();
        json_t *body = parsed(rows[i].text);
        bool is_read = gcp_page_read(body, rows[i].kind, items, &next, &err);
        assert_int_equal(is_read, rows[i].count != SIZE_MAX);
        assert_true(!is_read || json_array_size(items) == rows[i].count);
        json_decref(body);
        json_decref(items);
    }
}

static void places_that_a_page_lacks(void **state)
{
    struct str next;
    struct err err;
    json_t *items = json_array();
    json_t *missed = json_array();
    json_t *body = parsed("{\"items\":{\"zones/a\":{\"instances\":[{}]},"
                          "\"zones/b\":{\"warning\":{\"code\":\"UNREACHABLE\"}},"
                          "\"zones/c\":{\"warning\":{\"code\":\"NO_RESULTS_ON_PAGE\"}}},"
                          "\"unreachables\":[\"https://g/p/zones/b\",\"https://g/p/zones/d\"],"
                          "\"warning\":{\"code\":\"PARTIAL_SUCCESS\"},\"nextPageToken\":\"n\"}");
    (void)state;
    assert_true(gcp_page_read_some(body, "instances", items, missed, &next, &err));
    assert_str(next, "n");
    assert_int_equal(json_array_size(items), 1);
    assert_int_equal(json_array_size(missed), 2);
    assert_string_equal(json_string_value(json_array_get(missed, 0)), "b");
    assert_string_equal(json_string_value(json_array_get(missed, 1)), "d");
    json_decref(body);
    body = parsed("{\"warning\":{\"code\":\"PARTIAL_SUCCESS\"}}");
    assert_true(gcp_page_read_some(body, "instances", items, missed, &next, &err));
    assert_string_equal(json_string_value(json_array_get(missed, 2)),
                        ""); /* Google does not say which */
    json_decref(body);
    json_decref(missed);
    json_decref(items);
}

static void an_instance(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct machine machine;
    struct err err = {0};
    json_t *item = parsed(
        "{\"name\":\"one\",\"status\":\"STAGING\",\"zone\":\"https://x/zones/us-a\","
        "\"machineType\":\"https://x/machineTypes/e2-small\","
        "\"creationTimestamp\":\"2026-11-15T00:15:57.123-08:00\","
        "\"networkInterfaces\":[{\"networkIP\":\"10.0.0.2\",\"accessConfigs\":[{\"natIP\":"
        "\"192.0.2.1\"}]}],\"scheduling\":{\"provisioningModel\":\"SPOT\"},"
        "\"labels\":{\"shoal-token\":\"t\",\"a\":\"label\",\"b\":\"label\"},"
        "\"metadata\":{\"items\":[{\"key\":\"shoal-tags\","
        "\"value\":\"{\\\"b\\\":\\\"B.1\\\"}\"}]}}");
    (void)state;
    assert_true(gcp_instance_read(item, &arena, &machine, &err));
    assert_str(machine.id, "one");
    assert_str(machine.zone, "us-a");
    assert_str(machine.type, "e2-small");
    assert_str(machine.private_ip, "10.0.0.2");
    assert_str(machine.public_ip, "192.0.2.1");
    assert_str(machine.token, "t");
    assert_int_equal(machine.state, MACHINE_PENDING);
    assert_int_equal(machine.market, MARKET_SPOT);
    assert_int_equal(machine.launched_at, 1794730557);
    assert_int_equal(machine.tag_count, 3);
    for (size_t i = 0; i < machine.tag_count; i++) {
        if (str_is(machine.tags[i].key, "b")) {
            assert_str(machine.tags[i].value, "B.1");
        }
    }
    json_object_set_new(item, "status", json_string("ODD"));
    assert_false(gcp_instance_read(item, &arena, &machine, &err));
    json_object_set_new(item, "status", json_string("TERMINATED"));
    assert_true(gcp_instance_read(item, &arena, &machine, &err));
    assert_int_equal(machine.state, MACHINE_STOPPED);
    json_object_set_new(item, "name", json_string("../x"));
    assert_false(gcp_instance_read(item, &arena, &machine, &err));
    json_decref(item);
}

static bool is_left(json_t *item, const char *rests, const char *stopped)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct machine machine;
    struct err err;
    json_object_set_new(json_object_get(item, "labels"), GCP_RESTS_LABEL, json_string(rests));
    json_object_set_new(item, "lastStopTimestamp", json_string(stopped));
    assert_true(gcp_instance_read(item, &arena, &machine, &err));
    return machine.is_left;
}

static void a_worker_that_stopped_itself(void **state)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    json_t *item = parsed("{\"name\":\"one\",\"status\":\"TERMINATED\",\"zone\":\"us-a\","
                          "\"creationTimestamp\":\"2026-11-15T00:00:00.000-08:00\","
                          "\"lastStartTimestamp\":\"2026-11-15T00:15:57.123-08:00\","
                          "\"labels\":{\"ray-node-type\":\"worker\"}}");
    struct machine started = {.launched_at = 1794730557};
    const char *rests = gcp_rests_tag(&started, &arena).value.ptr;
    const char *later = "2026-11-15T00:20:00.000-08:00";
    (void)state;
    assert_string_equal(rests, "1794730557");
    assert_true(is_left(item, "", ""));
    assert_true(is_left(item, "1794720000", later)); /* that stop was before the last start */
    assert_false(is_left(item, rests, later));
    assert_false(is_left(item, "", "2026-11-15T00:10:00.000-08:00")); /* it is being started */
    json_object_set_new(item, "status", json_string("STOPPING"));
    assert_false(is_left(item, "", later));
    json_object_set_new(item, "status", json_string("TERMINATED"));
    json_object_set_new(json_object_get(item, "labels"), "ray-node-type", json_string("head"));
    assert_false(is_left(item, "", later));
    json_decref(item);
}

/* ---- tags ---- */

static void tags_that_fit_are_labels(void **state)
{
    const struct machine_tag tags[] = {
        {STR("shoal-launch"), STR("7.12")},
        {STR("ray-node-type"), STR("worker")},
        {STR("Odd"), STR("x")},
        {STR("empty"), STR("")},
        {STR("ray-node-name"), STR("Big")},
    };
    const struct machine_tag later[] = {{STR("shoal-launch"), STR("7")}};
    json_t *labels = json_pack("{s:s}", "ray-node-name", "old");
    json_t *items = json_array();
    (void)state;
    assert_true(gcp_tags_add(labels, items, tags, ARRAY_LEN(tags)));
    assert_int_equal(json_object_size(labels), 2);
    assert_string_equal(json_string_value(json_object_get(labels, "ray-node-type")), "worker");
    assert_string_equal(json_string_value(json_object_get(labels, "empty")), "");
    assert_str(gcp_metadata_get(items, GCP_TAGS_KEY),
               "{\"shoal-launch\":\"7.12\",\"Odd\":\"x\",\"ray-node-name\":\"Big\"}");
    /* A value that fits leaves the metadata; one that changes no other tag leaves it alone. */
    assert_true(gcp_tags_add(labels, items, later, 1));
    assert_str(gcp_metadata_get(items, GCP_TAGS_KEY), "{\"Odd\":\"x\",\"ray-node-name\":\"Big\"}");
    assert_false(gcp_tags_add(labels, items, later, 1));
    assert_int_equal(json_array_size(items), 1);
    json_decref(labels);
    json_decref(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(messages_have_no_control_characters),
        cmocka_unit_test(an_operation_against_a_policy_is_invalid),
        cmocka_unit_test(operations),
        cmocka_unit_test(pages),
        cmocka_unit_test(places_that_a_page_lacks),
        cmocka_unit_test(an_instance),
        cmocka_unit_test(a_worker_that_stopped_itself),
        cmocka_unit_test(tags_that_fit_are_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
