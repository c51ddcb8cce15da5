/* verb_init.c: writes a first cluster file, after three questions at most. */
#include "base/buf.h"
#include "cli/input.h"
#include "cli/output.h"
#include "config/catalog/catalog.h"
#include "config/catalog/gce_machine.h"
#include "config/check/check.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INIT_FILE_BYTES = 16 * 1024, INIT_ANSWER_BYTES = 128, INIT_PATH_BYTES = 4096 };
enum { INIT_NAME_BYTES = 63, INIT_GCP_NAME_BYTES = 36, INIT_WORKERS_MAX = 10000 };

struct init_fields {
    const char *file;
    const char *provider, *project;
    const char *name, *region, *type;
    const char *max_workers; /* text, as in an answer */
    bool is_on_demand, is_yes;
};

static const struct operand operands[] = {
    {"FILE", offsetof(struct init_fields, file), true, COMPLETE_FILE, NULL,
     "The file to write. The default is cluster.yaml. An existing file is never changed."},
};

static const char *const init_providers[] = {"aws", "gcp", NULL};

static const struct option options[] = {
    {"provider", 0, OPTION_CHOICE, offsetof(struct init_fields, provider), "TYPE", init_providers,
     "The cloud: aws (the default) or gcp."},
    {"project", 0, OPTION_TEXT, offsetof(struct init_fields, project), "ID", NULL,
     "For gcp: the ID of the project. The default is GOOGLE_CLOUD_PROJECT."},
    {"name", 'n', OPTION_TEXT, offsetof(struct init_fields, name), "NAME", NULL,
     "The name of the cluster. The default is the name of this directory."},
    {"region", 0, OPTION_TEXT, offsetof(struct init_fields, region), "REGION", NULL,
     "The region, such as us-west-2, or us-central1 on gcp."},
    {"instance-type", 't', OPTION_TEXT, offsetof(struct init_fields, type), "TYPE", NULL,
     "The instance type of the workers, such as m5.large, or n2-standard-8 on gcp."},
    {"max-workers", 0, OPTION_TEXT, offsetof(struct init_fields, max_workers), "N", NULL,
     "The largest number of workers."},
    {"on-demand", 0, OPTION_FLAG, offsetof(struct init_fields, is_on_demand), NULL, NULL,
     "Use on-demand instances as workers. The default is spot instances."},
    {"yes", 'y', OPTION_FLAG, offsetof(struct init_fields, is_yes), NULL, NULL,
     "Do not ask: use defaults for the options that are not given."},
};

static const struct example examples[] = {
    {"shoal init", "Answer three questions, and write cluster.yaml."},
    {"shoal init -y --region us-east-1 -t g5.xlarge gpu.yaml", "Write gpu.yaml without questions."},
    {"shoal init --provider gcp --project my-project-id", "Write a file for Google Cloud."},
};

/* ---- the answers ---- */

struct init_plan {
    const struct cli *cli;
    const char *project, *name, *region, *type;
    int64_t max_workers;
    struct machine_type machine; /* of the workers */
    bool asks, is_gcp;
};

/* A check returns NULL, or what is wrong with the answer. */
typedef const char *init_check_fn(struct init_plan *plan, const char *answer);

/* "us-central1", "northamerica-northeast2" */
static bool init_is_gcp_region(const char *answer)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t area = strspn(answer, letters);
    const char *part = answer + area + (answer[area] == '-');
    size_t side = strspn(part, letters);
    size_t number = strspn(part + side, "0123456789");
    return area > 0 && part > answer + area && side > 0 && number > 0 && !part[side + number];
}

static const char *init_check_region(struct init_plan *plan, const char *answer)
{
    struct str region = str_from(answer);
    plan->region = answer;
    if (plan->is_gcp) {
        return init_is_gcp_region(answer)
                   ? NULL
                   : "this is not the name of a region; an example is us-central1";
    }
    if (check_region_is_known(region)) {
        return NULL;
    }
    struct str near = check_region_nearest(region);
    return near.len > 0 ? arena_printf(plan->cli->arena,
                                       "AWS has no such region; did you mean %.*s?", STR_ARG(near))
                              .ptr
                        : "AWS has no such region; an example is us-west-2";
}

static const char *init_check_type(struct init_plan *plan, const char *answer)
{
    struct str type = str_from(answer);
    plan->type = answer;
    if (plan->is_gcp) {
        return gce_machine_type(type, &plan->machine) && str_find_char(type, '/') == SIZE_MAX
                   ? NULL
                   : "this is not the name of a machine type; an example is n2-standard-8";
    }
    if (catalog_ec2_has(type)) {
        (void)!catalog_ec2_type(type, &plan->machine);
        return NULL;
    }
    struct str near = catalog_ec2_nearest(type);
    return near.len > 0
               ? arena_printf(plan->cli->arena, "EC2 has no such instance type; did you mean %.*s?",
                              STR_ARG(near))
                     .ptr
               : "EC2 has no such instance type; an example is m5.large";
}

