/*
 * image.h: chooses the image of a node type. Pure.
 *
 * The one in the file; otherwise the newest one in a public SSM parameter of its publisher. Ray's
 * default is Ubuntu 18.04 with Python 3.6 and is used only if the file says "latest_dlami" and it
 * still exists and fits the instance type.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "provider/aws/preflight/ec2_reply.h"

#include <stdbool.h>

/* False for empty, for "latest_dlami", Ray's name for its default, and for "resolve:ssm:NAME". */
bool image_is_named(struct str image);
/* The parameter of "resolve:ssm:NAME", which EC2 resolves at a launch; otherwise empty. */
struct str image_of_parameter(struct str image);
bool image_is_ray_default(struct str image);

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
    IMAGE_NONE,       /* none is named, or Ray's does not fit: use the parameter */
};

struct image_choice {
    enum image_verdict verdict;
    const struct ec2_image *image; /* the evaluated image; NULL for IMAGE_MISSING and IMAGE_NONE */
    bool is_ray_default;
};

/* `type` may be NULL: the architecture is not checked then. */
struct image_choice image_choose(struct str named, struct str region, const struct ec2_type *type,
                                 const struct ec2_images *images);

/* NULL if the listing does not have it. */
const struct ec2_image *image_find(const struct ec2_images *images, struct str id);
