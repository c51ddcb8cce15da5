/* service_supervisor.h: keeps the head and the workers alive: starts Ray on the head after a
 * reboot, and sends messages to workers that are not in Ray. */
#pragma once

#include "app/head/service_internal.h"

/* ---- service_resume.c ---- */

void service_open_resume(struct service *service);
void service_close_resume(struct service *service);
/* The lease was acquired: schedules the check whether Ray on the head must be started. */
void service_resume_look(struct service *service);
/* Ray on the head answers. */
void service_resume_seen(struct service *service);
/* What the head needs now or after a reboot, as text; may be empty. */
struct str service_resume_note(const struct service *service, struct arena *arena);

/* ---- service_contact.c ---- */

void service_open_contacts(struct service *service);
void service_close_contacts(struct service *service);
