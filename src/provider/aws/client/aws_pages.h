/*
 * aws_pages.h: listings that come in pages, as trees, complete or not at all.
 *
 * Follows NextToken of EC2 and Marker of IAM; the services that speak JSON are not for this. A
 * token that was there before, more than AWS_PAGES_MAX pages, a page that does not parse: the
 * listing failed. Listings of machines have their own reader (instance_reply.h).
 */
#pragma once

#include "provider/aws/client/aws_client.h"
#include "provider/aws/wire/xml_tree.h"

enum { AWS_PAGES_MAX = 1000 };

/*
 * Every page's root, in order, all in one arena; valid during the call. `count` is 0 unless the
 * reply is ok.
 */
typedef void aws_pages_fn(void *context, const struct aws_reply *reply,
                          const struct xml_element *const *roots, size_t count);

struct aws_pages;

/* `request` as for aws_call_start(), with `action` and `input`, without its callbacks; its care is
 * AWS_READ, and the deadline is for each page. */
struct aws_pages *aws_pages_start(struct aws_client *client, const struct aws_request *request,
                                  aws_pages_fn *done, void *context);
void aws_pages_cancel(struct aws_pages *pages);