static const char *init_check_project(struct init_plan *plan, const char *answer)
{
    size_t plain = strspn(answer, "abcdefghijklmnopqrstuvwxyz0123456789-.:");
    plan->project = answer;
    return plain >= 6 && plain <= INIT_NAME_BYTES && answer[plain] == '\0'
               ? NULL
               : "give the ID of the project, which `gcloud projects list` prints";
}

static const char *init_check_workers(struct init_plan *plan, const char *answer)
{
    bool is_number = str_to_i64(str_from(answer), &plan->max_workers) && plan->max_workers >= 1 &&
                     plan->max_workers <= INIT_WORKERS_MAX;
    return is_number ? NULL : "the number of workers must be from 1 to 10000";
}

/* Asks until the answer is valid. An empty answer is the default. */
static bool init_ask(struct init_plan *plan, const char *question, const char *fallback,
                     init_check_fn *check, struct err *err)
{
    char line[INIT_ANSWER_BYTES];
    for (;;) {
        fprintf(plan->cli->err, "%s [%s]: ", question, fallback);
        fflush(plan->cli->err);
        if (!fgets(line, sizeof(line), stdin)) {
            fputc('\n', plan->cli->err);
            return err_set(err, ERR_CANCELLED, "no answer; no file was written");
        }
        struct str answer = str_trim(str_from(line));
        const char *text = answer.len > 0 ? arena_str(plan->cli->arena, answer).ptr : fallback;
        const char *wrong = check(plan, text);
        if (!wrong) {
            return true;
        }
        fprintf(plan->cli->err, "%s\n", wrong);
    }
}

/* An option that was given, the answer to a question, or the default. */
static bool init_settle(struct init_plan *plan, const char *given, const char *option,
                        const char *question, const char *fallback, init_check_fn *check,
                        struct err *err)
{
    if (!given && plan->asks) {
        return init_ask(plan, question, fallback, check, err);
    }
    const char *wrong = check(plan, given ? given : fallback);
    return !wrong ||
           err_set(err, ERR_USAGE, "%s %.100s: %s", option, given ? given : fallback, wrong);
}

/* The name of this directory, with dashes for what a name cannot contain. */
static const char *init_name_of_folder(struct arena *arena, bool is_gcp)
{
    char path[INIT_PATH_BYTES];
    AUTO_BUF struct buf name;
    size_t most = is_gcp ? INIT_GCP_NAME_BYTES : INIT_NAME_BYTES;
    buf_init(&name, INIT_NAME_BYTES);
    const char *slash = getcwd(path, sizeof(path)) ? strrchr(path, '/') : NULL;
    for (const char *c = slash ? slash + 1 : ""; *c && name.len < most - 1; c++) {
        bool is_capital = *c >= 'A' && *c <= 'Z';
        bool is_plain = (*c >= 'a' && *c <= 'z') || is_capital || (*c >= '0' && *c <= '9');
        buf_add_char(&name, !is_plain ? '-' : is_capital && is_gcp ? (char)(*c - 'A' + 'a') : *c);
    }
    struct str text = buf_str(&name);
    while (text.len > 0 && text.ptr[text.len - 1] == '-') {
        text.len--;
    }
    while (text.len > 0 && text.ptr[0] == '-') {
        text = str_sub(text, 1, text.len);
    }
    return text.len > 0 ? arena_str(arena, text).ptr : "demo";
}

static bool init_check_name(const char *name, bool is_gcp, struct err *err)
{
    size_t small = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (is_gcp && (name[0] == '\0' || name[small] != '\0' || small >= INIT_GCP_NAME_BYTES)) {
        return err_set(err, ERR_USAGE,
                       "on gcp, --name can contain only small letters, digits and dashes, at most "
                       "%d of them",
                       INIT_GCP_NAME_BYTES - 1);
    }
    size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    bool is_fine = name[0] != '\0' && name[plain] == '\0' && plain < INIT_NAME_BYTES;
    return is_fine || err_set(err, ERR_USAGE,
                              "--name can contain only letters, digits, dashes and underscores, at "
                              "most %d of them",
                              INIT_NAME_BYTES - 1);
}

static const char *init_default_region(bool is_gcp)
{
    if (is_gcp) {
        return "us-central1";
    }
    const char *region = getenv("AWS_REGION");
    region = region && region[0] ? region : getenv("AWS_DEFAULT_REGION");
    return region && region[0] ? region : "us-west-2";
}

