/* aws_lease_check.c: decides which calls need the lease. */
#include "provider/aws/client/aws_lease_check.h"

#include "base/attr.h"

#include <string.h>

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
