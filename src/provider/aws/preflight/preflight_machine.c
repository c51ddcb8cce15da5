/* preflight_machine.c: checks the instance types in the file and their images. */
#include "provider/aws/preflight/instance_type.h"
#include "provider/aws/preflight/preflight_internal.h"
#include "provider/aws/preflight/subnet.h"

#include "base/buf.h"

/* Ubuntu's images have 8 GB, which one `pip install torch` fills. */
enum { ROOT_GIB = 60 };

/* ---- instance types ---- */

bool preflight_has_machine(const struct preflight_answers *answers, struct str machine)
{
    bool is_described = !answers->answers[ASK_TYPES].is_ok ||
                        instance_type_find(&answers->types, machine);
    bool is_offered = !answers->answers[ASK_ZONES].is_ok ||
                      instance_type_is_offered(&answers->zones, machine);
    return machine.len == 0 || (is_described && is_offered);
}

/* Returns the first node type with this instance type and marks all of them in `counts`. */
static const struct requested_type *types_with(const struct judge *judge, struct str machine,
                                               bool *counts)
{
    const struct requested_type *first = NULL;
    for (size_t i = judge->request->type_count; i-- > 0;) {
        counts[i] = str_eq(judge->request->types[i].machine, machine);
        first = counts[i] ? &judge->request->types[i] : first;
    }
    return first;
}

static const struct requested_type *spot_type_with(const struct judge *judge, struct str machine)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        if (type->is_spot && str_eq(type->machine, machine)) {
            return type;
        }
    }
    return NULL;
}

/* ", in 2a, 2b": sorted. */
static void add_zones(struct buf *out, const struct judge *judge, struct str machine)
{
    const struct ec2_offerings *zones = &judge->answers->zones;
    struct str last = STR("");
    for (size_t shown = 0;; shown++) {
        struct str next = STR("");
        for (size_t i = 0; i < zones->count; i++) {
            struct str zone = zones->items[i].location;
            if (str_eq(zones->items[i].type, machine) && str_cmp(zone, last) > 0 &&
                (next.len == 0 || str_cmp(zone, next) < 0)) {
                next = zone;
            }
        }
        if (next.len == 0) {
            return;
        }
        buf_addf(out, "%s%.*s", shown > 0 ? ", " : ", in ",
                 STR_ARG(subnet_short_zone(next, judge->answers->region)));
        last = next;
    }
}

static void describe_machine(struct judge *judge, const struct ec2_type *type, const bool *counts)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 4096);
    buf_add(&out, type->name);
    if (type->vcpus > 0 && type->memory_mib > 0) {
        buf_addf(&out, ": %lld vCPUs, %lld GiB", (long long)type->vcpus,
                 (long long)(type->memory_mib / 1024));
    }
    if (type->gpus > 0) {
        buf_addf(&out, ", %lld GPU%s", (long long)type->gpus, type->gpus == 1 ? "" : "s");
    }
    buf_addf(&out, ", %.*s", STR_ARG(instance_type_arch(type)));
    add_zones(&out, judge, type->name);
    judge_add(judge, FINDING_FINE, "machine", "%.*s%.*s", STR_ARG(buf_str(&out)),
              STR_ARG(judge_types(judge, counts)));
}

static void judge_machine(struct judge *judge, struct str machine, bool *counts)
{
    const struct requested_type *first = types_with(judge, machine, counts);
    const struct requested_type *spot = spot_type_with(judge, machine);
    const struct ec2_type *type = instance_type_find(&judge->answers->types, machine);
    struct str region = judge->answers->region;
    if (!type || !preflight_has_machine(judge->answers, machine)) {
        struct finding *missing = judge_add(judge, FINDING_ERROR, "machine",
                                            "%.*s does not exist in %.*s", STR_ARG(machine),
                                            STR_ARG(region));
        missing->path = judge_path(judge, first, "InstanceType");
        missing->remedy = instance_type_hint(machine, &judge->answers->region_types, judge->arena);
    } else if (spot && !type->has_spot) {
        struct finding *never = judge_add(judge, FINDING_ERROR, "machine",
                                          "%.*s is not available as a spot instance",
                                          STR_ARG(machine));
        never->path = judge_path(judge, spot, "InstanceMarketOptions");
        never->remedy = STR("remove InstanceMarketOptions");
    } else {
        describe_machine(judge, type, counts);
    }
}

