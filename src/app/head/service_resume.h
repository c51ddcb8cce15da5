/* service_resume.h: starts Ray on the head after a reboot. */
#pragma once

#include "app/head/head_context.h"

struct resume;

struct resume *resume_open(struct head_context *head);
void resume_close(struct resume *resume); /* NULL is fine */

/* The lease was acquired: schedules the check whether Ray on the head must be started. */
void resume_look(struct resume *resume);
/* Ray on the head answers. */
void resume_seen(struct resume *resume);
/* What the head needs now or after a reboot, as text; may be empty. */
struct str resume_note(const struct resume *resume, struct arena *arena);

/* The rule: must Ray on the head be started? Pure. The service records in which boot it last saw
 * Ray on the head. A Ray that was stopped by hand in this boot is left alone. A Ray that never ran
 * is started by `up`. */
struct resume_view {
    struct str boot;  /* current boot; empty if unknown */
    struct str seen;  /* boot in which Ray last answered; empty if never */
    struct str tried; /* boot in which this rule last started Ray; empty if never */
    bool is_alive;    /* Ray on the head answers */
};

bool resume_is_due(const struct resume_view *view);
