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
     "Override cluster_name in the file."},
};

static const struct example examples[] = {
    {"shoal policy cluster.yaml > policy.json",
     "Save the policy; an administrator can attach it with aws iam put-user-policy."},
    {"shoal policy gcp.yaml > role.yaml",
     "Save the role; an administrator can create it with gcloud iam roles create rayClusters "
     "--project PROJECT --file role.yaml."},
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
    .summary = "print the IAM policy that is needed to launch a file",
    .description =
        "Prints the IAM policy that a user needs to run shoal check, up, down and ls with this "
        "file. It grants the minimum permissions, limited to the region in the file and, where "
        "AWS allows it, to resources that are tagged with the cluster's name. shoal up creates a "
        "separate IAM role for the head, with fewer permissions.\n\n"
        "For a file of type gcp, it prints a custom role. Grant it to the user and to the service "
        "account of the head.\n\n"
        "This command makes no network calls and creates nothing. If the file names a launch "
        "template or an instance profile, more permissions may be needed, because their contents "
        "are not checked.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the policy was printed, 1 if the file is invalid, 2 for a usage error.",
    .fields_size = sizeof(struct policy_fields),
    .run = verb_policy_run,
};
