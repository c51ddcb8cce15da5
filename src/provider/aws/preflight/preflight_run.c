/* preflight_run.c: sends the calls in six waves and collects the replies. */
#include "provider/aws/preflight/preflight_run.h"

#include "io/file.h"
#include "io/xalloc.h"
#include "provider/aws/client/aws_pages.h"
#include "provider/aws/cluster/aws_names.h"
#include "provider/aws/preflight/preflight_dry_run.h"
#include "provider/aws/preflight/quota.h"
#include "provider/param.h"

#include <string.h>

enum { QUESTION_MS = 25 * 1000, WAVE_COUNT = 6 };

struct aws_preflight_run;

/* One call. */
struct preflight_run_question {
    struct aws_preflight_run *run;
    enum preflight_ask ask;
    size_t index; /* index of the profile or the parameter */
    struct aws_pages *pages;
    struct aws_call *call;
    struct preflight_run_question *next;
};

struct aws_preflight_run {
    struct aws_client *client;
    const struct provider_cluster *cluster;
    enum preflight_scope scope;
    aws_preflight_run_fn *done;
    void *context;
    struct arena arena;
    struct preflight_request request;
    struct preflight_answers answers;
    struct preflight_run_question *questions; /* includes finished ones */
    size_t waiting;
    int wave;
};

static void preflight_run_proceed(struct aws_preflight_run *run);

/* ---- finishing ---- */

void aws_preflight_run_cancel(struct aws_preflight_run *run)
{
    for (struct preflight_run_question *question = run->questions; question;
         question = question->next) {
        if (question->pages) {
            aws_pages_cancel(question->pages);
        }
        if (question->call) {
            aws_call_cancel(question->call);
        }
    }
    arena_clear(&run->arena);
    free(run);
}

static void preflight_run_finish(struct aws_preflight_run *run)
{
    struct arena arena;
    struct preflight_result result;
    aws_preflight_run_fn *done = run->done;
    void *context = run->context;
    run->answers.source = arena_str(&run->arena, aws_client_source(run->client));
    run->answers.sources = aws_client_sources_report(run->client, &run->arena);
    preflight_evaluate(&run->request, &run->answers, &run->arena, &result);
    arena = run->arena;
    free(run);
    done(context, &result, &arena);
}

/* ---- recording results ---- */

