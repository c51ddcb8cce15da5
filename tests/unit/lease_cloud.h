/*
 * lease_cloud.h: the part of EC2 that a lease needs, behind script_server.h: one launch template
 * with its versions and tags, instances, and a clock of its own in the Date of every reply.
 */
#pragma once

#include "aws_scene.h"
#include "provider/aws/aws_provider.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

enum { VERSIONS_MAX = 64, XML_MAX = 65536 };

struct lease_cloud {
    char uid[40]; /* of the template; empty: none */
    char versions[VERSIONS_MAX][300];
    unsigned version_count;
    char lease_tag[100];
    const char *instances; /* items of an instancesSet */
    char log[8192];        /* the actions, a word each */
    int64_t clock_shift_ms;
    /* ---- what a test can set ---- */
    const char *late_action; /* AWS's clock and ours move by late_ms before it is answered */
    int64_t late_ms;
    int late_skips;             /* how many calls of late_action are answered in time first */
    const char *rival;          /* a claim that gets the next number before ours, once */
    const char *denied;         /* this action is not allowed */
    struct scene *scene;        /* its clock is moved, too */
    int64_t launched_before_ms; /* how long ago the instances of a launch were created */
    bool is_suspended_only;     /* the scene's clock moves, AWS's does not */
    char reply[XML_MAX];
    char headers[200];
};

static void percent_decode(const char *from, char *to, size_t size)
{
    size_t at = 0;
    for (; *from && *from != '&' && at + 1 < size; from++) {
        if (*from == '%') {
            char hex[3] = {from[1], from[2], '\0'};
            to[at++] = (char)strtol(hex, NULL, 16);
            from += 2;
        } else {
            to[at++] = *from;
        }
    }
    to[at] = '\0';
}

/* The value of a field of the body; empty if it is missing. */
static void body_field(const char *body, const char *name, char *ret_value, size_t size)
{
    char key[100];
    ret_value[0] = '\0';
    snprintf(key, sizeof(key), "&%s=", name);
    const char *found = strstr(body, key);
    if (found) {
        percent_decode(found + strlen(key), ret_value, size);
    }
}

PRINTF_LIKE(2, 3) static void say(struct lease_cloud *cloud, const char *fmt, ...)
{
    size_t len = strlen(cloud->reply);
    va_list args;
    va_start(args, fmt);
    vsnprintf(cloud->reply + len, sizeof(cloud->reply) - len, fmt, args);
    va_end(args);
}

static void say_template(struct lease_cloud *cloud)
{
    say(cloud,
        "<launchTemplateId>lt-1</launchTemplateId>"
        "<launchTemplateName>shoal-anchor-demo</launchTemplateName>"
        "<createdBy>arn:aws:iam::123456789012:user/me</createdBy>"
        "<defaultVersionNumber>1</defaultVersionNumber>"
        "<latestVersionNumber>%u</latestVersionNumber>"
        "<tagSet><item><key>shoal-cluster-uid</key><value>%s</value></item></tagSet>",
        cloud->version_count, cloud->uid);
}

static void add_version(struct lease_cloud *cloud, const char *description)
{
    snprintf(cloud->versions[cloud->version_count++], sizeof(cloud->versions[0]), "%s",
             description);
}

static bool create_template(struct lease_cloud *cloud, const char *body)
{
    char description[300];
    if (cloud->uid[0] != '\0') {
        return false;
    }
    cloud->version_count = 0;
    body_field(body, "VersionDescription", description, sizeof(description));
    body_field(body, "TagSpecification.1.Tag.1.Value", cloud->uid, sizeof(cloud->uid));
    add_version(cloud, description);
    say_template(cloud);
    return true;
}

static void create_version(struct lease_cloud *cloud, const char *body)
{
    char description[300];
    if (cloud->rival) {
        add_version(cloud, cloud->rival);
        cloud->rival = NULL;
    }
    body_field(body, "VersionDescription", description, sizeof(description));
    add_version(cloud, description);
    say(cloud, "<launchTemplateVersion><versionNumber>%u</versionNumber></launchTemplateVersion>",
        cloud->version_count);
}

static void say_versions(struct lease_cloud *cloud, const char *body)
{
    char first[20];
    body_field(body, "MinVersion", first, sizeof(first));
    say(cloud, "<launchTemplateVersionSet>");
    for (unsigned i = (unsigned)strtoul(first, NULL, 10); i <= cloud->version_count; i++) {
        say(cloud,
            "<item><versionNumber>%u</versionNumber>"
            "<versionDescription>%s</versionDescription></item>",
            i, cloud->versions[i - 1]);
    }
    say(cloud, "</launchTemplateVersionSet>");
}

