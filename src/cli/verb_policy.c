/* verb_policy.c: prints the permissions needed to launch a cluster file. */
#include "app/cloud_provider.h"
#include "cli/cluster_choice.h"
#include "cli/input.h"
#include "cli/output.h"

struct policy_fields {
    const char *file;
    const char *name;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct policy_fields, file), false, COMPLETE_FILE, NULL,
     "The cluster file; - reads standard input.", false, cluster_choice},
};

static const struct option options[] = {
    {"cluster-name", 'n', OPTION_TEXT, offsetof(struct policy_fields, name), "NAME", NULL,
     "Use this name instead of the file's."},
};

static const struct example examples[] = {
    {"shoal policy cluster.yaml > policy.json",
     "For the administrator, who grants it with aws iam put-user-policy."},
};

static int verb_policy_run(const struct cli *cli, const void *fields)
{
    const struct policy_fields *given = fields;
    const struct input_overrides overrides = {.cluster_name = str_from(given->name)};
    AUTO_BUF struct buf out;
    struct input input;
    struct str policy;
    struct err err;
    buf_init(&out, OUTPUT_BYTES_MAX);
    if (!input_read_as(cli, given->file, INPUT_AS_RAY, &overrides, &input, &err)) {
        return output_error(cli, &err);
    }
    if (!input.config) {
        input_print_findings(cli, &input.diags);
        err_set(&err, ERR_CONFIG, "%s has errors; shoal validate shows all of them", given->file);
        return output_error(cli, &err);
    }
    if (!cloud_provider_policy(input.config, cli->arena, &policy, &err)) {
        return output_error(cli, &err);
    }
    buf_addf(&out, "%.*s\n", STR_ARG(policy));
    return output_write(cli, cli->out, &out);
}

const struct verb verb_policy = {
    .name = "policy",
    .summary = "print the permissions that launching a file needs",
    .description =
        "Prints the IAM policy that an administrator must grant to a user who runs shoal check, "
        "up, down and ls for this file: as little as possible, limited to the region of the file "
        "and, where AWS allows it, to resources that carry the cluster's name as a tag. The head "
        "gets a role of its own, which shoal up creates with fewer rights than these.\n\nNothing "
        "is contacted and nothing is created. A launch template or an instance profile that the "
        "file names may need more: its contents are not checked.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 if the policy was printed, 1 if the file is invalid, 2 for a usage error.",
    .fields_size = sizeof(struct policy_fields),
    .run = verb_policy_run,
};
