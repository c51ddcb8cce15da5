/* aws_lease_check.c: decides which calls need the lease, and checks it. */
#include "provider/aws/client/aws_lease_check.h"

#include "provider/aws/client/aws_client_internal.h"

bool aws_lease_covers(enum aws_service service, const char *action, struct str body)
{
    static const char *const verbs[] = {"Run", "Start",     "Create", "Import",   "Put",
                                        "Add", "Authorize", "Attach", "Allocate", "Request"};
    static const char *const others[] = {"CreateLaunchTemplate", "CreateLaunchTemplateVersion",
                                         "CreateTags"};
    if (service != AWS_EC2 && service != AWS_IAM) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (strcmp(action, others[i]) == 0) {
            return false;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (str_starts(str_from(action), verbs[i])) {
            return str_find(body, "&DryRun=true") == SIZE_MAX;
        }
    }
    return false;
}

void aws_client_set_lease(struct aws_client *client, const struct aws_lease *lease)
{
    client->lease = lease ? *lease : (struct aws_lease){0};
}

bool aws_client_has_lease(const struct aws_client *client)
{
    const struct aws_lease *lease = &client->lease;
    return loop_now_ms(client->setup.loop) + AWS_LEASE_MARGIN_MS < lease->ends_ms &&
           aws_client_now_ms(client) + AWS_LEASE_MARGIN_MS < lease->until_ms;
}
