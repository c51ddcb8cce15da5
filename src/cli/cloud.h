/* cloud.h: what verbs that talk to a cloud say alike. */
#pragma once

#include "app/cloud_session.h"
#include "base/str.h"
#include "cli/verb.h"

/* "shoal: note: ..." or "shoal: warning: ..." on standard error, for each line of the text. */
void cloud_print_lines(const struct cli *cli, const char *level, struct str text);

/* Who talks to a stand-in for AWS should know it. */
void cloud_announce(const struct cli *cli, const struct cloud_session *session);

/* Where credentials were looked for and what each place said (aws_client_sources_report()), and
 * what to do about it. */
void cloud_print_sources(const struct cli *cli, struct str report);
