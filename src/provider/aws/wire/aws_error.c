/* aws_error.c: the table of error codes, and the four error formats. */
#include "provider/aws/wire/aws_error.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "provider/aws/wire/xml_tree.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES_MAX = 64 * 1024, MESSAGE_BYTES_MAX = 1024, CODE_BYTES_MAX = 128 };

/* ---- the table ---- */

struct aws_error_judgement {
    const char *code;
    enum aws_error_class class;
    enum aws_remedy remedy;
    enum outcome outcome; /* OUTCOME_DONE: derived from the class */
};

#define ROW(code, class)                           \
    {                                              \
        code, class, AWS_REMEDY_NONE, OUTCOME_DONE \
    }
#define REMEDY(code, class, remedy)       \
    {                                     \
        code, class, remedy, OUTCOME_DONE \
    }
#define BOTH(code, class, remedy, outcome) \
    {                                      \
        code, class, remedy, outcome       \
    }
#define OUTCOME(code, class, outcome)         \
    {                                         \
        code, class, AWS_REMEDY_NONE, outcome \
    }

/* Sorted by strcmp(). Contains the codes that AWS documents for our calls of EC2, IAM, STS, SSM, S3
 * and Pricing, the common ones, and those in botocore's models and retry table. */
static const struct aws_error_judgement judgements[] = {
    ROW("AWSServiceAccessNotEnabledException", AWS_AUTH),
    ROW("AccessDenied", AWS_AUTH),
    ROW("AccessDeniedException", AWS_AUTH),
    ROW("AddressLimitExceeded", AWS_QUOTA),
    REMEDY("AuthFailure", AWS_AUTH, AWS_REMEDY_CLOCK), /* EC2 also uses it for a wrong clock */
    ROW("AuthorizationHeaderMalformed", AWS_PERMANENT),
    ROW("BandwidthLimitExceeded", AWS_THROTTLE),
    ROW("Blocked", AWS_AUTH),
    ROW("BucketAlreadyExists", AWS_PERMANENT),
    ROW("BucketAlreadyOwnedByYou", AWS_PERMANENT),
    ROW("CapacityReservationUnsupported", AWS_PERMANENT),
    ROW("ClientInternalError", AWS_AMBIGUOUS),
    /* A concurrent change, which ends soon. */
    REMEDY("ConcurrentModification", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    REMEDY("ConcurrentModificationException", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    REMEDY("ConcurrentMutationLimitExceeded", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    REMEDY("ConcurrentTagAccess", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    /* The blocking resource may be about to disappear. */
    REMEDY("DeleteConflict", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("DependencyAccessDeniedException", AWS_AUTH),
    REMEDY("DependencyViolation", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("DryRunOperation", AWS_DEFINITE_NO),
    ROW("EC2ThrottledException", AWS_THROTTLE),
    ROW("EncryptedVolumesNotSupported", AWS_PERMANENT),
    ROW("EntityAlreadyExists", AWS_PERMANENT),
    REMEDY("EntityTemporarilyUnmodifiable", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    ROW("ExpiredNextTokenException", AWS_PERMANENT),
    REMEDY("ExpiredToken", AWS_AUTH, AWS_REMEDY_REFRESH),
    REMEDY("ExpiredTokenException", AWS_AUTH, AWS_REMEDY_REFRESH),
    ROW("FilterLimitExceeded", AWS_PERMANENT),
    ROW("HostLimitExceeded", AWS_QUOTA),
    REMEDY("IDPCommunicationError", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    ROW("IDPRejectedClaim", AWS_AUTH),
    /* The token's instance is terminated; a new launch needs a new token. */
    ROW("IdempotentInstanceTerminated", AWS_PERMANENT),
    OUTCOME("IdempotentParameterMismatch", AWS_PERMANENT, OUTCOME_MISMATCH),
    OUTCOME("IdempotentParameterMismatchException", AWS_PERMANENT, OUTCOME_MISMATCH),
    ROW("IllegalArgumentException", AWS_PERMANENT),
    ROW("IncompleteSignature", AWS_AUTH),
    ROW("IncompleteSignatureException", AWS_AUTH),
    REMEDY("IncorrectInstanceState", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    REMEDY("IncorrectState", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    REMEDY("IncorrectStateException", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("InstanceAlreadyLinked", AWS_PERMANENT),
    ROW("InstanceCreditSpecification.NotSupported", AWS_PERMANENT),
    ROW("InstanceLimitExceeded", AWS_QUOTA),
    ROW("InsufficientAddressCapacity", AWS_CAPACITY),
    ROW("InsufficientCapacity", AWS_CAPACITY),
    ROW("InsufficientCapacityOnHost", AWS_CAPACITY),
    ROW("InsufficientFreeAddressesInSubnet", AWS_CAPACITY),
    ROW("InsufficientHostCapacity", AWS_CAPACITY),
    ROW("InsufficientInstanceCapacity", AWS_CAPACITY),
    ROW("InsufficientReservedInstanceCapacity", AWS_CAPACITY),
    ROW("InsufficientVolumeCapacity", AWS_CAPACITY),
    ROW("InternalError", AWS_AMBIGUOUS),
    ROW("InternalErrorException", AWS_AMBIGUOUS),
    ROW("InternalFailure", AWS_AMBIGUOUS),
    ROW("InternalServerError", AWS_AMBIGUOUS),
    ROW("InternalServerException", AWS_AMBIGUOUS),
    ROW("InternalServiceError", AWS_AMBIGUOUS),
    ROW("InvalidAMIAttributeItemValue", AWS_PERMANENT),
    ROW("InvalidAMIID.Malformed", AWS_PERMANENT),
    ROW("InvalidAMIID.NotFound", AWS_PERMANENT),
    ROW("InvalidAMIID.Unavailable", AWS_PERMANENT),
    REMEDY("InvalidAccessKeyId", AWS_AUTH, AWS_REMEDY_REFRESH),
    ROW("InvalidAction", AWS_PERMANENT),
    ROW("InvalidAvailabilityZone", AWS_PERMANENT),
    ROW("InvalidBlockDeviceMapping", AWS_PERMANENT),
    ROW("InvalidCapacityReservationId.NotFound", AWS_PERMANENT),
    ROW("InvalidCharacter", AWS_PERMANENT),
    ROW("InvalidClientException", AWS_AUTH),
    REMEDY("InvalidClientTokenId", AWS_AUTH, AWS_REMEDY_REFRESH),
    ROW("InvalidFilter", AWS_PERMANENT),
    ROW("InvalidFilterKey", AWS_PERMANENT),
    ROW("InvalidFilterOption", AWS_PERMANENT),
    ROW("InvalidFilterValue", AWS_PERMANENT),
    ROW("InvalidGrantException", AWS_AUTH),
    ROW("InvalidGroup.Duplicate", AWS_PERMANENT),
    REMEDY("InvalidGroup.InUse", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    /* Groups, profiles and instances created a moment ago may not be visible everywhere. */
    BOTH("InvalidGroup.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_INVALID),
    ROW("InvalidGroup.Reserved", AWS_PERMANENT),
    ROW("InvalidGroupId.Malformed", AWS_PERMANENT),
    REMEDY("InvalidHostState", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("InvalidID", AWS_PERMANENT),
    ROW("InvalidIdentityToken", AWS_AUTH),
    ROW("InvalidInput", AWS_PERMANENT),
    ROW("InvalidInstanceAttributeValue", AWS_PERMANENT),
    OUTCOME("InvalidInstanceID", AWS_PERMANENT, OUTCOME_NOT_FOUND),
    OUTCOME("InvalidInstanceID.Malformed", AWS_PERMANENT, OUTCOME_INVALID),
    BOTH("InvalidInstanceID.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_NOT_FOUND),
    ROW("InvalidInstanceType", AWS_PERMANENT),
    ROW("InvalidInterface.IpAddressLimitExceeded", AWS_QUOTA),
    ROW("InvalidIpamPoolId.NotFound", AWS_PERMANENT),
    ROW("InvalidKey.Format", AWS_PERMANENT),
    ROW("InvalidKeyId", AWS_PERMANENT),
    ROW("InvalidKeyPair.Duplicate", AWS_PERMANENT),
    ROW("InvalidKeyPair.Format", AWS_PERMANENT),
    BOTH("InvalidKeyPair.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_INVALID),
    ROW("InvalidLaunchTemplateId.Malformed", AWS_PERMANENT),
    BOTH("InvalidLaunchTemplateId.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_INVALID),
    BOTH("InvalidLaunchTemplateId.VersionNotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE,
         OUTCOME_INVALID),
    ROW("InvalidLaunchTemplateName.AlreadyExistsException", AWS_PERMANENT),
    ROW("InvalidLaunchTemplateName.MalformedException", AWS_PERMANENT),
    BOTH("InvalidLaunchTemplateName.NotFoundException", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE,
         OUTCOME_INVALID),
    REMEDY("InvalidNetworkInterface.InUse", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    REMEDY("InvalidNetworkInterfaceID.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("InvalidNextToken", AWS_PERMANENT),
    ROW("InvalidNextTokenException", AWS_PERMANENT),
    ROW("InvalidPaginationToken", AWS_PERMANENT),
    ROW("InvalidPaginationTokenException", AWS_PERMANENT),
    ROW("InvalidParameter", AWS_PERMANENT),
    ROW("InvalidParameterCombination", AWS_PERMANENT),
    ROW("InvalidParameterDependency", AWS_PERMANENT),
    ROW("InvalidParameterException", AWS_PERMANENT),
    ROW("InvalidParameterValue", AWS_PERMANENT),
    ROW("InvalidPermission.Duplicate", AWS_PERMANENT),
    ROW("InvalidPermission.Malformed", AWS_PERMANENT),
    ROW("InvalidPermission.NotFound", AWS_PERMANENT),
    ROW("InvalidPlacementGroup.InUse", AWS_PERMANENT),
    ROW("InvalidPlacementGroup.Unknown", AWS_PERMANENT),
    ROW("InvalidQueryParameter", AWS_PERMANENT),
    ROW("InvalidRequest", AWS_PERMANENT),
    ROW("InvalidRequestException", AWS_PERMANENT),
    ROW("InvalidRequestRegionException", AWS_PERMANENT),
    ROW("InvalidResourceStateException", AWS_PERMANENT),
    ROW("InvalidResourceType.Unknown", AWS_PERMANENT),
    ROW("InvalidScopeException", AWS_PERMANENT),
    REMEDY("InvalidSecurity.RequestHasExpired", AWS_AUTH, AWS_REMEDY_EITHER),
    BOTH("InvalidSecurityGroupID.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_INVALID),
    BOTH("InvalidSecurityGroupRuleId.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE,
         OUTCOME_INVALID),
    REMEDY("InvalidSignatureException", AWS_AUTH, AWS_REMEDY_CLOCK),
    ROW("InvalidSnapshot.NotFound", AWS_PERMANENT),
    REMEDY("InvalidSpotInstanceRequestID.NotFound", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    REMEDY("InvalidState", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("InvalidSubnet", AWS_PERMANENT),
    ROW("InvalidSubnetID.NotFound", AWS_PERMANENT),
    ROW("InvalidSubnetId.NotFound", AWS_PERMANENT),
    ROW("InvalidTagKey.Malformed", AWS_PERMANENT),
    ROW("InvalidToken", AWS_AUTH),
    ROW("InvalidUserData.Malformed", AWS_PERMANENT),
    ROW("InvalidUserType", AWS_PERMANENT),
    ROW("InvalidVolume.NotFound", AWS_PERMANENT),
    ROW("InvalidVolume.ZoneMismatch", AWS_PERMANENT),
    ROW("InvalidVpcID.NotFound", AWS_PERMANENT),
    ROW("InvalidZone.NotFound", AWS_PERMANENT),
    ROW("KeyPairLimitExceeded", AWS_QUOTA),
    ROW("LimitExceeded", AWS_QUOTA),
    ROW("LimitExceededException", AWS_THROTTLE),
    ROW("MalformedPolicyDocument", AWS_PERMANENT),
    ROW("MalformedQueryString", AWS_PERMANENT),
    ROW("MaxIOPSLimitExceeded", AWS_QUOTA),
    ROW("MaxScheduledInstanceCapacityExceeded", AWS_QUOTA),
    ROW("MaxSpotFleetRequestCountExceeded", AWS_QUOTA),
    ROW("MaxSpotInstanceCountExceeded", AWS_QUOTA),
    ROW("MethodNotAllowed", AWS_PERMANENT),
    ROW("MissingAction", AWS_PERMANENT),
    ROW("MissingAuthenticationToken", AWS_AUTH),
    ROW("MissingAuthenticationTokenException", AWS_AUTH),
    ROW("MissingInput", AWS_PERMANENT),
    ROW("MissingParameter", AWS_PERMANENT),
    ROW("NetworkInterfaceLimitExceeded", AWS_QUOTA),
    ROW("NoSuchBucket", AWS_PERMANENT),
    REMEDY("NoSuchEntity", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("NoSuchKey", AWS_PERMANENT),
    ROW("NoSuchResourceException", AWS_PERMANENT),
    ROW("NotAuthorized", AWS_AUTH),
    ROW("NotFoundException", AWS_PERMANENT),
    ROW("OperationNotPermitted", AWS_PERMANENT),
    ROW("OptInRequired", AWS_AUTH),
    ROW("PackedPolicyTooLarge", AWS_PERMANENT),
    ROW("ParameterNotFound", AWS_PERMANENT),
    ROW("ParameterVersionNotFound", AWS_PERMANENT),
    ROW("PendingVerification", AWS_QUOTA),
    ROW("PermanentRedirect", AWS_PERMANENT),
    ROW("PolicyNotAttachable", AWS_PERMANENT),
    REMEDY("PriorRequestNotComplete", AWS_DEFINITE_NO, AWS_REMEDY_REPEAT),
    ROW("PrivateIpAddressLimitExceeded", AWS_QUOTA),
    ROW("ProvisionedThroughputExceededException", AWS_THROTTLE),
    ROW("QuotaExceededException", AWS_QUOTA),
    ROW("RegionDisabledException", AWS_AUTH),
    REMEDY("RequestExpired", AWS_AUTH, AWS_REMEDY_EITHER),
    REMEDY("RequestInTheFuture", AWS_AUTH, AWS_REMEDY_CLOCK),
    ROW("RequestLimitExceeded", AWS_THROTTLE),
    ROW("RequestResourceCountExceeded", AWS_PERMANENT),
    ROW("RequestThrottled", AWS_THROTTLE),
    ROW("RequestThrottledException", AWS_THROTTLE),
    REMEDY("RequestTimeTooSkewed", AWS_AUTH, AWS_REMEDY_CLOCK),
    ROW("RequestTimeout", AWS_AMBIGUOUS),
    ROW("RequestTimeoutException", AWS_AMBIGUOUS),
    ROW("ReservationCapacityExceeded", AWS_CAPACITY),
    ROW("ReservedInstancesLimitExceeded", AWS_QUOTA),
    ROW("ResourceAlreadyExists", AWS_PERMANENT),
    ROW("ResourceCountExceeded", AWS_QUOTA),
    ROW("ResourceCountLimitExceeded", AWS_QUOTA),
    ROW("ResourceLimitExceeded", AWS_QUOTA),
    ROW("ResourceNotFoundException", AWS_PERMANENT),
    ROW("RulesPerSecurityGroupLimitExceeded", AWS_QUOTA),
    ROW("SecurityGroupLimitExceeded", AWS_QUOTA),
    ROW("SecurityGroupsPerInstanceLimitExceeded", AWS_QUOTA),
    ROW("SecurityGroupsPerInterfaceLimitExceeded", AWS_QUOTA),
    ROW("SerializationException", AWS_PERMANENT),
    ROW("ServerInternal", AWS_AMBIGUOUS),
    ROW("ServiceException", AWS_AMBIGUOUS),
    ROW("ServiceFailure", AWS_AMBIGUOUS),
    ROW("ServiceUnavailable", AWS_AMBIGUOUS),
    ROW("ServiceUnavailableException", AWS_AMBIGUOUS),
    REMEDY("SignatureDoesNotMatch", AWS_AUTH, AWS_REMEDY_CLOCK),
    ROW("SlowDown", AWS_THROTTLE),
    ROW("SlowDownException", AWS_THROTTLE),
    ROW("SnapshotCreationPerVolumeRateExceeded", AWS_THROTTLE),
    ROW("SnapshotLimitExceeded", AWS_QUOTA),
    ROW("SpotMaxPriceTooLow", AWS_CAPACITY),
    ROW("TagLimitExceeded", AWS_QUOTA),
    ROW("Throttled", AWS_THROTTLE),
    ROW("ThrottledException", AWS_THROTTLE),
    ROW("Throttling", AWS_THROTTLE),
    ROW("ThrottlingException", AWS_THROTTLE),
    REMEDY("TokenRefreshRequired", AWS_AUTH, AWS_REMEDY_REFRESH),
    ROW("TooManyRequests", AWS_THROTTLE),
    ROW("TooManyRequestsException", AWS_THROTTLE),
    ROW("TransactionInProgressException", AWS_THROTTLE),
    ROW("UnauthorizedClientException", AWS_AUTH),
    ROW("UnauthorizedException", AWS_AUTH),
    ROW("UnauthorizedOperation", AWS_AUTH),
    ROW("Unavailable", AWS_AMBIGUOUS),
    ROW("UnfulfillableCapacity", AWS_CAPACITY),
    ROW("UnknownOperationException", AWS_PERMANENT),
    ROW("UnknownParameter", AWS_PERMANENT),
    ROW("UnmodifiableEntity", AWS_PERMANENT),
    REMEDY("UnrecognizedClientException", AWS_AUTH, AWS_REMEDY_REFRESH),
    /* "Your requested instance type is not supported in your requested Availability Zone". */
    ROW("Unsupported", AWS_CAPACITY),
    ROW("UnsupportedGrantTypeException", AWS_PERMANENT),
    ROW("UnsupportedHibernationConfiguration", AWS_PERMANENT),
    ROW("UnsupportedInstanceAttribute", AWS_PERMANENT),
    ROW("UnsupportedOperation", AWS_PERMANENT),
    ROW("UnsupportedProtocol", AWS_PERMANENT),
    ROW("UnsupportedTenancy", AWS_PERMANENT),
    ROW("VPCIdNotSpecified", AWS_PERMANENT),
    ROW("VPCResourceNotSpecified", AWS_PERMANENT),
    ROW("ValidationError", AWS_PERMANENT),
    ROW("ValidationException", AWS_PERMANENT),
    ROW("VcpuLimitExceeded", AWS_QUOTA),
    REMEDY("VolumeInUse", AWS_DEFINITE_NO, AWS_REMEDY_SETTLE),
    ROW("VolumeLimitExceeded", AWS_QUOTA),
    ROW("VolumeTypeNotAvailableInZone", AWS_CAPACITY),
};

static int compare_code(const void *key, const void *row)
{
    const struct str *code = key;
    return str_cmp(*code, str_from(((const struct aws_error_judgement *)row)->code));
}

/* Messages of EC2 about a profile, and of IAM about a role, created a moment ago and not visible
 * everywhere; the codes alone mean any invalid value. */
static const struct {
    const char *code, *words;
    struct aws_error_judgement judgement;
} by_words[] = {
    {"InvalidParameterValue",
     "Invalid IAM Instance Profile",
     {NULL, AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_INVALID}},
    {"MalformedPolicyDocument",
     "Invalid principal in policy",
     {NULL, AWS_DEFINITE_NO, AWS_REMEDY_SETTLE, OUTCOME_INVALID}},
};

static const struct aws_error_judgement *find_row(const struct aws_error *error)
{
    struct str code = error->code;
    /* Some EC2 calls prefix the code with the party at fault. */
    if (str_starts(code, "Client.") || str_starts(code, "Server.")) {
        code = str_sub(code, strlen("Client."), code.len);
    }
    for (size_t i = 0; i < ARRAY_LEN(by_words); i++) {
        if (str_is(code, by_words[i].code) &&
            str_find(error->message, by_words[i].words) != SIZE_MAX) {
            return &by_words[i].judgement;
        }
    }
    return bsearch(&code, judgements, ARRAY_LEN(judgements), sizeof(judgements[0]), compare_code);
}

static enum aws_error_class class_of_status(int status)
{
    if (status == 0 || status == 408 || status >= 500) {
        return AWS_AMBIGUOUS;
    }
    if (status == 401 || status == 403) {
        return AWS_AUTH;
    }
    return status == 429 ? AWS_THROTTLE : AWS_PERMANENT;
}

void aws_error_judge(struct aws_error *error)
{
    /* To the core, "no effect now" and "slow down" are the same: retry later. */
    static const enum outcome outcomes[AWS_ERROR_CLASS_COUNT] = {
        [AWS_DEFINITE_NO] = OUTCOME_THROTTLED, [AWS_AMBIGUOUS] = OUTCOME_UNKNOWN,
        [AWS_THROTTLE] = OUTCOME_THROTTLED,    [AWS_AUTH] = OUTCOME_DENIED,
        [AWS_QUOTA] = OUTCOME_QUOTA,           [AWS_CAPACITY] = OUTCOME_CAPACITY,
        [AWS_PERMANENT] = OUTCOME_INVALID,
    };
    const struct aws_error_judgement *row = find_row(error);
    error->class = row ? row->class : class_of_status(error->status);
    error->remedy = row ? row->remedy : AWS_REMEDY_NONE;
    error->outcome = row && row->outcome != OUTCOME_DONE ? row->outcome : outcomes[error->class];
}

const char *aws_error_class_name(enum aws_error_class class)
{
    static const char *const names[AWS_ERROR_CLASS_COUNT] = {
        [AWS_DEFINITE_NO] = "definite-no",
        [AWS_AMBIGUOUS] = "ambiguous",
        [AWS_THROTTLE] = "throttle",
        [AWS_AUTH] = "auth",
        [AWS_QUOTA] = "quota",
        [AWS_CAPACITY] = "capacity",
        [AWS_PERMANENT] = "permanent",
    };
    return names[class];
}

enum err_kind aws_error_kind(const struct aws_error *error)
{
    static const enum err_kind kinds[AWS_ERROR_CLASS_COUNT] = {
        [AWS_DEFINITE_NO] = ERR_UNAVAILABLE,
        [AWS_AMBIGUOUS] = ERR_UNAVAILABLE,
        [AWS_THROTTLE] = ERR_THROTTLED,
        [AWS_AUTH] = ERR_AUTH,
        [AWS_QUOTA] = ERR_QUOTA,
        [AWS_CAPACITY] = ERR_CAPACITY,
        [AWS_PERMANENT] = ERR_CONFIG,
    };
    if (error->status == 0) {
        return ERR_TIMEOUT;
    }
    if (error->class == AWS_PERMANENT || error->class == AWS_DEFINITE_NO) {
        if (str_find(error->code, "NotFound") != SIZE_MAX || str_starts(error->code, "NoSuch")) {
            return ERR_NOT_FOUND;
        }
        if (str_find(error->code, "AlreadyExists") != SIZE_MAX ||
            str_ends(error->code, ".Duplicate")) {
            return ERR_EXISTS;
        }
    }
    return error->outcome == OUTCOME_NOT_FOUND ? ERR_NOT_FOUND : kinds[error->class];
}

/* ---- bodies ---- */

/* AWS's messages are shown on terminals and in logs: escapes control characters. */
static struct str aws_error_visible(struct arena *arena, struct str text, size_t max)
{
    AUTO_BUF struct buf out;
    buf_init(&out, max * 4);
    utf8_add_visible(&out, str_sub(str_trim(text), 0, max), false);
    return arena_str(arena, buf_str(&out));
}

static void aws_error_take(struct aws_error *error, struct arena *arena, struct str code,
                           struct str message, struct str request_id)
{
    error->code = aws_error_visible(arena, code, CODE_BYTES_MAX);
    error->message = aws_error_visible(arena, message, MESSAGE_BYTES_MAX);
    error->request_id = aws_error_visible(arena, request_id, CODE_BYTES_MAX);
}

static void read_xml(struct aws_error *error, struct str body, struct arena *arena)
{
    const struct xml_element *root;
    struct err err;
    if (!xml_tree_parse(body, arena, &root, &err)) {
        return;
    }
    const struct xml_element *inner = xml_child(xml_child(root, "Errors"), "Error");
    inner = inner ? inner : xml_child(root, "Error");
    inner = inner ? inner : str_is(root->name, "Error") ? root : NULL;
    struct str id = xml_child_text(root, "RequestID");
    id = id.len > 0 ? id : xml_child_text(root, "RequestId");
    aws_error_take(error, arena, xml_child_text(inner, "Code"), xml_child_text(inner, "Message"),
                   id);
}

static struct str member(const json_t *json, const char *name)
{
    const json_t *value = json_object_get(json, name);
    return json_is_string(value) ? (struct str){json_string_value(value), json_string_length(value)}
                                 : STR("");
}

/* "namespace#Code:http://..." gives "Code". */
static struct str bare_code(struct str code)
{
    struct str head = str_cut(&code, ':');
    size_t at = str_find_char(head, '#');
    return at == SIZE_MAX ? head : str_sub(head, at + 1, head.len);
}

static void read_json(struct aws_error *error, struct str body, struct arena *arena)
{
    json_t *json = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES, NULL);
    struct str code = member(json, "__type");
    struct str message = member(json, "message");
    code = code.len > 0 ? code : member(json, "code");
    aws_error_take(error, arena, bare_code(code),
                   message.len > 0 ? message : member(json, "Message"), STR(""));
    json_decref(json);
}

struct aws_error aws_error_read(int status, struct str type_header, struct str body,
                                struct arena *arena)
{
    struct aws_error error = {.status = status};
    struct str start = str_trim(str_sub(body, 0, BODY_BYTES_MAX));
    if (body.len <= BODY_BYTES_MAX && str_starts(start, "<")) {
        read_xml(&error, start, arena);
    } else if (body.len <= BODY_BYTES_MAX && str_starts(start, "{")) {
        read_json(&error, start, arena);
    }
    if (type_header.len > 0) {
        error.code = aws_error_visible(arena, bare_code(type_header), CODE_BYTES_MAX);
    }
    aws_error_judge(&error);
    return error;
}
