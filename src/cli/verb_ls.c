/* verb_ls.c: lists every cluster of an account in every region, with its cost. */
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/ls/gather.h"
#include "cli/ls/print.h"
#include "cli/output.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WARNINGS_BYTES_MAX = 64 * 1024 };

struct ls_fields {
    struct gathering_fields gather;
};

static const struct option options[] = {
    GATHERING_OPTIONS(struct ls_fields),
};

static const struct example examples[] = {
    {"shoal ls", "List all running, stopped and leftover clusters in every region."},
    {"shoal ls --region us-west-2,eu-west-1", "List two regions only, which is faster."},
    {"shoal ls --project my-project", "List a project of Google Cloud, and not AWS."},
    {"shoal ls -o json | jq .dollars_per_hour", "Print the total price per hour."},
};

/* ---- printing ---- */

static size_t columns_of(FILE *stream)
{
    struct winsize size;
    bool is_known = isatty(fileno(stream)) == 1 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0;
    return is_known ? size.ws_col : 0;
}

static void verb_ls_warn(const struct cli *cli, const struct gathering *gathering)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf skipped;
    buf_init(&out, WARNINGS_BYTES_MAX);
    buf_init(&skipped, WARNINGS_BYTES_MAX);
    ls_print_skipped(&skipped, gathering->account);
    cloud_print_lines(cli, "note", buf_str(&skipped));
    ls_print_gaps(&out, cli->arena, gathering->account);
    if (gathering->trouble.kind != ERR_NONE) {
        buf_add_c(&out, "cannot read some prices (");
        utf8_add_visible(&out, str_from(gathering->trouble.text), false);
        buf_add_c(&out, ")\n");
    }
    if (gathering->unkept.kind != ERR_NONE) {
        buf_add_c(&out, "cannot store prices for the next run (");
        utf8_add_visible(&out, str_from(gathering->unkept.text), false);
        buf_add_c(&out, ")\n");
    }
    cloud_print_lines(cli, "warning", buf_str(&out));
}

static int verb_ls_report(const struct cli *cli, const struct gathering *gathering, bool as_json)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf summary;
    struct err err;
    struct ls_view view = {
        .account = gathering->account,
        .prices = {gathering->queries, gathering->prices, gathering->query_count},
        .now = gathering->account->now,
    };
    buf_init(&out, OUTPUT_BYTES_MAX);
    buf_init(&summary, WARNINGS_BYTES_MAX);
    if (as_json && !ls_print_json(&out, cli->arena, &view, &err)) {
        return output_error(cli, &err);
    }
    if (!as_json && view.account->cluster_count > 0) {
        ls_print_table(&out, cli->arena, &view, columns_of(cli->out), cli->colour_out);
    }
    int status = output_write(cli, cli->out, &out);
    if (!as_json) {
        ls_print_summary(&summary, cli->arena, &view);
        output_print(cli->err, buf_str(&summary));
    }
    verb_ls_warn(cli, gathering);
    return status ? status : gathering->account->gap_count > 0;
}

static int verb_ls_run(const struct cli *cli, const void *fields)
{
    const struct ls_fields *given = fields;
    struct gathering gathering = {.cli = cli, .arena = cli->arena, .wants_prices = true};
    const char *output = given->gather.output;
    int status = gathering_run(&gathering, &given->gather);
    if (status == 0) {
        status = verb_ls_report(cli, &gathering, output && strcmp(output, "json") == 0);
    }
    gathering_close(&gathering);
    return status;
}

const struct verb verb_ls = {
    .name = "ls",
    .summary = "list every cluster of an account, with its cost",
    .description =
        "Lists every cluster in all regions of an AWS account and in projects of Google Cloud, "
        "whether Shoal or Ray's own launcher created it. Nothing is changed. Without --profile, "
        "--project and --region, both clouds are listed. A cloud without credentials is skipped; "
        "that is not an error.\n\n"
        "The state is up (the head is running), failed (it is, but its setup failed), starting, "
        "partly (instances are running, but the "
        "head is not, or others are stopped), stopped (you still pay for the volumes), ending, "
        "or leftover (no instances, but a security group, key pair, launch template, IAM role, "
        "instance profile, firewall rule, instance template or volume that was created for a "
        "cluster). The age is that of the "
        "oldest instance since its last start.\n\n"
        "$/H is the hourly price of all running instances and all volumes: on-demand prices from "
        "the AWS price list, and current spot prices. A trailing + means that some prices are "
        "unknown and not included; ? means that no price is known, as for all of Google's. Prices "
        "are cached in ~/.cache/shoal: list prices for a week, spot prices for an hour. What was "
        "spent so far is not shown, because terminated instances are no longer listed.\n\n"
        "If a region, zone or project cannot be listed, it is named on standard error, and the "
        "others are shown.",
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if everything could be listed, 1 if not, 2 for a usage error, 130 after "
                   "Ctrl-C.",
    .fields_size = sizeof(struct ls_fields),
    .run = verb_ls_run,
};
