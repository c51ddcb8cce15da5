/* preflight_disk.c: compares the root volume in the file with the one of the image. */
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

void judge_disks(struct judge *judge)
{
    for (size_t i = 0; i < judge->request->type_count; i++) {
        struct str id = judge->facts.types[i].image;
        const struct ec2_image *image = image_find(&judge->answers->images, id);
        image = image ? image : image_find(&judge->answers->new_images, id);
        if (id.len > 0 && image && image->root_device.len > 0) {
            judge_type(judge, &judge->request->types[i], image);
        }
    }
}
