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