static void say_instances(struct lease_cloud *cloud)
{
    say(cloud, "<reservationSet><item><instancesSet>%s</instancesSet></item></reservationSet>",
        cloud->instances ? cloud->instances : "");
}

static int64_t cloud_now_ms(const struct lease_cloud *cloud)
{
    return clock_wall_ms(&clock_of_machine) + cloud->clock_shift_ms;
}

static void say_launched(struct lease_cloud *cloud)
{
    AUTO_BUF struct buf when;
    buf_init(&when, 100);
    clock_add_utc(&when, cloud_now_ms(cloud) - cloud->launched_before_ms);
    say(cloud,
        "<instancesSet><item><instanceId>i-new</instanceId><instanceState><name>pending</name>"
        "</instanceState><instanceType>m5.large</instanceType><launchTime>%.*s</launchTime></item>"
        "</instancesSet>",
        STR_ARG(buf_str(&when)));
}

static void pass_time(struct lease_cloud *cloud, const char *action)
{
    if (cloud->late_action && strcmp(cloud->late_action, action) == 0 && cloud->late_skips-- == 0) {
        cloud->late_action = NULL;
        cloud->clock_shift_ms += cloud->is_suspended_only ? 0 : cloud->late_ms;
        cloud->scene->monotonic_shift_ms += cloud->late_ms;
    }
}

static bool act(struct lease_cloud *cloud, const char *action, const char *body)
{
    if (strcmp(action, "DescribeLaunchTemplates") == 0) {
        say(cloud, "<launchTemplates>");
        if (cloud->uid[0] != '\0') {
            say(cloud, "<item>");
            say_template(cloud);
            say(cloud, "</item>");
        }
        say(cloud, "</launchTemplates>");
    } else if (strcmp(action, "CreateLaunchTemplate") == 0) {
        say(cloud, "<launchTemplate>");
        if (!create_template(cloud, body)) {
            return false;
        }
        say(cloud, "</launchTemplate>");
    } else if (strcmp(action, "CreateLaunchTemplateVersion") == 0) {
        create_version(cloud, body);
    } else if (strcmp(action, "DescribeLaunchTemplateVersions") == 0) {
        say_versions(cloud, body);
    } else if (strcmp(action, "CreateTags") == 0) {
        body_field(body, "Tag.1.Value", cloud->lease_tag, sizeof(cloud->lease_tag));
    } else if (strcmp(action, "DescribeTags") == 0) {
        say(cloud, "<tagSet><item><key>shoal-lease-until</key><value>%s</value></item></tagSet>",
            cloud->lease_tag);
    } else if (strcmp(action, "DescribeInstances") == 0) {
        say_instances(cloud);
    } else if (strcmp(action, "RunInstances") == 0) {
        say_launched(cloud);
    }
    return true;
}

static struct script_answer lease_answer(void *context, const struct script_request *request)
{
    struct lease_cloud *cloud = context;
    char action[100] = "";
    AUTO_BUF struct buf body;
    buf_init(&body, 1 << 20);
    buf_addf(&body, "&%s", request->body);
    body_field(body.ptr, "Action", action, sizeof(action));
    snprintf(cloud->log + strlen(cloud->log), sizeof(cloud->log) - strlen(cloud->log), "%s ",
             action);
    pass_time(cloud, action);
    cloud->reply[0] = '\0';
    say(cloud, "<%sResponse>", action);
    bool is_denied = cloud->denied && strcmp(cloud->denied, action) == 0;
    bool ok = !is_denied && act(cloud, action, body.ptr);
    say(cloud, "</%sResponse>", action);
    time_t now = (time_t)(cloud_now_ms(cloud) / 1000);
    struct tm parts;
    strftime(cloud->headers, sizeof(cloud->headers), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n",
             gmtime_r(&now, &parts));
    if (is_denied) {
        return (struct script_answer){.status = 403,
                                      .headers = cloud->headers,
                                      .body = SCENE_REFUSAL("UnauthorizedOperation", "no")};
    }
    if (!ok) {
        return (struct script_answer){
            .status = 400,
            .headers = cloud->headers,
            .body = SCENE_REFUSAL("InvalidLaunchTemplateName.AlreadyExistsException", "there")};
    }
    return (struct script_answer){.body = cloud->reply, .headers = cloud->headers};
}
