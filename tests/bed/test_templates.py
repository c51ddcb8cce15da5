"""Launch templates as lease objects: unique names, increasing versions, tokens. No machines."""

import concurrent.futures

import pytest
from conftest import BASE, listing, refused

DATA = {"UserData": "YW5jaG9y"}
NAME = "cluster/anchor-1"


@pytest.fixture
def anchor(paper, ec2):
    return ec2.create_launch_template(LaunchTemplateName=NAME, LaunchTemplateData=DATA)[
        "LaunchTemplate"]


def add(ec2, **more):
    more = {"LaunchTemplateName": NAME, "LaunchTemplateData": DATA, **more}
    return ec2.create_launch_template_version(**more)["LaunchTemplateVersion"]["VersionNumber"]


def numbers(ec2, **more):
    pages = ec2.get_paginator("describe_launch_template_versions").paginate(
        LaunchTemplateName=NAME, **more)
    return [v["VersionNumber"] for page in pages for v in page["LaunchTemplateVersions"]]


# ---- names ----


def test_a_name_is_taken_once(anchor, ec2):
    with refused("InvalidLaunchTemplateName.AlreadyExistsException"):
        ec2.create_launch_template(LaunchTemplateName=NAME, LaunchTemplateData=DATA)
    assert numbers(ec2) == [1]


def test_of_many_at_once_one_gets_the_name(paper, aws):
    def take(_):
        client = aws("ec2")
        try:
            return client.create_launch_template(LaunchTemplateName=NAME, LaunchTemplateData=DATA)
        except client.exceptions.ClientError as error:
            return error.response["Error"]["Code"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        told = list(pool.map(take, range(8)))
    assert told.count("InvalidLaunchTemplateName.AlreadyExistsException") == 7


@pytest.mark.parametrize("name", ["ab", "a" * 129, "with blank", "a:b"])
def test_names_are_checked(paper, ec2, name):
    with refused("InvalidLaunchTemplateName.MalformedException"):
        ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=DATA)


def test_empty_data_is_refused(anchor, ec2):
    with refused("MissingParameter"):
        ec2.create_launch_template(LaunchTemplateName="other", LaunchTemplateData={})
    with refused("MissingParameter"):
        add(ec2, LaunchTemplateData={})


def test_a_name_is_free_again_after_the_end(anchor, ec2):
    ec2.delete_launch_template(LaunchTemplateName=NAME)
    with refused("InvalidLaunchTemplateName.NotFoundException"):
        ec2.delete_launch_template(LaunchTemplateName=NAME)
    again = ec2.create_launch_template(LaunchTemplateName=NAME, LaunchTemplateData=DATA)
    assert again["LaunchTemplate"]["LaunchTemplateId"] != anchor["LaunchTemplateId"]


def test_unknown_names_and_ids(anchor, ec2):
    with refused("InvalidLaunchTemplateName.NotFoundException"):
        ec2.describe_launch_templates(LaunchTemplateNames=[NAME, "nobody"])
    with refused("InvalidLaunchTemplateName.NotFoundException"):
        ec2.describe_launch_template_versions(LaunchTemplateName="nobody")
    with refused("InvalidLaunchTemplateName.NotFoundException"):
        add(ec2, LaunchTemplateName="nobody")
    with refused("InvalidLaunchTemplateId.NotFound"):
        ec2.describe_launch_templates(LaunchTemplateIds=["lt-0123456789abcdef0"])
    with refused("InvalidLaunchTemplateId.Malformed"):
        ec2.describe_launch_template_versions(LaunchTemplateId="lt-1")
    with refused("InvalidLaunchTemplateId.VersionNotFound"):
        ec2.describe_launch_template_versions(LaunchTemplateName=NAME, Versions=["9"])


def test_names_are_regional(anchor, aws):
    with refused("InvalidLaunchTemplateName.NotFoundException"):
        aws("ec2", region="us-east-1").describe_launch_templates(LaunchTemplateNames=[NAME])


# ---- versions ----


def test_versions_count_up(anchor, ec2):
    assert [add(ec2) for _ in range(3)] == [2, 3, 4]
    row = ec2.describe_launch_templates(LaunchTemplateNames=[NAME])["LaunchTemplates"][0]
    assert (row["LatestVersionNumber"], row["DefaultVersionNumber"]) == (4, 1)
    assert numbers(ec2) == [4, 3, 2, 1]
    assert numbers(ec2, Versions=["$Latest"]) == [4]
    assert numbers(ec2, MinVersion="2", MaxVersion="3") == [3, 2]


def test_each_of_many_at_once_gets_its_own_number(anchor, aws):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: add(aws("ec2")), range(16)))
    assert sorted(made) == list(range(2, 18))


