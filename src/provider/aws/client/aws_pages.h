/*
 * aws_pages.h: paged listings as XML trees, all pages or an error.
 *
 * Follows EC2's NextToken and IAM's Marker; not for JSON services. Fails on a repeated token, more
 * than AWS_PAGES_MAX pages, or a page that does not parse. Listings of instances have their own
 * reader (instance_reply.h).
 */
#pragma once

#include "provider/aws/client/aws_client.h"
#include "provider/aws/wire/xml_tree.h"

enum { AWS_PAGES_MAX = 1000 };

/*
 * The root of every page, in order, in one arena; valid during the call. `count` is 0 unless the
 * reply is ok.
 */
typedef void aws_pages_fn(void *context, const struct aws_reply *reply,
                          const struct xml_element *const *roots, size_t count);

struct aws_pages;

/* `request` as for aws_call_start(), with `action` and `input`, without callbacks; its care is
 * AWS_READ, and the deadline applies to each page. */
struct aws_pages *aws_pages_start(struct aws_client *client, const struct aws_request *request,
                                  aws_pages_fn *done, void *context);
void aws_pages_cancel(struct aws_pages *pages);
