/*
 * image.h: chooses the image of a node type. Pure.
 *
 * The one in the file; otherwise Ray's default, if it still exists and fits the instance type;
 * otherwise the newest one in a public SSM parameter of its publisher.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/preflight/ec2_reply.h"

#include <stdbool.h>

/* False for empty and "latest_dlami", which mean Ray's default. */
bool image_is_named(struct str image);

/* Ray's default image of the region; empty if Ray has none. */
struct str image_ray_default(struct str region);

/* The SSM parameter of the newest image, and its description. */
struct image_parameter {
    struct str name;  /* "/aws/service/..." */
    struct str words; /* "newest Ubuntu 22.04 x86_64" */
};

/* False for an architecture without a parameter. */
bool image_parameter_for(struct str arch, bool has_gpus, struct arena *arena,
                         struct image_parameter *ret_parameter);

enum image_verdict {
    IMAGE_FINE,
    IMAGE_MISSING,    /* named in the file, but does not exist */
    IMAGE_NOT_READY,  /* the image's state is not "available" */
    IMAGE_WINDOWS,    /* Windows is not supported by Ray's launcher */
    IMAGE_WRONG_ARCH, /* does not run on the instance type */
    IMAGE_NONE,       /* neither the file nor Ray has one that fits: use the parameter */
};

struct image_choice {
    enum image_verdict verdict;
    const struct ec2_image *image; /* the evaluated image; NULL for IMAGE_MISSING and IMAGE_NONE */
    bool is_ray_scaling;
};

/* `type` may be NULL: the architecture is not checked then. */
struct image_choice image_choose(struct str named, struct str region, const struct ec2_type *type,
                                 const struct ec2_images *images);

/* NULL if the listing does not have it. */
const struct ec2_image *image_find(const struct ec2_images *images, struct str id);
