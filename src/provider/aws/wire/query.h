/*
 * query.h: calls of AWS's Query API as form bodies.
 *
 * Takes parameters with boto3's names and writes them with the names of the wire, as botocore does,
 * but without its model: EC2 calls a list by the singular of its name, and the few names that
 * follow no rule stand in a table (query.c). What must be base64 on the wire (UserData of
 * RunInstances, PublicKeyMaterial of ImportKeyPair) is given as it is and encoded here.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/param.h"

enum query_service { QUERY_EC2, QUERY_IAM, QUERY_STS };

enum { QUERY_DEPTH_MAX = 32 };

/*
 * Appends "Action=...&Version=...&..." to `out`. Fails when the tree is deeper than
 * QUERY_DEPTH_MAX or the body does not fit. `input` may be NULL: no parameters.
 */
bool query_write(enum query_service service, const char *action, const struct param *input,
                 struct buf *out, struct err *err) MUST_USE;

/* The name of a list's items on EC2's wire: "SecurityGroupIds" in `parent` is "SecurityGroupId".
 * `parent` is the name that holds it, empty at the top. */
struct str query_ec2_list_name(struct str parent, struct str name, struct arena *arena);