/* Shoal does not cancel spot requests, so EC2 would replace each terminated instance. */
static void refuse_persistent(struct judge *judge, const struct requested_type *type)
{
    struct finding *finding = judge_add(
        judge, FINDING_ERROR, "machine",
        "node type %.*s uses persistent spot requests: EC2 launches a new instance each time one "
        "is terminated, even after shoal down",
        STR_ARG(type->name));
    finding->path = judge_path(judge, type, "InstanceMarketOptions");
    finding->remedy = STR("set SpotInstanceType: one-time, or remove SpotInstanceType");
}

void judge_machines(struct judge *judge)
{
    bool *counts = ARENA_ARRAY(judge->arena, judge->request->type_count, bool);
    for (size_t i = 0; i < judge->request->type_count; i++) {
        struct str machine = judge->request->types[i].machine;
        const struct ec2_type *type = instance_type_find(&judge->answers->types, machine);
        judge->facts.types[i].machine = machine;
        if (judge->request->types[i].is_persistent) {
            refuse_persistent(judge, &judge->request->types[i]);
        }
        judge->facts.types[i].arch = type ? instance_type_arch(type) : STR("");
    }
    for (size_t i = 0; judge_knows(judge, ASK_TYPES) && i < judge->request->machines.count; i++) {
        judge_machine(judge, judge->request->machines.items[i], counts);
    }
}

/* ---- images ---- */

static const struct preflight_parameter *parameter_for(const struct preflight_answers *answers,
                                                       const struct ec2_type *type)
{
    for (size_t i = 0; type && i < answers->parameter_count; i++) {
        const struct preflight_parameter *parameter = &answers->parameters[i];
        if (str_eq(parameter->arch, instance_type_arch(type)) &&
            parameter->has_gpus == (type->gpus > 0)) {
            return parameter;
        }
    }
    return NULL;
}

/* The file names it: "resolve:ssm:NAME". NULL: not asked. */
static const struct preflight_parameter *named_parameter(const struct preflight_answers *answers,
                                                         struct str name)
{
    for (size_t i = 0; name.len > 0 && i < answers->parameter_count; i++) {
        if (answers->parameters[i].arch.len == 0 &&
            str_eq(answers->parameters[i].what.name, name)) {
            return &answers->parameters[i];
        }
    }
    return NULL;
}

/* "ImageId: ami-1 (newest Ubuntu 22.04 arm64)"; empty if unknown. */
static struct str image_remedy(struct judge *judge, const struct requested_type *type,
                               const struct ec2_type *machine)
{
    const struct preflight_parameter *parameter = parameter_for(judge->answers, machine);
    bool is_written = param_find(type->own, "ImageId") != NULL;
    if (!parameter || parameter->image.len == 0) {
        return STR("");
    }
    return arena_printf(judge->arena, "%sImageId: %.*s (%.*s)%s",
                        is_written ? "" : "add to the node_config: ", STR_ARG(parameter->image),
                        STR_ARG(parameter->what.words), is_written ? ", or remove ImageId" : "");
}

static void refuse_named(struct judge *judge, const struct requested_type *type,
                         const struct ec2_type *machine, const struct image_choice *choice)
{
    struct str region = judge->answers->region;
    struct finding *finding;
    switch (choice->verdict) {
    case IMAGE_MISSING:
        finding = judge_add(judge, FINDING_ERROR, "image",
                            "image %.*s does not exist in %.*s or is not shared with this account",
                            STR_ARG(type->image), STR_ARG(region));
        break;
    case IMAGE_NOT_READY:
        finding = judge_add(judge, FINDING_ERROR, "image", "image %.*s cannot be used: it is %.*s",
                            STR_ARG(type->image), STR_ARG(choice->image->state));
        break;
    case IMAGE_WINDOWS:
        finding = judge_add(judge, FINDING_ERROR, "image",
                            "image %.*s is a Windows image; clusters need Linux",
                            STR_ARG(type->image));
        break;
    case IMAGE_WRONG_ARCH:
        finding = judge_add(judge, FINDING_ERROR, "image",
                            "image %.*s is for %.*s, but %.*s runs %.*s", STR_ARG(type->image),
                            STR_ARG(choice->image->arch), STR_ARG(type->machine),
                            STR_ARG(instance_type_arch(machine)));
        break;
    case IMAGE_FINE:
    case IMAGE_NONE:
    default:
        return;
    }
    finding->path = judge_path(judge, type, "ImageId");
    finding->remedy = image_remedy(judge, type, machine);
}

