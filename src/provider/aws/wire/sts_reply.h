/* sts_reply.h: reads STS replies: the caller's identity, and keys for a role. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "provider/aws/wire/credential_json.h"

struct sts_identity {
    struct str account;
    struct str arn;
    struct str user_id;
};

bool sts_identity_read(struct str xml, struct arena *arena, struct sts_identity *ret_identity,
                       struct err *err) MUST_USE;

/* The reply to AssumeRole, AssumeRoleWithWebIdentity or GetSessionToken. */
bool sts_credentials_read(struct str xml, struct arena *arena,
                          struct aws_credentials *ret_credentials, struct err *err) MUST_USE;
