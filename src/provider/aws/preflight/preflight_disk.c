/* preflight_disk.c: compares the root volume in the file with the one of the image. */
#include "base/buf.h"
#include "provider/aws/preflight/preflight_internal.h"

/* Root device names of EC2's usual images. If the name differs from the image's own, a mapping that
 * should enlarge the root creates a second disk, and the small root fills up. */
static bool is_root_name(struct str device)
{
    return str_is(device, "/dev/sda1") || str_is(device, "/dev/xvda") || str_is(device, "/dev/sda");
}

static struct str disk_path(const struct judge *judge, const struct requested_type *type, size_t at,
                            const char *key)
{
    return arena_printf(judge->arena, "%.*s.BlockDeviceMappings[%zu].%s", STR_ARG(type->path), at,
                        key);
}

static void refuse_size(struct judge *judge, const struct requested_type *type, size_t at,
                        const struct ec2_image *image)
{
    struct finding *small = judge_add(
        judge, FINDING_ERROR, "disk",
        "a root volume of %lld GiB is too small: image %.*s needs %lld GiB",
        (long long)type->disks[at].gib, STR_ARG(image->id), (long long)image->root_gib);
    small->path = disk_path(judge, type, at, "Ebs.VolumeSize");
    small->remedy = arena_printf(judge->arena, "set VolumeSize: %lld or more",
                                 (long long)image->root_gib);
}

static void warn_of_name(struct judge *judge, const struct requested_type *type, size_t at,
                         const struct ec2_image *image)
{
    struct str size = image->root_gib > 0
                          ? arena_printf(judge->arena, " at %lld GiB", (long long)image->root_gib)
                          : STR("");
    struct finding *other = judge_add(
        judge, FINDING_WARNING, "disk",
        "%.*s adds a second disk: the root device of image %.*s is %.*s and stays unchanged%.*s",
        STR_ARG(type->disks[at].device), STR_ARG(image->id), STR_ARG(image->root_device),
        STR_ARG(size));
    other->path = disk_path(judge, type, at, "DeviceName");
    other->remedy = arena_printf(judge->arena, "DeviceName: %.*s", STR_ARG(image->root_device));
}

static void judge_type(struct judge *judge, const struct requested_type *type,
                       const struct ec2_image *image)
{
    size_t wrong_name = SIZE_MAX;
    bool has_root = false;
    for (size_t i = 0; i < type->disk_count; i++) {
        const struct requested_disk *disk = &type->disks[i];
        if (str_eq(disk->device, image->root_device)) {
            has_root = true;
            if (disk->gib > 0 && disk->gib < image->root_gib) {
                refuse_size(judge, type, i, image);
            }
        } else if (is_root_name(disk->device)) {
            wrong_name = i;
        }
    }
    if (!has_root && wrong_name < type->disk_count) {
        warn_of_name(judge, type, wrong_name, image);
    }
}

/* ---- what the disks cost ---- */

static void preflight_disk_count(struct buf *out, bool *is_known, struct str kind, int64_t gib)
{
    *is_known = *is_known && gib > 0;
    buf_addf(out, "%.*s %lld ", STR_ARG(kind.len > 0 ? kind : STR("gp2")), (long long)gib);
}

/* The disks of an instance and its public address (provider_type_facts); empty if the image or what
 * a disk costs is unknown. */
static struct str preflight_disk_list(struct judge *judge, size_t at, const struct ec2_image *image)
{
    enum { TEXT_BYTES_MAX = 4096 };
    const struct requested_type *type = &judge->request->types[at];
    const struct aws_type_facts *facts = &judge->facts.types[at];
    bool is_known = !type->is_blind;
    bool has_root = facts->root_gib > 0;
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    for (size_t i = 0; i < type->disk_count; i++) {
        const struct requested_disk *disk = &type->disks[i];
        bool is_root = str_eq(disk->device, image->root_device);
        has_root = has_root || is_root;
        is_known = is_known && !disk->is_extra;
        if (!disk->is_free) {
            preflight_disk_count(&out, &is_known,
                                 disk->kind.len == 0 && is_root ? image->root_kind : disk->kind,
                                 disk->gib == 0 && is_root ? image->root_gib : disk->gib);
        }
    }
    if (facts->root_gib > 0) {
        preflight_disk_count(&out, &is_known, STR("gp3"), facts->root_gib);
    } else if (!has_root) {
        preflight_disk_count(&out, &is_known, image->root_kind, image->root_gib);
    }
    bool is_public = type->asks_public ||
                     (facts->subnet_count > 0 && facts->subnets[0].maps_public);
    buf_addf(&out, "%.*sipv4 %d", STR_ARG(image->disks), is_public);
    return is_known ? arena_str(judge->arena, buf_str(&out)) : STR("");
}

void judge_disks(struct judge *judge)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        struct str id = judge->facts.types[i].image;
        const struct ec2_image *image = image_find(&judge->answers->images, id);
        image = image ? image : image_find(&judge->answers->new_images, id);
        if (id.len > 0 && image && image->root_device.len > 0) {
            judge_type(judge, &judge->request->types[i], image);
            judge->facts.types[i].disks = preflight_disk_list(judge, i, image);
        }
    }
}

/* ---- keys ---- */

static void preflight_disk_add_key(struct judge *judge, struct str *keys, struct str key)
{
    for (size_t i = 0; i < judge->facts.disk_key_count; i++) {
        if (str_eq(keys[i], key)) {
            return;
        }
    }
    if (key.len > 0 && !str_ends(key, "alias/aws/ebs")) {
        keys[judge->facts.disk_key_count++] = key;
    }
}

/* Of a customer: who launches an instance needs rights to it. */
void judge_disk_keys(struct judge *judge)
{
    const struct preflight_answers *answers = judge->answers;
    size_t most = 1;
    bool is_encrypted = answers->encrypts;
    for (size_t i = 0; i < judge->request->type_count; i++) {
        most += judge->request->types[i].disk_count;
    }
    struct str *keys = ARENA_ARRAY(judge->arena, most, struct str);
    for (size_t i = 0; i < judge->request->type_count; i++) {
        const struct requested_type *type = &judge->request->types[i];
        for (size_t k = 0; k < type->disk_count; k++) {
            preflight_disk_add_key(judge, keys, type->disks[k].key);
            is_encrypted = is_encrypted || type->disks[k].is_encrypted;
        }
    }
    preflight_disk_add_key(judge, keys, is_encrypted ? answers->disk_key : STR(""));
    judge->facts.disk_keys = keys;
}
