/*
 * tell.h: tells Ray that this node will go: finds the node by its machine's id, has it drained.
 *
 * Tried again until it is accepted: the GCS may be away for a moment, or Ray here not have joined.
 */
#pragma once

#include "app/node/notice.h"
#include "io/http.h"
#include "io/log.h"
#include "io/loop.h"

struct teller;

struct teller_setup {
    struct loop *loop;
    struct http *http;
    const struct log *log;
    const char *gcs;         /* "10.0.0.4:6379" */
    const char *token_file;  /* by path; NULL: none */
    const char *instance_id; /* the texts must outlive it */
};

struct teller *teller_open(const struct teller_setup *setup);
void teller_close(struct teller *teller); /* NULL is fine */

/* Instead of what is being told, if anything is. */
void teller_tell(struct teller *teller, const struct notice *notice);
/* It is not true any more. */
void teller_stop(struct teller *teller);
