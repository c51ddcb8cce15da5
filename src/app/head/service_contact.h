/* service_contact.h: keeps workers running that are not in Ray. */
#pragma once

#include "app/head/head_context.h"

struct contacts;

struct contacts *contacts_open(struct head_context *head);
void contacts_close(struct contacts *contacts); /* NULL is fine */