def test_a_number_is_never_given_again(anchor, ec2):
    for _ in range(2):
        add(ec2)
    told = ec2.delete_launch_template_versions(LaunchTemplateName=NAME, Versions=["3", "1", "7"])
    gone = [v["VersionNumber"] for v in told["SuccessfullyDeletedLaunchTemplateVersions"]]
    kept = [v["VersionNumber"] for v in told["UnsuccessfullyDeletedLaunchTemplateVersions"]]
    assert (gone, kept) == ([3], [1, 7])
    assert numbers(ec2, Versions=["$Latest"]) == [2]
    assert add(ec2) == 4
    assert numbers(ec2) == [4, 2, 1]


def test_a_version_from_another(anchor, ec2):
    add(ec2, SourceVersion="1", LaunchTemplateData={"InstanceType": "m5.large"},
        VersionDescription="epoch 2")
    row = ec2.describe_launch_template_versions(LaunchTemplateName=NAME, Versions=["2"])[
        "LaunchTemplateVersions"][0]
    assert row["LaunchTemplateData"] == {**DATA, "InstanceType": "m5.large"}
    assert row["VersionDescription"] == "epoch 2" and row["DefaultVersion"] is False


def test_versions_come_in_pages(anchor, ec2):
    for _ in range(6):
        add(ec2)
    first = ec2.describe_launch_template_versions(LaunchTemplateName=NAME, MaxResults=3)
    assert len(first["LaunchTemplateVersions"]) == 3 and first["NextToken"]
    assert numbers(ec2, PaginationConfig={"PageSize": 3}) == [7, 6, 5, 4, 3, 2, 1]
    with refused("InvalidParameterValue"):
        ec2.describe_launch_template_versions(LaunchTemplateName=NAME, MaxResults=201)


# ---- tokens ----


def test_tokens_of_templates_and_versions(paper, ec2):
    def make(**more):
        return ec2.create_launch_template(**{"LaunchTemplateName": NAME, "ClientToken": "t",
                                             "LaunchTemplateData": DATA, **more})

    first = make()["LaunchTemplate"]
    assert make()["LaunchTemplate"]["LaunchTemplateId"] == first["LaunchTemplateId"]
    with refused("IdempotentParameterMismatch"):
        make(LaunchTemplateData={"InstanceType": "m5.large"})
    assert [add(ec2, ClientToken="v") for _ in range(2)] == [2, 2]
    assert add(ec2, ClientToken="w") == 3
    with refused("IdempotentParameterMismatch"):
        add(ec2, ClientToken="v", VersionDescription="other")


def test_one_token_at_once_is_one_version(anchor, aws):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: add(aws("ec2"), ClientToken="v"), range(8)))
    assert made == {2}


def test_a_dry_run_makes_nothing(anchor, ec2):
    with refused("DryRunOperation"):
        add(ec2, DryRun=True)
    assert numbers(ec2) == [1]


# ---- tags ----


def tags(**pairs):
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def test_tags_find_templates_page_by_page(paper, ec2):
    for number in range(5):
        ec2.create_launch_template(
            LaunchTemplateName=f"anchor-{number}", LaunchTemplateData=DATA, TagSpecifications=[
                {"ResourceType": "launch-template",
                 "Tags": tags(cluster="odd" if number % 2 else "even")}])
    wanted = [{"Name": "tag:cluster", "Values": ["even"]}]
    pages = ec2.get_paginator("describe_launch_templates").paginate(
        Filters=wanted, PaginationConfig={"PageSize": 2})
    rows = [page["LaunchTemplates"] for page in pages]
    assert [len(page) for page in rows] == [2, 1]
    names = [t["LaunchTemplateName"] for page in rows for t in page]
    assert names == ["anchor-0", "anchor-2", "anchor-4"]
    assert all(t["Tags"] == tags(cluster="even") for page in rows for t in page)


def test_tags_of_a_template_are_its_own(paper, ec2):
    """Without the tags of the instances that are launched from it."""
    ec2.create_launch_template(
        LaunchTemplateName=NAME, LaunchTemplateData={
            "ImageId": BASE, "InstanceType": "m5.large",
            "TagSpecifications": [{"ResourceType": "instance", "Tags": tags(of="instance")}]},
        TagSpecifications=[{"ResourceType": "launch-template", "Tags": tags(of="template")}])
    ec2.run_instances(MinCount=1, MaxCount=1, LaunchTemplate={"LaunchTemplateName": NAME})
    assert listing(ec2)[0]["Tags"] == tags(of="instance")
    with refused("InvalidParameterValue"):
        ec2.create_launch_template(LaunchTemplateName="other", LaunchTemplateData=DATA,
                                   TagSpecifications=[{"ResourceType": "instance",
                                                       "Tags": tags(of="it")}])


def test_a_launch_names_a_version_that_is_there(anchor, ec2):
    with refused("InvalidLaunchTemplateId.VersionNotFound"):
        ec2.run_instances(MinCount=1, MaxCount=1,
                          LaunchTemplate={"LaunchTemplateName": NAME, "Version": "2"})
