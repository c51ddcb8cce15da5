/* resume_rule.c: decides whether to start Ray after a reboot. */
#include "app/head/supervisor/resume_rule.h"

bool resume_is_due(const struct resume_view *view)
{
    return !view->is_alive && view->boot.len > 0 && view->seen.len > 0 &&
           !str_eq(view->seen, view->boot) && !str_eq(view->tried, view->boot);
}
