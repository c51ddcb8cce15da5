/* test_aws_error.c: what error replies mean for a launch, and which message each gives. */
#include "provider/aws/wire/aws_error.h"

#include "provider/aws/wire/sts_reply.h"
#include "unit.h"

static void codes_decide(void **state)
{
    static const struct {
        int status;
        const char *code;
        enum aws_error_class class;
        enum aws_remedy remedy;
        enum outcome outcome;
        enum err_kind kind;
    } rows[] = {
        {500, "InsufficientInstanceCapacity", AWS_CAPACITY, AWS_REMEDY_NONE, OUTCOME_CAPACITY,
         ERR_CAPACITY},
        {400, "VcpuLimitExceeded", AWS_QUOTA, AWS_REMEDY_NONE, OUTCOME_QUOTA, ERR_QUOTA},
        {503, "RequestLimitExceeded", AWS_THROTTLE, AWS_REMEDY_NONE, OUTCOME_THROTTLED,
         ERR_THROTTLED},
        {400, "IdempotentParameterMismatch", AWS_PERMANENT, AWS_REMEDY_NONE, OUTCOME_MISMATCH,
         ERR_CONFIG},
        {400, "InvalidInstanceID.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_NOT_FOUND,
         ERR_NOT_FOUND},
        {403, "UnauthorizedOperation", AWS_AUTH, AWS_REMEDY_NONE, OUTCOME_DENIED, ERR_AUTH},
        {403, "ExpiredToken", AWS_AUTH, AWS_REMEDY_REFRESH, OUTCOME_DENIED, ERR_AUTH},
        {403, "RequestTimeTooSkewed", AWS_AUTH, AWS_REMEDY_CLOCK, OUTCOME_DENIED, ERR_AUTH},
        {400, "RequestExpired", AWS_AUTH, AWS_REMEDY_EITHER, OUTCOME_DENIED, ERR_AUTH},
        {500, "InternalError", AWS_AMBIGUOUS, AWS_REMEDY_NONE, OUTCOME_UNKNOWN, ERR_UNAVAILABLE},
        {400, "InvalidParameterValue", AWS_PERMANENT, AWS_REMEDY_NONE, OUTCOME_INVALID, ERR_CONFIG},
        {500, "NeverHeardOf", AWS_AMBIGUOUS, AWS_REMEDY_NONE, OUTCOME_UNKNOWN, ERR_UNAVAILABLE},
        {400, "NeverHeardOf", AWS_PERMANENT, AWS_REMEDY_NONE, OUTCOME_INVALID, ERR_CONFIG},
        {409, "ConcurrentModification", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT, OUTCOME_THROTTLED,
         ERR_UNAVAILABLE},
        {404, "NoSuchEntity", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_THROTTLED, ERR_NOT_FOUND},
        {400, "InvalidLaunchTemplateName.AlreadyExistsException", AWS_PERMANENT, AWS_REMEDY_NONE,
         OUTCOME_INVALID, ERR_EXISTS},
        {400, "InvalidSignatureException", AWS_AUTH, AWS_REMEDY_CLOCK, OUTCOME_DENIED, ERR_AUTH},
        {500, "Server.InsufficientInstanceCapacity", AWS_CAPACITY, AWS_REMEDY_NONE,
         OUTCOME_CAPACITY, ERR_CAPACITY},
        {400, "ReservationCapacityExceeded", AWS_CAPACITY, AWS_REMEDY_NONE, OUTCOME_CAPACITY,
         ERR_CAPACITY},
        {0, "", AWS_AMBIGUOUS, AWS_REMEDY_NONE, OUTCOME_UNKNOWN, ERR_TIMEOUT},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_error error = {.status = rows[i].status, .code = str_from(rows[i].code)};
        aws_error_judge(&error);
        assert_int_equal(error.class, rows[i].class);
        assert_int_equal(error.remedy, rows[i].remedy);
        assert_int_equal(error.outcome, rows[i].outcome);
        assert_int_equal(aws_error_kind(&error), rows[i].kind);
    }
}

/* EC2 reports a very new instance profile as an invalid value, like any other mistake. */
static void words_decide(void **state)
{
    struct aws_error error = {
        .status = 400,
        .code = STR("InvalidParameterValue"),
        .message = STR("Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM "
                       "Instance Profile name")};
    (void)state;
    aws_error_judge(&error);
    assert_int_equal(error.class, AWS_DEFINITE_NO);
    assert_int_equal(error.remedy, AWS_REMEDY_SETTLE);
    assert_int_equal(error.outcome, OUTCOME_INVALID);
    error.message = STR("Value (x) for parameter availabilityZone is invalid");
    aws_error_judge(&error);
    assert_int_equal(error.class, AWS_PERMANENT);
}

static void bodies_are_read(void **state)
{
    static const char *const rows[][4] = {
        {"<Response><Errors><Error><Code>A</Code><Message>m</Message></Error></Errors>"
         "<RequestID>r</RequestID></Response>",
         "A", "m", "r"},
        {"<ErrorResponse><Error><Code>A</Code><Message>m</Message></Error><RequestId>r</RequestId>"
         "</ErrorResponse>",
         "A", "m", "r"},
        {" <Error><Code>A</Code><Message>m\x7f\nn</Message></Error>", "A", "m? n", ""},
        {"{\"__type\":\"x.y#A\",\"Message\":\"m\"}", "A", "m", ""},
        {"<html>", "", "", ""},
    };
    struct arena arena;
    (void)state;
    arena_init(&arena);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct aws_error error = aws_error_read(400, STR(""), str_from(rows[i][0]), &arena);
        assert_str(error.code, rows[i][1]);
        assert_like(error.message, i == 2 ? "m?*n" : rows[i][2]);
        assert_str(error.request_id, rows[i][3]);
    }
    assert_str(aws_error_read(400, STR("A:http://x"), STR("{}"), &arena).code, "A");
    arena_clear(&arena);
}

static void keys_of_a_role_are_whole(void **state)
{
#define KEYS(more)                                                                    \
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId>" \
    "<SecretAccessKey>sEcReT</SecretAccessKey>" more                                  \
    "</Credentials></AssumeRoleResult></AssumeRoleResponse>"
    struct arena arena;
    struct aws_credentials keys;
    struct err err;
    (void)state;
    arena_init(&arena);
    assert_true(sts_credentials_read(STR(KEYS("<SessionToken>T</SessionToken><Expiration>"
                                              "2020-06-17T10:11:12Z</Expiration>")),
                                     &arena, &keys, &err));
    assert_str(keys.session_token, "T");
    assert_int_equal(keys.expires_at, 1592388672);
    assert_false(sts_credentials_read(STR(KEYS("")), &arena, &keys, &err));
    assert_str(str_from(err.text), "SessionToken is missing");
    assert_false(sts_credentials_read(STR("<a><b/></a>"), &arena, &keys, &err));
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_decide),
        cmocka_unit_test(words_decide),
        cmocka_unit_test(bodies_are_read),
        cmocka_unit_test(keys_of_a_role_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
