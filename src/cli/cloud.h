/* cloud.h: messages shared by the verbs that use a cloud. */
#pragma once

#include "app/cloud_session.h"
#include "base/str.h"
#include "cli/verb.h"

/* Prints each line of the text as "shoal: note: ..." or "shoal: warning: ..." to standard error. */
void cloud_print_lines(const struct cli *cli, const char *level, struct str text);

/* Prints a note if the session uses a substitute for AWS. */
void cloud_announce(const struct cli *cli, const struct cloud_session *session);

/* Prints where credentials were looked for, with the result of each (aws_client_sources_report()),
 * and what to do. */
void cloud_print_sources(const struct cli *cli, struct str report);