static bool init_plan_read(struct init_plan *plan, const struct init_fields *given, struct err *err)
{
    const char *project = getenv("GOOGLE_CLOUD_PROJECT");
    plan->is_gcp = given->provider && strcmp(given->provider, "gcp") == 0;
    plan->name = given->name ? given->name : init_name_of_folder(plan->cli->arena, plan->is_gcp);
    if (given->project && !plan->is_gcp) {
        return err_set(err, ERR_USAGE, "--project needs --provider gcp");
    }
    return init_check_name(plan->name, plan->is_gcp, err) &&
           (!plan->is_gcp || init_settle(plan, given->project, "--project", "Project ID",
                                         project ? project : "", init_check_project, err)) &&
           init_settle(plan, given->region, "--region",
                       plan->is_gcp ? "Google Cloud region" : "AWS region",
                       init_default_region(plan->is_gcp), init_check_region, err) &&
           init_settle(plan, given->type, "--instance-type", "Instance type of the workers",
                       plan->is_gcp ? "n2-standard-4" : "m5.large", init_check_type, err) &&
           init_settle(plan, given->max_workers, "--max-workers", "Largest number of workers", "4",
                       init_check_workers, err);
}

/* ---- the file ---- */

static const char init_spot[] =
    "      # Spot instances cost less, and EC2 can interrupt them. To use on-demand instances,\n"
    "      # remove these lines.\n"
    "      InstanceMarketOptions:\n"
    "        MarketType: spot\n";

/* The keys of the cloud. */
static void init_add_cloud(struct buf *out, const struct init_plan *plan)
{
    buf_addf(out,
             "# A Ray cluster on %s. All keys are optional except cluster_name and provider.\n"
             "\n"
             "cluster_name: %s\n"
             "\n"
             "provider:\n"
             "  type: %s\n"
             "  region: %s\n",
             plan->is_gcp ? "Google Cloud" : "AWS", plan->name, plan->is_gcp ? "gcp" : "aws",
             plan->region);
    if (plan->is_gcp) {
        buf_addf(out,
                 "  # Shoal also takes several zones, with commas; ray up takes one.\n"
                 "  availability_zone: %s-b\n"
                 "  project_id: %s\n",
                 plan->region, plan->project);
    }
    buf_addf(out,
             "  # Terminate idle instances. Ray's default stops them instead, and stopped disks\n"
             "  # cost money.\n"
             "  cache_stopped_nodes: false\n"
             "\n"
             "# The largest number of workers of all types together, without the head.\n"
             "max_workers: %" PRId64 "\n"
             "\n"
             "# A worker that has been idle for this long is terminated.\n"
             "idle_timeout_minutes: 5\n"
             "\n"
             "head_node_type: head\n"
             "\n",
             plan->max_workers);
}

static const char *init_gcp_image(struct str arch, bool has_gpus)
{
    if (has_gpus) {
        return "ubuntu-os-accelerator-images/global/images/family/"
               "ubuntu-accelerator-2204-amd64-with-nvidia-580 # with NVIDIA's driver";
    }
    return str_is(arch, "arm64") ? "ubuntu-os-cloud/global/images/family/ubuntu-2204-lts-arm64"
                                 : "ubuntu-os-cloud/global/images/family/ubuntu-2204-lts";
}

/* On gcp, Ray requires `resources`, and Shoal has no image of its own. */
static void init_add_gcp_node(struct buf *out, const char *type, struct str arch, bool has_gpus)
{
    buf_addf(out,
             "    node_config:\n"
             "      machineType: %s\n"
             "      disks:\n"
             "        - boot: true\n"
             "          autoDelete: true\n"
             "          initializeParams:\n"
             "            diskSizeGb: 50\n"
             "            sourceImage: projects/%s\n",
             type, init_gcp_image(arch, has_gpus));
}

/* All nodes have one architecture. */
static const char *init_head_type(const struct init_plan *plan)
{
    bool is_arm = str_is(plan->machine.architectures, "arm64");
    if (plan->is_gcp) {
        return is_arm ? plan->type : "n2-standard-4";
    }
    return is_arm ? "m6g.large" : "m5.large";
}

static void init_add_gcp_types(struct buf *out, const struct init_plan *plan, bool is_on_demand)
{
    buf_add_c(out, "available_node_types:\n"
                   "  head:\n"
                   "    # Offer no CPUs, so that tasks run on workers and the head stays "
                   "responsive.\n"
                   "    resources: {CPU: 0}\n"
                   "    # Passed to Compute Engine unchanged.\n");
    init_add_gcp_node(out, init_head_type(plan), plan->machine.architectures, false);
    buf_addf(out,
             "\n"
             "  worker:\n"
             "    min_workers: 0\n"
             "    max_workers: %" PRId64 "\n"
             "    resources: {CPU: %" PRIu32,
             plan->max_workers, plan->machine.vcpus);
    if (plan->machine.gpus > 0) {
        buf_addf(out, ", GPU: %" PRIu32, plan->machine.gpus);
    }
    buf_add_c(out, "}\n");
    init_add_gcp_node(out, plan->type, plan->machine.architectures, plan->machine.gpus > 0);
    if (!is_on_demand || plan->machine.gpus > 0) {
        buf_add_c(out, "      scheduling:\n");
    }
    if (!is_on_demand) {
        buf_add_c(out, "        # Spot instances cost less, and Google can preempt them. To use "
                       "on-demand\n"
                       "        # instances, remove this line.\n"
                       "        - preemptible: true\n");
    }
    if (plan->machine.gpus > 0) {
        buf_add_c(out, "        - onHostMaintenance: TERMINATE\n");
    }
}

