"""What all EC2 listings share: page sizes, tokens that are bound to their request, dry runs."""

import base64
import binascii
import hashlib
import json

from .wire import Refusal


def check_dry_run(call):
    if call.get("DryRun") == "true":
        raise Refusal("DryRunOperation", "Request would have succeeded, but DryRun flag is set.",
                      412)


def page_size(call, cloud, low=5, high=1000):
    text = call.get("MaxResults")
    if text is None:
        return min(high, cloud.tunables.page)
    if not text.isdigit() or not low <= int(text) <= high:
        raise Refusal("InvalidParameterValue", f"Value ( {text} ) for parameter maxResults is "
                      f"invalid. Expecting a value between {low} and {high}.")
    return min(int(text), cloud.tunables.page)


def question(call):
    """What a page token is bound to: the request without its paging."""
    kept = sorted((k, v) for k, v in call.params.items()
                  if k not in ("NextToken", "MaxResults", "Version"))
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:16]


def token_for(call, position):
    return base64.urlsafe_b64encode(json.dumps([question(call), position]).encode()).decode()


def position_of(call):
    """Where a page begins: the argument of token_for, or None at the start."""
    token = call.get("NextToken")
    if not token:
        return None
    try:
        bound, position = json.loads(base64.urlsafe_b64decode(token.encode()))
    except (ValueError, binascii.Error):
        raise Refusal("InvalidParameterValue", "Invalid value for parameter nextToken.") from None
    if bound != question(call):
        raise Refusal("InvalidParameterValue", "The token was given for another request.")
    return position
