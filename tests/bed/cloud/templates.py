"""Launch templates as in AWS: unique names, version numbers without gaps or reuse, pages.

moto stores and prints them; the rules and the paging are ours. A deleted version stays in moto's
list with a mark, so that its number is never used again.
"""

import itertools
import re
import time

from .launch import check_tags, check_token, remember, replay
from .paging import check_dry_run, page_size, position_of, token_for
from .wire import Refusal, ec2_reply, error_of, parse, put, xml_reply

NAME = re.compile(r"[a-zA-Z0-9().\-/_]{3,128}")
DESCRIPTION_MAX = 255
VERSIONS_MAX = 10000
PAGE_MAX = 200
DELETES_MAX = 200


# ---- finding ----


def find(cloud, call, prefix=""):
    """The template that a request names, by id or by name."""
    ident, name = call.get(prefix + "LaunchTemplateId"), call.get(prefix + "LaunchTemplateName")
    if ident and name:
        raise Refusal("InvalidParameterCombination", "Both launch template ID and name were given.")
    if not ident and not name:
        raise Refusal("MissingParameter", "The request must contain the parameter launch template "
                                          "ID or launch template name")
    return by_id(cloud, call.region, ident) if ident else by_name(cloud, call.region, name)


def by_id(cloud, region, ident):
    if not re.fullmatch(r"lt-[0-9a-f]{17}", ident):
        raise Refusal("InvalidLaunchTemplateId.Malformed", f"Invalid id: \"{ident}\"")
    found = cloud.moto.backend(region).launch_templates.get(ident)
    if found is None:
        raise Refusal("InvalidLaunchTemplateId.NotFound", "The specified launch template, with "
                      f"template ID {ident}, does not exist.")
    return found


def by_name(cloud, region, name):
    backend = cloud.moto.backend(region)
    found = backend.launch_templates.get(backend.launch_template_name_to_ids.get(name))
    if found is None:
        raise Refusal("InvalidLaunchTemplateName.NotFoundException", "The specified launch "
                      f"template, with template name {name}, does not exist.")
    return found


def versions_of(template):
    """Versions that were not deleted, oldest first."""
    return [v for v in template.versions if not getattr(v, "is_deleted", False)]


def version(template, text):
    """The version that "3", "$Latest" or "$Default" means."""
    have = versions_of(template)
    if text in (None, "", "$Default"):
        return next(v for v in have if v.number == template.default_version_number)
    if text == "$Latest":
        return have[-1]
    found = next((v for v in have if str(v.number) == text), None)
    if found is None:
        raise Refusal("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified "
                      f"version {text} for the launch template with ID {template.id}.")
    return found


# ---- making ----


def check_data(call):
    if not any(name.startswith("LaunchTemplateData.") for name in call.params):
        raise Refusal("MissingParameter", "The request must contain the parameter "
                                          "LaunchTemplateData")
    if len(call.get("VersionDescription", "")) > DESCRIPTION_MAX:
        raise Refusal("InvalidParameterValue", "The version description is longer than "
                                               f"{DESCRIPTION_MAX} characters.")


def check_template_tags(call):
    for item in call.items("TagSpecification"):
        if item.get("ResourceType") != "launch-template":
            raise Refusal("InvalidParameterValue", f"'{item.get('ResourceType')}' is not a valid "
                          "taggable resource type for this operation.")
        check_tags([(value, item.get(name[:-3] + "Value", "")) for name, value in item.items()
                    if re.fullmatch(r"Tag\.\d+\.Key", name)])


def once(cloud, call, work):
    """One effect per token, also for two calls at the same time."""
    check_token(call.get("ClientToken"))
    with cloud.launching:
        before = replay(cloud, call, "")
        if before is not None:
            return before
        check_dry_run(call)
        reply = work()
        if reply.status == 200:
            remember(cloud, call, "", reply)
    return reply


def create_template(cloud, call):
    name = call.get("LaunchTemplateName", "")
    if not NAME.fullmatch(name):
        raise Refusal("InvalidLaunchTemplateName.MalformedException",
                      f"Invalid launch template name: '{name}'. A name has 3 to 128 characters: "
                      "letters, digits and ( ) . / _ -")
    check_data(call)
    check_template_tags(call)

    def work():
        reply = cloud.pass_on(call)
        if reply.status == 200:
            # moto adds the template's own tags to those of its instances.
            made = by_name(cloud, call.region, name)
            data = made.versions[0].data
            kept = [spec for spec in data.get("TagSpecifications", [])
                    if spec.get("ResourceType") != "launch-template"]
            data.pop("TagSpecifications", None)
            if kept:
                data["TagSpecifications"] = kept
            made.created_by = call.identity.arn
            answer = parse(reply.body)
            put(answer.find("launchTemplate"), "createdBy", made.created_by)
            return xml_reply(answer)
        return reply

    return once(cloud, call, work)


def create_version(cloud, call):
    check_data(call)

    def work():
        template = find(cloud, call)
        source = call.get("SourceVersion")
        below = version(template, source).data if source else {}
        if len(versions_of(template)) >= VERSIONS_MAX:
            raise Refusal("VersionLimitExceeded", "You have reached the maximum number of versions "
                                                  "for the launch template.")
        reply = cloud.pass_on(call)
        if reply.status == 200:
            template.versions[-1].born = time.monotonic()
        if reply.status == 200 and below:
            made = template.versions[-1]
            made.data = {**below, **made.data}
            root = described(cloud, call.region, template, [made])
            answer = parse(ec2_reply(call.action, {"launchTemplateVersion": ""}).body)
            answer.find("launchTemplateVersion").extend(list(root[0]))
            return xml_reply(answer)
        return reply

    return once(cloud, call, work)


