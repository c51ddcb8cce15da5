/* setup_contact.c: how long to wait for a machine to answer ssh. */
#include "app/setup/setup_plan.h"

#include <stdlib.h>

enum { USUAL_S = 900, LONGEST_S = 24 * 3600 };

int64_t setup_contact_ms(void)
{
    int64_t seconds;
    bool is_said = str_to_i64(str_from(getenv("AUTOSCALER_NODE_START_WAIT_S")), &seconds) &&
                   seconds > 0 && seconds <= LONGEST_S;
    return (is_said ? seconds : USUAL_S) * 1000;
}
