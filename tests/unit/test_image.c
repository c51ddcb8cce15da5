/* test_image.c: the image for each instance type; and instance types that do not exist. */
#include "provider/aws/preflight/image.h"

#include "base/attr.h"
#include "provider/aws/preflight/instance_type.h"
#include "unit.h"

#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }
#define RAYS "ami-0a2b85e15b7c0ac34" /* in us-west-2 */

static struct ec2_image items[] = {
    {.id = TEXT("ami-x86"), .state = TEXT("available"), .arch = TEXT("x86_64")},
    {.id = TEXT("ami-arm"), .state = TEXT("available"), .arch = TEXT("arm64")},
    {.id = TEXT("ami-new"), .state = TEXT("pending"), .arch = TEXT("x86_64")},
    {.id = TEXT("ami-win"), .state = TEXT("available"), .arch = TEXT("x86_64"), .is_windows = true},
    {.id = TEXT(RAYS), .state = TEXT("available"), .arch = TEXT("x86_64")},
};
static const struct ec2_images with_rays = {items, 5};
static const struct ec2_images without_rays = {items, 4};
static const struct ec2_type m5 = {.name = TEXT("m5.large"), .archs = {TEXT("x86_64")}};
static const struct ec2_type m6g = {.name = TEXT("m6g.large"), .archs = {TEXT("arm64")}};
static const struct ec2_type t2 = {.name = TEXT("t2.micro"),
                                   .archs = {TEXT("i386"), TEXT("x86_64")}};
static const struct ec2_type odd = {.name = TEXT("odd.one")};

static void check(const char *named, const struct ec2_type *type, const struct ec2_images *images,
                  enum image_verdict verdict, const char *image)
{
    struct image_choice choice = image_choose(str_from(named), STR("us-west-2"), type, images);
    assert_int_equal(choice.verdict, verdict);
    assert_str(choice.image ? choice.image->id : STR(""), image);
}

static void the_files_own(void **state)
{
    (void)state;
    check("ami-x86", &m5, &with_rays, IMAGE_FINE, "ami-x86");
    check("ami-arm", &m6g, &with_rays, IMAGE_FINE, "ami-arm");
    check("ami-x86", &t2, &with_rays, IMAGE_FINE, "ami-x86");
    check("ami-gone", &m5, &with_rays, IMAGE_MISSING, "");
    check("ami-new", &m5, &with_rays, IMAGE_NOT_READY, "ami-new");
    check("ami-win", &m5, &with_rays, IMAGE_WINDOWS, "ami-win");
    check("ami-x86", &m6g, &with_rays, IMAGE_WRONG_ARCH, "ami-x86");
    check("ami-arm", &m5, &with_rays, IMAGE_WRONG_ARCH, "ami-arm");
    check("ami-arm", NULL, &with_rays, IMAGE_FINE, "ami-arm");
    check("ami-arm", &odd, &with_rays, IMAGE_FINE, "ami-arm");
}

static void rays_default(void **state)
{
    (void)state;
    check("", &m5, &with_rays, IMAGE_NONE, "");
    check("Latest_DLAMI", &m5, &with_rays, IMAGE_FINE, RAYS);
    check("latest_dlami", &m6g, &with_rays, IMAGE_NONE, "");
    check("latest_dlami", &m5, &without_rays, IMAGE_NONE, "");
    struct image_choice other = image_choose(STR("latest_dlami"), STR("eu-south-1"), &m5,
                                             &with_rays);
    assert_int_equal(other.verdict, IMAGE_NONE);
    assert_str(image_ray_default(STR("us-west-2")), RAYS);
    assert_str(image_ray_default(STR("eu-south-1")), "");
    assert_false(image_is_named(STR("latest_dlami")));
    assert_true(image_is_named(STR("latest_dlam1")));
    assert_false(image_is_named(STR("resolve:ssm:/my/image")));
    assert_str(image_of_parameter(STR("resolve:ssm:/my/image:3")), "/my/image:3");
    assert_str(image_of_parameter(STR("ami-1")), "");
}

static void where_the_newest_is_announced(void **state)
{
    struct arena arena;
    struct image_parameter parameter;
    (void)state;
    arena_init(&arena);
    assert_true(image_parameter_for(STR("x86_64"), false, &arena, &parameter));
    assert_str(
        parameter.name,
        "/aws/service/canonical/ubuntu/server/22.04/stable/current/amd64/hvm/ebs-gp2/ami-id");
    assert_str(parameter.words, "newest Ubuntu 22.04 x86_64");
    assert_true(image_parameter_for(STR("arm64"), true, &arena, &parameter));
    assert_like(parameter.name, "/aws/service/deeplearning/ami/arm64/*-ubuntu-22.04/latest/ami-id");
    assert_false(image_parameter_for(STR("x86_64_mac"), false, &arena, &parameter));
    assert_false(image_parameter_for(STR(""), false, &arena, &parameter));
    arena_clear(&arena);
}

static void machines_have_architectures(void **state)
{
    (void)state;
    assert_str(instance_type_arch(&t2), "x86_64");
    assert_str(instance_type_arch(&m6g), "arm64");
    assert_str(instance_type_arch(&odd), "");
    assert_false(instance_type_runs(&odd, STR("")));
}

static void misspelt_machines(void **state)
{
    static struct ec2_offering offerings[] = {{TEXT("m5.large"), TEXT("us-west-2")},
                                              {TEXT("m5.xlarge"), TEXT("us-west-2")},
                                              {TEXT("p4d.24xlarge"), TEXT("us-west-2")},
                                              {TEXT("p4d.24xlarge"), TEXT("us-west-2")}};
    static const struct ec2_offerings offered = {offerings, ARRAY_LEN(offerings)};
    struct arena arena;
    (void)state;
    arena_init(&arena);
    assert_str(instance_type_hint(STR("m5.larg"), &offered, &arena),
               "the closest match in this region is m5.large");
    assert_str(instance_type_hint(STR("m5.metal"), &offered, &arena),
               "the region has m5.large, m5.xlarge");
    assert_str(instance_type_hint(STR("p4d.2xlarge"), &offered, &arena),
               "the closest match in this region is p4d.24xlarge");
    assert_str(instance_type_hint(STR("nothing.like"), &offered, &arena), "");
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_files_own),
        cmocka_unit_test(rays_default),
        cmocka_unit_test(where_the_newest_is_announced),
        cmocka_unit_test(machines_have_architectures),
        cmocka_unit_test(misspelt_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
