/*
 * query.h: form bodies of AWS's Query API.
 *
 * Takes parameters with boto3's names and writes them with wire names, like botocore but without
 * its model: an EC2 list is named by the singular of its name, and the few exceptions are in a
 * table (query.c). Parameters that are base64 on the wire (UserData of RunInstances,
 * PublicKeyMaterial of ImportKeyPair) are passed as plain text and encoded here.
 */
#pragma once

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/param.h"

enum query_service { QUERY_EC2, QUERY_IAM, QUERY_STS };

enum { QUERY_DEPTH_MAX = 32 };

/*
 * Appends "Action=...&Version=...&..." to `out`. Fails if the tree is deeper than QUERY_DEPTH_MAX
 * or the body does not fit. `input` may be NULL: no parameters.
 */
bool query_write(enum query_service service, const char *action, const struct param *input,
                 struct buf *out, struct err *err) MUST_USE;
