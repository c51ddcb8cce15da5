/* image.c: chooses the file's image, Ray's if the file says so, or the newest. */
#include "provider/aws/preflight/image.h"

#include "base/attr.h"
#include "provider/aws/preflight/instance_type.h"

static const struct {
    const char *region, *image;
} ray_images[] = {
#define RAY_IMAGE(region, image) {region, image},
#include "provider/aws/preflight/ray_images.def"
#undef RAY_IMAGE
};

/* Ray compares in lower case. */
bool image_is_ray_default(struct str image)
{
    static const char name[] = "latest_dlami";
    bool is_it = image.len == sizeof(name) - 1;
    for (size_t i = 0; is_it && i < image.len; i++) {
        char c = image.ptr[i];
        is_it = (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == name[i];
    }
    return is_it;
}

bool image_is_named(struct str image)
{
    return image.len > 0 && !image_is_ray_default(image) && image_of_parameter(image).len == 0;
}

struct str image_of_parameter(struct str image)
{
    static const char resolve[] = "resolve:ssm:";
    return str_starts(image, resolve) ? str_sub(image, sizeof(resolve) - 1, image.len) : STR("");
}

struct str image_ray_default(struct str region)
{
    for (size_t i = 0; i < ARRAY_LEN(ray_images); i++) {
        if (str_is(region, ray_images[i].region)) {
            return str_from(ray_images[i].image);
        }
    }
    return STR("");
}

/* For GPUs, an image with their driver. Always Ubuntu, whose user Ray's files expect. */
bool image_parameter_for(struct str arch, bool has_gpus, struct arena *arena,
                         struct image_parameter *ret_parameter)
{
    bool is_arm = str_is(arch, "arm64");
    if (!is_arm && !str_is(arch, "x86_64")) {
        return false;
    }
    if (has_gpus) {
        ret_parameter->name = arena_printf(arena,
                                           "/aws/service/deeplearning/ami/%.*s/base-oss-nvidia-"
                                           "driver-gpu-ubuntu-22.04/latest/ami-id",
                                           STR_ARG(arch));
        ret_parameter->words = arena_printf(arena, "newest Ubuntu 22.04 with NVIDIA's driver, %.*s",
                                            STR_ARG(arch));
        return true;
    }
    ret_parameter->name = arena_printf(arena,
                                       "/aws/service/canonical/ubuntu/server/22.04/stable/current/"
                                       "%s/hvm/ebs-gp2/ami-id",
                                       is_arm ? "arm64" : "amd64");
    ret_parameter->words = arena_printf(arena, "newest Ubuntu 22.04 %.*s", STR_ARG(arch));
    return true;
}

const struct ec2_image *image_find(const struct ec2_images *images, struct str id)
{
    for (size_t i = 0; i < images->count; i++) {
        if (str_eq(images->items[i].id, id)) {
            return &images->items[i];
        }
    }
    return NULL;
}

static enum image_verdict image_evaluate(const struct ec2_image *image, const struct ec2_type *type)
{
    if (!str_is(image->state, "available")) {
        return IMAGE_NOT_READY;
    }
    if (image->is_windows) {
        return IMAGE_WINDOWS;
    }
    bool is_known = type && instance_type_arch(type).len > 0 && image->arch.len > 0;
    return is_known && !instance_type_runs(type, image->arch) ? IMAGE_WRONG_ARCH : IMAGE_FINE;
}

struct image_choice image_choose(struct str named, struct str region, const struct ec2_type *type,
                                 const struct ec2_images *images)
{
    bool is_ray_default = image_is_ray_default(named);
    const struct ec2_image *image = named.len == 0
                                        ? NULL
                                        : image_find(images, is_ray_default
                                                                 ? image_ray_default(region)
                                                                 : named);
    if (!image) {
        return (struct image_choice){image_is_named(named) ? IMAGE_MISSING : IMAGE_NONE, NULL,
                                     is_ray_default};
    }
    struct image_choice choice = {image_evaluate(image, type), image, is_ray_default};
    if (is_ray_default && choice.verdict != IMAGE_FINE) {
        return (struct image_choice){IMAGE_NONE, NULL, true};
    }
    return choice;
}