static bool is_denial(struct str code)
{
    static const char *const words[] = {"Unauthorized", "AccessDenied", "NotAuthorized",
                                        "AuthorizationError"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_find(code, words[i]) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static void preflight_run_note_failure(struct aws_preflight_run *run, enum preflight_ask ask,
                                       const struct aws_error *error, const struct err *err)
{
    struct preflight_answer *answer = &run->answers.answers[ask];
    bool is_auth = error && error->class == AWS_AUTH;
    if (!answer->is_ok) {
        return; /* keep the first failure */
    }
    answer->is_ok = false;
    answer->is_denied = is_auth && is_denial(error->code);
    answer->is_unknown = is_auth && !answer->is_denied;
    answer->code = error ? arena_str(&run->arena, error->code) : STR("");
    answer->message = error ? arena_str(&run->arena, error->message) : STR("");
    answer->err = *err;
}

/* ---- replies ---- */

static bool preflight_run_read_template(struct aws_preflight_run *run, size_t index,
                                        struct ec2_pages pages, struct err *err)
{
    struct param *data;
    if (!ec2_template_read(pages, &run->arena, &data, err)) {
        return false;
    }
    run->answers.templates[index] = data;
    return true;
}

/* Each call asks for one image. */
static bool add_images(struct ec2_pages pages, struct arena *arena, struct ec2_images *images,
                       struct err *err)
{
    struct ec2_images more;
    if (!ec2_images_read(pages, arena, &more, err)) {
        return false;
    }
    struct ec2_image *all = ARENA_ARRAY(arena, images->count + more.count, struct ec2_image);
    for (size_t i = 0; i < images->count + more.count; i++) {
        all[i] = i < images->count ? images->items[i] : more.items[i - images->count];
    }
    *images = (struct ec2_images){all, images->count + more.count};
    return true;
}

static bool read_pages(struct aws_preflight_run *run, enum preflight_ask ask,
                       struct ec2_pages pages, struct err *err)
{
    struct preflight_answers *answers = &run->answers;
    struct arena *arena = &run->arena;
    switch (ask) {
    case ASK_SUBNETS:
        return ec2_subnets_read(pages, arena, &answers->subnets, err);
    case ASK_GROUPS:
        return ec2_groups_read(pages, arena, &answers->groups, err);
    case ASK_IMAGES:
        return add_images(pages, arena, &answers->images, err);
    case ASK_NEW_IMAGES:
        return add_images(pages, arena, &answers->new_images, err);
    case ASK_TYPES:
        return ec2_types_read(pages, arena, &answers->types, err);
    case ASK_ZONES:
        return ec2_offerings_read(pages, arena, &answers->zones, err);
    case ASK_REGION:
        return ec2_offerings_read(pages, arena, &answers->region_types, err);
    case ASK_KEYS:
        return ec2_keys_read(pages, arena, &answers->keys, err);
    case ASK_NAMED:
        if (!preflight_foreign_read(pages, arena, &answers->named, err)) {
            return false;
        }
        answers->named.count *= run->scope >= PREFLIGHT_FOR_UP; /* not a question for a head */
        return true;
    case ASK_FREE_TYPES:
        return ec2_types_read(pages, arena, &answers->free_types, err);
    case ASK_IDENTITY:
    case ASK_TEMPLATES:
    case ASK_PROFILES:
    case ASK_PARAMETERS:
    case ASK_QUOTAS:
    case ASK_SPOT_ROLE:
    case ASK_DRY_RUNS:
    case ASK_HEAD_ROLE:
    case ASK_CALLER_ROLE:
    case ASK_RIGHTS:
    case ASK_ENCRYPTION:
    case ASK_DISK_KEY:
    case ASK_COUNT:
        break;
    }
    return err_set(err, ERR_INTERNAL, "internal error: not a listing call");
}

/* "Does not exist" is a valid result, not a failure. */
static bool is_absence(struct preflight_run_question *question, struct str code)
{
    struct preflight_answers *answers = &question->run->answers;
    if (question->ask == ASK_PROFILES && str_is(code, "NoSuchEntity")) {
        answers->profiles[question->index].is_missing = true;
        return true;
    }
    if (question->ask == ASK_SPOT_ROLE && str_is(code, "NoSuchEntity")) {
        answers->lacks_spot_role = true;
        return true;
    }
    if (question->ask == ASK_HEAD_ROLE && str_is(code, "NoSuchEntity")) {
        return true;
    }
    if (question->ask == ASK_QUOTAS && str_is(code, "NoSuchResourceException")) {
        return true;
    }
    bool is_image = question->ask == ASK_IMAGES || question->ask == ASK_NEW_IMAGES;
    bool is_template = question->ask == ASK_TEMPLATES && str_starts(code, "InvalidLaunchTemplate");
    return is_template || (is_image && str_starts(code, "InvalidAMIID.")) ||
           (question->ask == ASK_PARAMETERS &&
            (str_is(code, "ParameterNotFound") || str_starts(code, "ParameterVersion")));
}

static void preflight_run_on_pages(void *context, const struct aws_reply *reply,
                                   const struct xml_element *const *roots, size_t count)
{
    struct preflight_run_question *question = context;
    struct aws_preflight_run *run = question->run;
    struct ec2_pages pages = {roots, count};
    struct err err;
    question->pages = NULL;
    if (!reply->is_ok && !is_absence(question, reply->error.code)) {
        preflight_run_note_failure(run, question->ask, &reply->error, &reply->err);
    } else if (reply->is_ok &&
               !(question->ask == ASK_TEMPLATES
                     ? preflight_run_read_template(run, question->index, pages, &err)
                     : read_pages(run, question->ask, pages, &err))) {
        preflight_run_note_failure(run, question->ask, NULL, &err);
    }
    run->waiting--;
    preflight_run_proceed(run);
}

static bool read_profile(struct aws_preflight_run *run, size_t index, struct str body,
                         struct err *err)
{
    struct preflight_profile *profile = &run->answers.profiles[index];
    struct arena scratch;
    const struct xml_element *root;
    arena_init(&scratch);
    profile->is_found = xml_tree_parse(body, &scratch, &root, err) &&
                        iam_profile_read(root, &run->arena, &profile->found, err);
    arena_clear(&scratch);
    return profile->is_found;
}

static bool read_account(struct aws_preflight_run *run, enum preflight_ask ask, struct str body,
                         struct err *err)
{
    const struct xml_element *root;
    struct preflight_answers *answers = &run->answers;
    if (!xml_tree_parse(body, &run->arena, &root, err)) {
        return false;
    }
    if (ask == ASK_CALLER_ROLE) {
        answers->caller_role = xml_child_text(xml_child(xml_child(root, "GetRoleResult"), "Role"),
                                              "Arn");
    } else if (ask == ASK_ENCRYPTION) {
        answers->encrypts = str_is(xml_child_text(root, "ebsEncryptionByDefault"), "true");
    } else {
        answers->disk_key = xml_child_text(root, "kmsKeyId");
    }
    return true;
}

static bool read_reply(struct preflight_run_question *question, struct str body, struct err *err)
{
    struct aws_preflight_run *run = question->run;
    struct preflight_answers *answers = &run->answers;
    if (question->ask == ASK_IDENTITY) {
        return sts_identity_read(body, &run->arena, &answers->identity, err);
    }
    if (question->ask == ASK_PROFILES) {
        return read_profile(run, question->index, body, err);
    }
    if (question->ask == ASK_QUOTAS) {
        struct preflight_quota *quota = &answers->quotas[question->index];
        quota->is_known = quota_limit_read(body, &quota->limit, err);
        return quota->is_known;
    }
    if (question->ask == ASK_SPOT_ROLE || question->ask == ASK_HEAD_ROLE) {
        return true; /* it exists */
    }
    if (question->ask == ASK_RIGHTS) {
        return preflight_rights_read(body, &run->arena, &answers->rights[question->index], err);
    }
    if (question->ask != ASK_PARAMETERS) {
        return read_account(run, question->ask, body, err);
    }
    return ssm_parameter_read(body, &run->arena, &answers->parameters[question->index].image, err);
}

/* Any reply from EC2 is a result; without a code EC2 was not reached. */
static void on_dry_run(void *context, const struct aws_reply *reply)
{
    struct preflight_run_question *question = context;
    struct aws_preflight_run *run = question->run;
    size_t types = run->request.type_count;
    struct preflight_dry_run *answer = question->index < types
                                           ? &run->answers.dry_runs[question->index]
                                           : &run->answers.makings[question->index - types];
    question->call = NULL;
    *answer = (struct preflight_dry_run){
        .code = arena_str(&run->arena, reply->error.code),
        .message = arena_str(&run->arena, reply->error.message),
        .is_denied = is_denial(reply->error.code),
        .is_vague = !reply->is_ok && reply->error.class != AWS_PERMANENT &&
                    reply->error.class != AWS_AUTH,
        .is_full = reply->error.class == AWS_QUOTA || reply->error.class == AWS_CAPACITY,
    };
    run->waiting--;
    preflight_run_proceed(run);
}

static void preflight_run_on_reply(void *context, const struct aws_reply *reply)
{
    struct preflight_run_question *question = context;
    struct aws_preflight_run *run = question->run;
    struct err err;
    question->call = NULL;
    if (!reply->is_ok && !is_absence(question, reply->error.code)) {
        preflight_run_note_failure(run, question->ask, &reply->error, &reply->err);
    } else if (reply->is_ok && !read_reply(question, reply->body, &err)) {
        preflight_run_note_failure(run, question->ask, NULL, &err);
    }
    run->waiting--;
    preflight_run_proceed(run);
}

/* ---- sending calls ---- */

static struct preflight_run_question *
preflight_run_add_question(struct aws_preflight_run *run, enum preflight_ask ask, size_t index)
{
    struct preflight_run_question *question = ARENA_NEW(&run->arena, struct preflight_run_question);
    struct preflight_answer *answer = &run->answers.answers[ask];
    *question = (struct preflight_run_question){run, ask, index, NULL, NULL, run->questions};
    run->questions = question;
    run->waiting++;
    answer->is_ok = answer->is_ok || !answer->was_asked;
    answer->was_asked = true;
    return question;
}

static void ask_list(struct aws_preflight_run *run, enum preflight_ask ask, size_t index,
                     const struct param *input)
{
    struct preflight_run_question *question = preflight_run_add_question(run, ask, index);
    struct aws_request request = {.service = AWS_EC2,
                                  .action = preflight_action(ask) + sizeof("ec2:") - 1,
                                  .input = input,
                                  .deadline_ms = QUESTION_MS};
    question->pages = aws_pages_start(run->client, &request, preflight_run_on_pages, question);
}

/* Without the service: "DescribeSubnets". */
static const char *action_of(enum preflight_ask ask)
{
    return strchr(preflight_action(ask), ':') + 1;
}

static void ask_one(struct aws_preflight_run *run, enum preflight_ask ask, size_t index,
                    enum aws_service service, const struct param *input)
{
    struct preflight_run_question *question = preflight_run_add_question(run, ask, index);
    struct aws_request request = {.service = service,
                                  .action = action_of(ask),
                                  .input = input,
                                  .deadline_ms = QUESTION_MS,
                                  .done = ask == ASK_DRY_RUNS ? on_dry_run : preflight_run_on_reply,
                                  .context = question};
    question->call = aws_call_start(run->client, &request);
}

static struct param *filtered(struct aws_preflight_run *run, const char *name,
                              const struct str *values, size_t count)
{
    struct param *input = param_new_map(&run->arena);
    struct param *filters = param_add_list(input, "Filters", &run->arena);
    param_add_filter(filters, name, values, count, &run->arena);
    return input;
}

/* By id: a filter makes EC2 search all public images. One call for each, since one id that does not
 * exist fails a call. */
static void ask_images(struct aws_preflight_run *run, enum preflight_ask ask, const struct str *ids,
                       size_t count)
{
    run->answers.answers[ask].is_ok = true;
    for (size_t i = 0; i < count; i++) {
        struct param *input = param_new_map(&run->arena);
        param_add_text(param_add_list(input, "ImageIds", &run->arena), "", ids[i], &run->arena);
        param_add_bool(input, "IncludeDeprecated", true, &run->arena);
        ask_list(run, ask, i, input);
    }
}

static void ask_named_images(struct aws_preflight_run *run)
{
    const struct preflight_request *request = &run->request;
    struct str rays = image_ray_default(run->answers.region);
    struct str *ids = ARENA_ARRAY(&run->arena, request->images.count + 1, struct str);
    size_t count = 0;
    bool needs_rays = false;
    for (size_t i = 0; i < request->images.count; i++) {
        ids[count++] = request->images.items[i];
    }
    for (size_t i = 0; i < request->type_count; i++) {
        needs_rays = needs_rays || image_is_ray_default(request->types[i].image);
    }
    if (needs_rays && rays.len > 0) {
        ids[count++] = rays;
    }
    ask_images(run, ASK_IMAGES, ids, count);
}

static void preflight_run_ask_machines(struct aws_preflight_run *run)
{
    const struct requested_texts *machines = &run->request.machines;
    if (machines->count == 0) {
        run->answers.answers[ASK_TYPES].is_ok = true;
        return;
    }
    ask_list(run, ASK_TYPES, 0, filtered(run, "instance-type", machines->items, machines->count));
    struct param *zones = filtered(run, "instance-type", machines->items, machines->count);
    param_add_text(zones, "LocationType", STR("availability-zone"), &run->arena);
    ask_list(run, ASK_ZONES, 0, zones);
}

static void preflight_run_request_keys(struct aws_preflight_run *run)
{
    const struct preflight_request *request = &run->request;
    struct param *input = param_new_map(&run->arena);
    bool is_named = request->key_pair.len > 0;
    for (size_t i = 0; i < request->type_count; i++) {
        is_named = is_named || (request->private_key.len > 0 && request->types[i].key.len > 0);
    }
    param_add_bool(input, "IncludePublicKey", true, &run->arena);
    if (is_named) {
        ask_list(run, ASK_KEYS, 0, input); /* all of them, for suggestions */
    }
}

static void ask_profiles(struct aws_preflight_run *run)
{
    const struct requested_texts *profiles = &run->request.profiles;
    run->answers.profiles = ARENA_ARRAY(&run->arena, profiles->count, struct preflight_profile);
    for (size_t i = 0; i < profiles->count; i++) {
        struct param *input = param_new_map(&run->arena);
        run->answers.profiles[i].name = profiles->items[i];
        param_add_text(input, "InstanceProfileName", profiles->items[i], &run->arena);
        ask_one(run, ASK_PROFILES, i, AWS_IAM, input);
    }
}

/* The file has the version as number or text; AWS expects text, as in Ray. */
static void ask_template(struct aws_preflight_run *run, size_t index)
{
    const struct param *named = param_find(run->request.types[index].own, "LaunchTemplate");
    struct arena *arena = &run->arena;
    struct param *input = param_new_map(arena);
    const struct param *version = param_find(named, "Version");
    struct str text = !version ? STR("$Default")
                      : version->kind == PARAM_NUMBER
                          ? arena_printf(arena, "%lld", (long long)version->number)
                          : version->text;
    for (const struct param *child = named->first; child; child = child->next) {
        if (child->kind == PARAM_TEXT && !str_is(child->name, "Version")) {
            param_add_text(input, child->name.ptr, child->text, arena);
        }
    }
    param_add_text(param_add_list(input, "Versions", arena), "", text, arena);
    ask_list(run, ASK_TEMPLATES, index, input);
}

static void ask_templates(struct aws_preflight_run *run)
{
    run->answers.templates = ARENA_ARRAY(&run->arena, run->request.type_count,
                                         const struct param *);
    for (size_t i = 0; i < run->request.type_count; i++) {
        if (run->request.types[i].has_template) {
            ask_template(run, i);
        }
    }
}

static void ask_quotas(struct aws_preflight_run *run)
{
    preflight_plan_quotas(&run->request, &run->answers, &run->arena);
    for (size_t i = 0; i < run->answers.quota_count; i++) {
        struct param *input = param_new_map(&run->arena);
        param_add_text(input, "ServiceCode", STR("ec2"), &run->arena);
        param_add_text(input, "QuotaCode", str_from(run->answers.quotas[i].quota->code),
                       &run->arena);
        ask_one(run, ASK_QUOTAS, i, AWS_QUOTAS, input);
    }
}

static struct param *named_role(struct aws_preflight_run *run, struct str name)
{
    struct param *input = param_new_map(&run->arena);
    param_add_text(input, "RoleName", name, &run->arena);
    return input;
}

static void ask_spot_role(struct aws_preflight_run *run)
{
    for (size_t i = 0; i < run->request.type_count; i++) {
        if (run->request.types[i].is_spot) {
            ask_one(run, ASK_SPOT_ROLE, 0, AWS_IAM, named_role(run, STR(SPOT_ROLE)));
            return;
        }
    }
}

static void ask_named(struct aws_preflight_run *run)
{
    static const struct str states[] = {
        {"pending", 7}, {"running", 7}, {"stopping", 8}, {"stopped", 7}};
    struct param *input = filtered(run, "tag:ray-cluster-name", &run->cluster->name, 1);
    param_add_filter(param_find(input, "Filters"), "instance-state-name", states, ARRAY_LEN(states),
                     &run->arena);
    ask_list(run, ASK_NAMED, 0, input);
}

/* The file decides the VPC. */
static bool names_place(const struct preflight_request *request)
{
    bool names = request->groups.count > 0;
    for (size_t i = 0; i < request->type_count; i++) {
        names = names || request->types[i].subnets.count > 0;
    }
    return names;
}

/* Many identities may not read roles; then `up` cannot create one, nor `down` find it. */
static void ask_head_role(struct aws_preflight_run *run)
{
    struct str name = aws_own_name(run->cluster->name, STR("dry-run"), "-head", &run->arena);
    for (size_t i = 0; i < run->request.type_count; i++) {
        if (run->request.types[i].is_head && run->request.types[i].profile.len == 0) {
            ask_one(run, ASK_HEAD_ROLE, 0, AWS_IAM, named_role(run, name));
        }
    }
}

/* Called when the settings of launch templates are known. */
static void ask_first(struct aws_preflight_run *run)
{
    preflight_request_read(run->cluster, run->answers.templates, &run->arena, &run->request);
    const struct requested_texts *groups = &run->request.groups;
    if (run->scope >= PREFLIGHT_FOR_UP) {
        ask_one(run, ASK_IDENTITY, 0, AWS_STS, NULL);
        ask_head_role(run);
    }
    if (run->scope >= PREFLIGHT_FOR_UP || !names_place(&run->request)) {
        ask_named(run); /* a head launches in the VPC that the cluster is in */
    }
    ask_list(run, ASK_SUBNETS, 0, NULL);
    if (groups->count > 0) {
        ask_list(run, ASK_GROUPS, 0, filtered(run, "group-id", groups->items, groups->count));
    }
    ask_named_images(run);
    preflight_run_ask_machines(run);
    preflight_run_request_keys(run);
    ask_profiles(run);
    if (run->scope >= PREFLIGHT_FOR_UP) {
        ask_quotas(run);
    }
    if (run->scope >= PREFLIGHT_FOR_CHANGE) {
        ask_one(run, ASK_ENCRYPTION, 0, AWS_EC2, NULL);
        ask_one(run, ASK_DISK_KEY, 0, AWS_EC2, NULL);
        ask_spot_role(run);
    }
}

/* After a refusal or a missing resource, the caller's identity is worth reporting. */
static bool is_refused(const struct aws_preflight_run *run)
{
    for (size_t i = 0; i < run->request.profiles.count; i++) {
        if (run->answers.profiles[i].is_missing) {
            return true;
        }
    }
    for (size_t i = 0; i < ASK_COUNT; i++) {
        const struct preflight_answer *answer = &run->answers.answers[i];
        if (answer->was_asked && (answer->is_denied || answer->is_unknown)) {
            return true;
        }
    }
    return false;
}

static void ask_second(struct aws_preflight_run *run)
{
    if (!run->answers.answers[ASK_IDENTITY].was_asked && is_refused(run)) {
        ask_one(run, ASK_IDENTITY, 0, AWS_STS, NULL);
    }
    struct str role = preflight_rights_role(run->answers.identity.arn);
    if (run->scope >= PREFLIGHT_FOR_UP && role.len > 0) {
        ask_one(run, ASK_CALLER_ROLE, 0, AWS_IAM, named_role(run, role));
    }
    if (preflight_needs_region(&run->request, &run->answers)) {
        struct param *input = param_new_map(&run->arena);
        param_add_text(input, "LocationType", STR("region"), &run->arena);
        ask_list(run, ASK_REGION, 0, input);
    }
    preflight_plan_parameters(&run->request, &run->answers, &run->arena);
    for (size_t i = 0; i < run->answers.parameter_count; i++) {
        struct param *input = param_new_map(&run->arena);
        param_add_text(input, "Name", run->answers.parameters[i].what.name, &run->arena);
        ask_one(run, ASK_PARAMETERS, i, AWS_SSM, input);
    }
}

static void ask_right(struct aws_preflight_run *run, enum preflight_right right, struct str key)
{
    struct str source = preflight_rights_source(run->answers.identity.arn,
                                                run->answers.caller_role);
    struct param *input = preflight_rights_input(run->cluster, right, source, key,
                                                 run->answers.region, &run->arena);
    if (source.len > 0) {
        ask_one(run, ASK_RIGHTS, right, AWS_IAM, input);
    }
}

static void ask_rights(struct aws_preflight_run *run)
{
    struct preflight_result known;
    const struct preflight_answer *head_role = &run->answers.answers[ASK_HEAD_ROLE];
    preflight_evaluate(&run->request, &run->answers, &run->arena, &known);
    if (head_role->was_asked && head_role->is_ok) {
        ask_right(run, RIGHT_ROLE, STR(""));
        ask_right(run, RIGHT_PROFILE, STR(""));
    }
    if (known.facts.spot_role == SPOT_ROLE_MISSING) {
        ask_right(run, RIGHT_SPOT, STR(""));
    }
    if (known.facts.disk_key_count > 0) {
        ask_right(run, RIGHT_KEY, known.facts.disk_keys[0]);
    }
}

static void ask_third(struct aws_preflight_run *run)
{
    if (run->scope >= PREFLIGHT_FOR_UP) {
        ask_rights(run);
    }
    struct str ids[PREFLIGHT_PARAMETERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < run->answers.parameter_count; i++) {
        if (run->answers.parameters[i].image.len > 0) {
            ids[count++] = run->answers.parameters[i].image;
        }
    }
    ask_images(run, ASK_NEW_IMAGES, ids, count);
}

static void ask_making(struct aws_preflight_run *run, enum preflight_making making,
                       const struct aws_facts *facts)
{
    struct param *input = preflight_dry_making(run->cluster, making, facts, &run->arena);
    if (!input) {
        return;
    }
    struct preflight_run_question *question = preflight_run_add_question(
        run, ASK_DRY_RUNS, run->request.type_count + making);
    struct aws_request request = {.service = AWS_EC2,
                                  .action = preflight_making_action(making),
                                  .input = input,
                                  .deadline_ms = QUESTION_MS,
                                  .done = on_dry_run,
                                  .context = question};
    question->call = aws_call_start(run->client, &request);
}

/* One for each node type, and for each resource that `up` makes first. */
static void ask_dry_runs(struct aws_preflight_run *run)
{
    struct preflight_result known;
    struct param *input;
    size_t count = run->request.type_count;
    if (run->scope < PREFLIGHT_FOR_UP || count == 0) {
        return;
    }
    preflight_evaluate(&run->request, &run->answers, &run->arena, &known);
    run->answers.dry_runs = ARENA_ARRAY(&run->arena, count, struct preflight_dry_run);
    for (size_t i = 0; !known.has_errors && i < count; i++) {
        if (preflight_dry_launch(run->cluster, i, &known.facts.types[i], &run->arena, &input)) {
            ask_one(run, ASK_DRY_RUNS, i, AWS_EC2, input);
        }
    }
    for (int i = 0; !known.has_errors && i < MAKING_COUNT; i++) {
        ask_making(run, (enum preflight_making)i, &known.facts);
    }
}

static void ask_free_types(struct aws_preflight_run *run)
{
    static const struct str yes = {"true", 4};
    for (size_t i = 0; run->answers.dry_runs && i < run->request.type_count; i++) {
        if (preflight_is_free_plan(&run->answers.dry_runs[i])) {
            ask_list(run, ASK_FREE_TYPES, 0, filtered(run, "free-tier-eligible", &yes, 1));
            return;
        }
    }
}

static void preflight_run_proceed(struct aws_preflight_run *run)
{
    static void (*const waves[WAVE_COUNT])(struct aws_preflight_run * run) = {
        ask_templates, ask_first, ask_second, ask_third, ask_dry_runs, ask_free_types};
    while (run->waiting == 0 && run->wave < WAVE_COUNT) {
        waves[run->wave++](run);
    }
    if (run->waiting == 0) {
        preflight_run_finish(run);
    }
}

/* ---- starting ---- */

/* Not on the head, where the file names the key for workers. */
static void look_at_key(struct aws_preflight_run *run)
{
    struct buf text;
    struct err err;
    struct str path = file_expand_home(&run->arena, run->request.private_key);
    run->answers.key_state = PREFLIGHT_KEY_UNREAD;
    if (str_is(run->request.private_key, PROVIDER_HEAD_KEY)) {
        return;
    }
    buf_init(&text, PREFLIGHT_KEY_BYTES_MAX);
    if (path.len > 0 && str_find_char(path, '\0') == SIZE_MAX && !str_is(path, "-") &&
        file_read(arena_str(&run->arena, path).ptr, &text, &err)) {
        run->answers.key_state = preflight_key_public(buf_str(&text), &run->arena,
                                                      &run->answers.key_half);
    }
    buf_wipe(&text);
}

/* Where Ray keeps the private key of a key pair that it created. */
static void look_for_pair(struct aws_preflight_run *run)
{
    struct str name = run->request.key_pair;
    if (name.len > 0 && str_find_char(name, '\0') == SIZE_MAX) {
        struct str path = arena_printf(&run->arena, "~/.ssh/%.*s.pem", STR_ARG(name));
        path = file_expand_home(&run->arena, path);
        run->answers.has_key_file = file_stat(arena_str(&run->arena, path).ptr).kind ==
                                    FILE_REGULAR;
    }
}

struct aws_preflight_run *aws_preflight_run_start(struct aws_client *client,
                                                  const struct provider_cluster *cluster,
                                                  enum preflight_scope scope,
                                                  aws_preflight_run_fn *done, void *context)
{
    struct aws_preflight_run *run = HEAP_NEW(struct aws_preflight_run);
    run->client = client;
    run->cluster = cluster;
    run->scope = scope;
    run->done = done;
    run->context = context;
    arena_init(&run->arena);
    preflight_request_read(cluster, NULL, &run->arena, &run->request);
    run->answers.region = arena_str(&run->arena, aws_client_region(client));
    look_at_key(run);
    look_for_pair(run);
    preflight_run_proceed(run);
    return run;
}