static void init_add_aws_types(struct buf *out, const struct init_plan *plan, bool is_on_demand)
{
    buf_addf(out,
             "# CPUs, GPUs and memory of each type follow from its InstanceType. Without ImageId,\n"
             "# machines run the newest Ubuntu 22.04, on GPU instances with NVIDIA's driver.\n"
             "available_node_types:\n"
             "  head:\n"
             "    node_config:\n"
             "      InstanceType: %s\n"
             "    # Offer no CPUs, so that tasks run on workers and the head stays responsive.\n"
             "    resources: {CPU: 0}\n"
             "\n"
             "  worker:\n"
             "    min_workers: 0\n"
             "    max_workers: %" PRId64 "\n"
             "    # Passed to EC2's RunInstances unchanged.\n"
             "    node_config:\n"
             "      InstanceType: %s\n"
             "%s",
             init_head_type(plan), plan->max_workers, plan->type, is_on_demand ? "" : init_spot);
}

static void init_add_file(struct buf *out, const struct init_plan *plan, bool is_on_demand)
{
    init_add_cloud(out, plan);
    if (plan->is_gcp) {
        init_add_gcp_types(out, plan, is_on_demand);
    } else {
        init_add_aws_types(out, plan, is_on_demand);
    }
    buf_add_c(out,
              "\n"
              "# Commands that run on every node before Ray starts. They run again after each\n"
              "# change, so make them safe to repeat.\n"
              "# setup_commands:\n"
              "#   - pip install torch\n"
              "\n"
              "# Files to copy to every node: the path on the node, then the path here.\n"
              "# file_mounts:\n"
              "#   /home/ubuntu/project: ./project\n");
}

/* Never replaces a file. */
static bool init_write(const char *path, struct str text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) {
        return err_set(err, ERR_EXISTS,
                       "%s exists and was not changed. Name another file: shoal init FILE", path);
    }
    if (fd < 0) {
        return err_set(err, ERR_IO, "cannot create %s: %s", path, strerror(errno));
    }
    errno = ENOSPC; /* what a short write means, which sets no error */
    bool is_written = write(fd, text.ptr, text.len) == (ssize_t)text.len;
    int cause = errno;
    if (close(fd) != 0 && is_written) {
        is_written = false;
        cause = errno;
    }
    if (!is_written) {
        unlink(path);
        return err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(cause));
    }
    return true;
}

static int verb_init_run(const struct cli *cli, const void *fields)
{
    const struct init_fields *given = fields;
    const char *file = given->file ? given->file : "cluster.yaml";
    struct init_plan plan = {.cli = cli, .asks = !given->is_yes && isatty(STDIN_FILENO) == 1};
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, INIT_FILE_BYTES);
    if (file_stat(file).kind != FILE_MISSING) { /* before the questions */
        err_set(&err, ERR_EXISTS,
                "%s exists and was not changed. Name another file: shoal init FILE", file);
        return output_error(cli, &err);
    }
    if (!init_plan_read(&plan, given, &err)) {
        return output_error(cli, &err);
    }
    init_add_file(&text, &plan, given->is_on_demand);
    if (!init_write(file, buf_str(&text), &err)) {
        return output_error(cli, &err);
    }
    fprintf(cli->out,
            "wrote %s: cluster %s in %s, head %s, up to %" PRId64 " %s worker%s %s\n"
            "\n"
            "  shoal check %s    checks the file and your %s, and changes nothing\n"
            "  shoal plan %s     shows what will be created, with the price per hour\n"
            "  shoal up %s       starts the cluster\n"
            "  shoal down %s     removes it\n",
            file, plan.name, plan.region, init_head_type(&plan), plan.max_workers,
            given->is_on_demand ? "on-demand" : "spot", plan.max_workers == 1 ? "" : "s", plan.type,
            file, plan.is_gcp ? "project" : "AWS account", file, file, file);
    return 0;
}

const struct verb verb_init = {
    .name = "init",
    .summary = "write a first cluster file",
    .description =
        "Writes a commented cluster file for AWS, or for Google Cloud with --provider gcp. On a "
        "terminal, it asks for the region, the "
        "instance type of the workers and their largest number, unless options give them. The "
        "file also works with ray up.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct init_fields),
    .run = verb_init_run,
};
