"""Prices, images and the caller's address, as a launcher queries them."""

import datetime
import json
import urllib.request

import pytest
from conftest import ARM, BASE, refused

from cloud import settings


def price(aws, kind, region=settings.REGION):
    rows = aws("pricing", region="us-east-1").get_products(ServiceCode="AmazonEC2", Filters=[
        {"Type": "TERM_MATCH", "Field": "instanceType", "Value": kind},
        {"Type": "TERM_MATCH", "Field": "regionCode", "Value": region},
        {"Type": "TERM_MATCH", "Field": "operatingSystem", "Value": "Linux"}])["PriceList"]
    assert len(rows) == 1
    term = next(iter(json.loads(rows[0])["terms"]["OnDemand"].values()))
    return float(next(iter(term["priceDimensions"].values()))["pricePerUnit"]["USD"])


def test_prices_are_the_same_every_time(paper, aws):
    assert price(aws, "m5.large") == 0.096
    assert price(aws, "m7i.48xlarge") == price(aws, "m7i.48xlarge") > 5


def test_pricing_has_few_regions(paper, aws):
    with refused("AccessDeniedException"):
        aws("pricing", region="us-west-2").get_products(ServiceCode="AmazonEC2")


def test_products_come_in_pages(paper, aws):
    client = aws("pricing", region="us-east-1")
    reply = client.get_products(ServiceCode="AmazonEC2", MaxResults=10)
    assert len(reply["PriceList"]) == 10
    again = client.get_products(ServiceCode="AmazonEC2", MaxResults=10,
                                NextToken=reply["NextToken"])
    assert not set(reply["PriceList"]) & set(again["PriceList"])


def test_spot_prices_now(paper, aws, ec2):
    now = datetime.datetime.now(datetime.timezone.utc)
    rows = ec2.describe_spot_price_history(InstanceTypes=["m5.large"], StartTime=now, EndTime=now,
                                           ProductDescriptions=["Linux/UNIX"])["SpotPriceHistory"]
    assert {row["AvailabilityZone"] for row in rows} == {"us-west-2a", "us-west-2b"}
    assert all(0.02 < float(row["SpotPrice"]) < price(aws, "m5.large") for row in rows)


def test_spot_history_comes_in_pages(paper, ec2):
    pages = list(ec2.get_paginator("describe_spot_price_history").paginate(
        InstanceTypes=["m5.large", "c5.large"], PaginationConfig={"PageSize": 20}))
    rows = [row for page in pages for row in page["SpotPriceHistory"]]
    assert len(pages) > 2 and len(rows) >= 2 * 2 * 23
    stamps = [row["Timestamp"] for row in rows]
    assert stamps == sorted(stamps, reverse=True)


@pytest.mark.parametrize("arch, image", [("amd64", BASE), ("arm64", ARM)])
def test_public_parameters_name_images(paper, aws, ec2, arch, image):
    name = f"/aws/service/canonical/ubuntu/server/22.04/stable/current/{arch}/hvm/ebs-gp2/ami-id"
    value = aws("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    assert value == image
    assert ec2.describe_images(ImageIds=[value])["Images"][0]["State"] == "available"
    with refused("ParameterNotFound"):
        aws("ssm").get_parameter(Name="/aws/service/nothing")


def test_the_caller_s_address(paper):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{settings.GATEWAY}:{settings.CALLER_PORT}/", timeout=10) as reply:
        assert reply.read().decode().strip() == settings.LAPTOP