/* The file names no image that can be used, and the newest could not be found either. */
static void refuse_none(struct judge *judge, const struct requested_type *type,
                        const struct ec2_type *machine)
{
    struct str rays = image_ray_default(judge->answers->region);
    const struct preflight_parameter *parameter = parameter_for(judge->answers, machine);
    struct str why = parameter ? arena_printf(judge->arena, "%.*s has none",
                                              STR_ARG(parameter->what.name))
                               : STR("there is no default image for this instance type");
    struct str of_file = !image_is_ray_default(type->image) ? STR("the file does not set one")
                         : rays.len > 0
                             ? arena_printf(judge->arena, "Ray's default %.*s does not fit",
                                            STR_ARG(rays))
                             : STR("Ray has no default for this region");
    struct finding *finding = judge_add(judge, FINDING_ERROR, "image",
                                        "no image for node type %.*s: %.*s, and %.*s",
                                        STR_ARG(type->name), STR_ARG(of_file), STR_ARG(why));
    finding->path = judge_path(judge, type, "ImageId");
    finding->remedy = STR("add: ImageId: ami-...");
}

static void take_image(struct judge *judge, size_t at, const struct ec2_image *image,
                       struct str from)
{
    struct aws_type_facts *facts = &judge->facts.types[at];
    facts->image = image->id;
    facts->image_name = image->name;
    facts->image_from = from;
    facts->root_device = image->root_device;
    facts->arch = image->arch.len > 0 ? image->arch : facts->arch;
    if (judge->request->types[at].wants_disk) {
        facts->root_gib = image->root_gib > ROOT_GIB ? image->root_gib : ROOT_GIB;
    }
}

/* Uses the newest image; true if there is one. */
static bool preflight_machine_take_newest(struct judge *judge, size_t at,
                                          const struct ec2_type *machine)
{
    const struct preflight_parameter *parameter = parameter_for(judge->answers, machine);
    const struct ec2_image *image = parameter
                                        ? image_find(&judge->answers->new_images, parameter->image)
                                        : NULL;
    if (image) {
        take_image(judge, at, image, parameter->what.name);
    }
    return image != NULL;
}

/* If not, the failed call has been reported already. */
static bool is_answered(const struct preflight_answers *answers)
{
    const struct preflight_answer *parameters = &answers->answers[ASK_PARAMETERS];
    return (parameters->is_ok || !parameters->was_asked) && answers->answers[ASK_NEW_IMAGES].is_ok;
}

/* EC2 would resolve the parameter at each launch; all nodes of a type get the same image here. */
static void judge_named_parameter(struct judge *judge, size_t at,
                                  const struct preflight_parameter *parameter,
                                  const struct ec2_type *machine)
{
    const struct requested_type *type = &judge->request->types[at];
    struct image_choice choice = image_choose(parameter->image, judge->answers->region, machine,
                                              &judge->answers->new_images);
    if (choice.verdict == IMAGE_FINE) {
        take_image(judge, at, choice.image, parameter->what.name);
    } else if (choice.verdict == IMAGE_NONE && is_answered(judge->answers)) {
        judge_add(judge, FINDING_ERROR, "image", "the parameter %.*s does not exist in %.*s",
                  STR_ARG(parameter->what.name), STR_ARG(judge->answers->region))
            ->path = judge_path(judge, type, "ImageId");
    } else if (is_answered(judge->answers)) {
        refuse_named(judge, type, machine, &choice);
    }
}

static void judge_image(struct judge *judge, size_t at)
{
    const struct requested_type *type = &judge->request->types[at];
    const struct preflight_answers *answers = judge->answers;
    const struct ec2_type *machine = instance_type_find(&answers->types, type->machine);
    const struct preflight_parameter *named = named_parameter(answers,
                                                              image_of_parameter(type->image));
    if (named) {
        judge_named_parameter(judge, at, named, machine);
        return;
    }
    struct image_choice choice = image_choose(type->image, answers->region, machine,
                                              &answers->images);
    if (choice.verdict == IMAGE_FINE) {
        bool is_written = param_find(type->own, "ImageId") != NULL;
        take_image(judge, at, choice.image,
                   choice.is_ray_default ? STR("Ray's default")
                   : is_written          ? STR("the file")
                                         : STR("the launch template"));
    } else if (choice.verdict != IMAGE_NONE) {
        refuse_named(judge, type, machine, &choice);
    } else if (machine && !preflight_machine_take_newest(judge, at, machine) &&
               is_answered(answers)) {
        refuse_none(judge, type, machine);
    }
}