# ---- listing ----


def shown(cloud, template):
    """Versions without those that are not visible yet."""
    before = time.monotonic() - cloud.tunables.version_lag
    return [v for v in versions_of(template) if getattr(v, "born", float("-inf")) <= before]


def described(cloud, region, template, versions):
    """moto's <item>s of these versions, in this order."""
    params = {f"LaunchTemplateVersion.{n}": str(v.number) for n, v in enumerate(versions, 1)}
    status, body = cloud.moto.ec2(region, {
        "Action": "DescribeLaunchTemplateVersions", "LaunchTemplateId": template.id,
        "MaxResults": str(PAGE_MAX), **params})
    if status != 200:
        raise Refusal(*error_of(body), status)
    return parse(body).findall("launchTemplateVersionSet/item")


def wanted_versions(cloud, call):
    """[(template, version)], the newest first."""
    asked = call.list("LaunchTemplateVersion")
    if not call.get("LaunchTemplateId") and not call.get("LaunchTemplateName"):
        if not asked or set(asked) - {"$Latest", "$Default"}:
            raise Refusal("MissingParameter", "The request must contain the parameter launch "
                                              "template ID or launch template name")
        return [(t, version(t, text)) for t in
                cloud.moto.backend(call.region).launch_templates.values() for text in asked]
    template = find(cloud, call)
    if asked:
        found = {version(template, text).number: version(template, text) for text in asked}
    else:
        low, high = int(call.get("MinVersion") or 1), int(call.get("MaxVersion") or VERSIONS_MAX)
        found = {v.number: v for v in shown(cloud, template) if low <= v.number <= high}
    return [(template, found[number]) for number in sorted(found, reverse=True)]


def describe_versions(cloud, call):
    limit, start = page_size(call, cloud, low=1, high=PAGE_MAX), position_of(call) or 0
    check_dry_run(call)
    with cloud.launching:
        rows = wanted_versions(cloud, call)
        reply = parse(ec2_reply(call.action, {"launchTemplateVersionSet": []}).body)
        for template, group in itertools.groupby(rows[start:start + limit], lambda row: row[0]):
            reply.find("launchTemplateVersionSet").extend(
                described(cloud, call.region, template, [one for _, one in group]))
    if start + limit < len(rows):
        put(reply, "nextToken", token_for(call, start + limit))
    return xml_reply(reply)


def describe_templates(cloud, call):
    limit, start = page_size(call, cloud, low=1, high=PAGE_MAX), position_of(call) or 0
    check_dry_run(call)
    with cloud.launching:
        chosen = {by_id(cloud, call.region, ident).id for ident in call.list("LaunchTemplateId")}
        chosen |= {by_name(cloud, call.region, n).id for n in call.list("LaunchTemplateName")}
        rows = [t for t in cloud.moto.templates(call.region, call.filters())
                if not chosen or t.id in chosen]
        page = rows[start:start + limit]
        reply = parse(ec2_reply(call.action, {"launchTemplates": []}).body)
        if page:
            status, body = cloud.moto.ec2(call.region, {
                "Action": call.action, "MaxResults": str(PAGE_MAX),
                **{f"LaunchTemplateId.{n}": t.id for n, t in enumerate(page, 1)}})
            if status != 200:
                raise Refusal(*error_of(body), status)
            for item, template in zip(parse(body).findall("launchTemplates/item"), page,
                                      strict=True):
                put(item, "latestVersionNumber", shown(cloud, template)[-1].number)
                put(item, "createdBy", getattr(template, "created_by", None))
                tags = cloud.moto.tags_of(call.region, template.id)  # moto shows the first ones
                put(item, "tagSet", [{"key": k, "value": v} for k, v in tags.items()])
                reply.find("launchTemplates").append(item)
    if start + limit < len(rows):
        put(reply, "nextToken", token_for(call, start + limit))
    return xml_reply(reply)


# ---- deleting ----


def delete_template(cloud, call):
    with cloud.launching:
        find(cloud, call)
        check_dry_run(call)
        return cloud.pass_on(call)


def delete_versions(cloud, call):
    """One result per version: the default version stays, and unknown numbers are errors."""
    numbers = call.list("LaunchTemplateVersion")
    if not 1 <= len(numbers) <= DELETES_MAX:
        raise Refusal("InvalidParameterValue", f"Give 1 to {DELETES_MAX} versions.")
    with cloud.launching:
        template = find(cloud, call)
        check_dry_run(call)
        done, refused = [], []
        for number in numbers:
            row = {"launchTemplateId": template.id, "launchTemplateName": template.name,
                   "versionNumber": number}
            found = next((v for v in versions_of(template) if str(v.number) == number), None)
            if found is None or found.number == template.default_version_number:
                code = "launchTemplateVersionDoesNotExist" if found is None else \
                    "unexpectedError"
                refused.append({**row, "responseError": {"code": code, "message": "no such version"
                                if found is None else "The default version stays."}})
            else:
                found.is_deleted = True
                done.append(row)
    return ec2_reply(call.action, {"successfullyDeletedLaunchTemplateVersionSet": done,
                                   "unsuccessfullyDeletedLaunchTemplateVersionSet": refused})