/* "ami-1 newest Ubuntu 22.04 x86_64 (/aws/service/...)" */
static void describe_image(struct judge *judge, const struct aws_type_facts *facts,
                           const bool *counts)
{
    const struct preflight_answers *answers = judge->answers;
    bool is_ray_default = false;
    for (size_t i = 0; i < judge->request->type_count; i++) {
        is_ray_default = is_ray_default ||
                         (counts[i] && image_is_ray_default(judge->request->types[i].image));
    }
    struct str types = judge_types(judge, counts);
    struct str rays = image_ray_default(answers->region);
    for (size_t i = 0; i < answers->parameter_count; i++) {
        const struct preflight_parameter *parameter = &answers->parameters[i];
        if (str_eq(parameter->what.name, facts->image_from)) {
            bool is_gone = is_ray_default && rays.len > 0 && !image_find(&answers->images, rays);
            struct str note = is_gone ? arena_printf(judge->arena,
                                                     "; Ray's default %.*s no longer exists",
                                                     STR_ARG(rays))
                                      : STR("");
            judge_add(judge, FINDING_FINE, "image", "%.*s %.*s (%.*s)%.*s%.*s",
                      STR_ARG(facts->image), STR_ARG(parameter->what.words),
                      STR_ARG(parameter->what.name), STR_ARG(note), STR_ARG(types));
            return;
        }
    }
    const struct ec2_image *image = image_find(&answers->images, facts->image);
    judge_add(judge, FINDING_FINE, "image", "%.*s %.*s, %.*s (%.*s)%.*s", STR_ARG(facts->image),
              STR_ARG(image->name.len > 0 ? image->name : STR("without a name")),
              STR_ARG(image->arch), STR_ARG(facts->image_from), STR_ARG(types));
}

void judge_images(struct judge *judge)
{
    bool *counts = ARENA_ARRAY(judge->arena, judge->request->type_count, bool);
    for (size_t i = 0; judge_knows(judge, ASK_IMAGES) && i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        if (image_is_named(type->image) || !type->is_blind) {
            judge_image(judge, i);
        }
    }
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct aws_type_facts *facts = &judge->facts.types[i];
        bool is_first = facts->image.len > 0;
        for (size_t j = 0; j < judge->request->type_count; j++) {
            counts[j] = str_eq(judge->facts.types[j].image, facts->image);
            is_first = is_first && (j >= i || !counts[j]);
        }
        if (is_first) {
            describe_image(judge, facts, counts);
        }
    }
}

/* ---- follow-up calls ---- */

bool preflight_needs_region(const struct preflight_request *request,
                            const struct preflight_answers *answers)
{
    for (size_t i = 0; i < request->machines.count; i++) {
        if (!preflight_has_machine(answers, request->machines.items[i])) {
            return true;
        }
    }
    return false;
}

static void plan_named_parameter(struct preflight_answers *answers, struct str name)
{
    if (answers->parameter_count < PREFLIGHT_PARAMETERS_MAX && !named_parameter(answers, name)) {
        answers->parameters[answers->parameter_count++] = (struct preflight_parameter){
            .what = {.name = name, .words = STR("the image of a parameter")}};
    }
}

static void plan_parameter(struct preflight_answers *answers, const struct ec2_type *type,
                           struct arena *arena)
{
    struct preflight_parameter parameter = {.arch = instance_type_arch(type),
                                            .has_gpus = type->gpus > 0};
    if (answers->parameter_count < PREFLIGHT_PARAMETERS_MAX && !parameter_for(answers, type) &&
        image_parameter_for(parameter.arch, parameter.has_gpus, arena, &parameter.what)) {
        answers->parameters[answers->parameter_count++] = parameter;
    }
}

void preflight_plan_parameters(const struct preflight_request *request,
                               struct preflight_answers *answers, struct arena *arena)
{
    for (size_t i = 0; answers->answers[ASK_IMAGES].is_ok && i < request->type_count; i++) {
        const struct requested_type *type = &request->types[i];
        const struct ec2_type *machine = instance_type_find(&answers->types, type->machine);
        bool is_blind = type->is_blind && !image_is_named(type->image);
        struct str named = image_of_parameter(type->image);
        if (named.len > 0) {
            plan_named_parameter(answers, named);
        } else if (machine && !is_blind &&
                   image_choose(type->image, answers->region, machine, &answers->images).verdict !=
                       IMAGE_FINE) {
            plan_parameter(answers, machine, arena);
        }
    }
}
