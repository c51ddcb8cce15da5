"""EC2 and IAM by moto on loopback, with failures and delays that a test orders.

    with Cloud() as cloud:
        cloud.refuse("DeleteRole", "AccessDenied")        # every call
        cloud.refuse("DeleteRole", "DeleteConflict", 2)   # the next two
        cloud.lag = 3                                     # listings show instances so late
        cloud.blind_listings = 1                          # so many listings show no instance
        cloud.calls                                       # [("RunInstances", {...}), ...]
    cloud.account("222222222222")                     # another account of the same cloud
"""

import io
import re
import threading
import time
import urllib.parse

import boto3
from moto.backends import get_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Response

ACCOUNT = "123456789012"
REGION = "us-west-2"
IMAGE = "ami-1e749f67"  # one of moto's: Linux on x86_64
CALLER = "198.51.100.7"  # from where the caller comes, as the Internet sees it
EC2_ERROR = ("<Response><Errors><Error><Code>{0}</Code><Message>{0} by order</Message></Error>"
             "</Errors><RequestID>r</RequestID></Response>")
IAM_ERROR = ("<ErrorResponse><Error><Type>Sender</Type><Code>{0}</Code><Message>{0} by order"
             "</Message></Error><RequestId>r</RequestId></ErrorResponse>")
RESERVATION = re.compile(rb"<item>\s*<reservationId>.*?</instancesSet>.*?</item>", re.DOTALL)
INSTANCE = re.compile(rb"<instanceId>(i-[0-9a-f]+)</instanceId>")


class Quiet(WSGIRequestHandler):
    def log(self, *_):
        pass


class Account:
    """What the credentials of another account reach; lost with reset()."""

    def __init__(self, cloud, number):
        given = cloud.client("sts").assume_role(RoleArn=f"arn:aws:iam::{number}:role/tests",
                                                RoleSessionName="tests")["Credentials"]
        self.url, self.number = cloud.url, number
        self.keys = {"aws_access_key_id": given["AccessKeyId"],
                     "aws_secret_access_key": given["SecretAccessKey"],
                     "aws_session_token": given["SessionToken"]}
        self.environment = {**cloud.environment,
                            **{key.upper(): value for key, value in self.keys.items()}}

    def client(self, service, region=REGION):
        return boto3.client(service, region_name=region, endpoint_url=self.url, **self.keys)

    @property
    def ec2(self):
        return self.client("ec2")

    def living(self):
        return living(self.ec2)


def living(ec2):
    found = ec2.describe_instances()["Reservations"]
    return sorted(i["InstanceId"] for r in found for i in r["Instances"]
                  if i["State"]["Name"] != "terminated")


def may_do_all(actions, arns):
    """The reply of SimulatePrincipalPolicy to an administrator."""
    rows = "".join(f"<member><EvalActionName>{action}</EvalActionName><EvalResourceName>{arn}"
                   "</EvalResourceName><EvalDecision>allowed</EvalDecision><MatchedStatements/>"
                   "<MissingContextValues/></member>" for action in actions for arn in arns)
    return ("<SimulatePrincipalPolicyResponse><SimulatePrincipalPolicyResult><IsTruncated>false"
            f"</IsTruncated><EvaluationResults>{rows}</EvaluationResults>"
            "</SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>")


class Cloud:
    def __init__(self):
        self.calls, self.faults, self.born, self.lag = [], [], {}, 0
        self.blind_listings = 0
        self.expired = set()          # access keys
        self.ignores_filters = False  # of groups and keys: they answer with everything
        self.lock = threading.Lock()
        self.app = DomainDispatcherApplication(create_backend_app)

    def __enter__(self):
        self.server = make_server("127.0.0.1", 0, self.answer, threaded=True,
                                  request_handler=Quiet)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.load()
        return self

    def load(self):
        """moto reads its data at the first call: longer than a call may take on a busy machine."""
        self.ec2.describe_images(ImageIds=[IMAGE])
        self.ec2.describe_instance_types(InstanceTypes=["m5.large"])
        self.client("iam").list_roles()

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def client(self, service, region=REGION):
        return boto3.client(service, region_name=region, endpoint_url=self.url,
                            aws_access_key_id="x", aws_secret_access_key="y")

    @property
    def ec2(self):
        return self.client("ec2")

    def account(self, number):
        return Account(self, number)

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": "x",
                "AWS_SECRET_ACCESS_KEY": "y", "AWS_MAX_ATTEMPTS": "2",
                "SHOAL_CALLER_URL": f"{self.url}/caller"}

    def age_templates(self):
        """Every launch template was made years ago. (moto's listings do not show later tags.)"""
        for template in get_backend("ec2")[ACCOUNT][REGION].launch_templates.values():
            template.create_time = "2020-01-01T00:00:00.000Z"

    def reset(self):
        for name in ("ec2", "iam", "sts"):
            get_backend(name).reset()
        with self.lock:
            self.calls, self.faults, self.born, self.lag = [], [], {}, 0
            self.ignores_filters, self.blind_listings, self.expired = False, 0, set()

    # ---- what a test orders and asks ----

    def refuse(self, action, code, times=10 ** 9, naming=""):
        """Calls of that action that have `naming` in their input are refused."""
        self.faults.append([action, code, times, naming])

    def actions(self):
        with self.lock:
            return [action for action, _ in self.calls]

    def instances(self):
        """{id: state} of all."""
        found = self.ec2.describe_instances()["Reservations"]
        return {i["InstanceId"]: i["State"]["Name"] for r in found for i in r["Instances"]}

    def living(self):
        return sorted(i for i, state in self.instances().items() if state != "terminated")

    def launch(self, **tags):
        given = [{"Key": key.replace("_", "-"), "Value": value} for key, value in tags.items()]
        reply = self.ec2.run_instances(ImageId=IMAGE, InstanceType="m5.large", MinCount=1,
                                       MaxCount=1, TagSpecifications=[
                                           {"ResourceType": "instance", "Tags": given}])
        return reply["Instances"][0]["InstanceId"]

    # ---- answering ----

    def fault_for(self, action, body):
        with self.lock:
            self.calls.append((action, body))
            for fault in self.faults:
                if fault[0] == action and fault[2] > 0 and fault[3] in body:
                    fault[2] -= 1
                    return fault[1]
        return None

    def answer(self, environ, start):
        if environ["PATH_INFO"] == "/caller":
            return Response(CALLER + "\n", 200, mimetype="text/plain")(environ, start)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        text = urllib.parse.unquote_plus(body.decode("utf-8", "replace"))
        found = re.search(r"(?:^|&)Action=(\w+)", text)
        action = found.group(1) if found else ""
        is_test = "boto3" in environ.get("HTTP_USER_AGENT", "").lower()
        if any(f"Credential={key}/" in environ.get("HTTP_AUTHORIZATION", "")
               for key in self.expired):
            is_ec2 = "/ec2/" in environ["HTTP_AUTHORIZATION"]
            form = EC2_ERROR if is_ec2 else IAM_ERROR
            return Response(form.format("RequestExpired" if is_ec2 else "ExpiredToken"),
                            400 if is_ec2 else 403, mimetype="text/xml")(environ, start)
        code = None if is_test else self.fault_for(action, text)
        if code:
            form = IAM_ERROR if "/iam/" in environ.get("HTTP_AUTHORIZATION", "") else EC2_ERROR
            status = 403 if "Denied" in code or "Unauthorized" in code else 400
            return Response(form.format(code), status, mimetype="text/xml")(environ, start)
        reply = self.reply_that_moto_lacks(environ, action, text)
        if reply:
            return Response(reply, 200, mimetype="text/xml")(environ, start)
        if self.ignores_filters and action in ("DescribeSecurityGroups", "DescribeKeyPairs"):
            body = re.sub(rb"(^|&)Filter\.[^&]*", b"", body)
            environ["CONTENT_LENGTH"] = str(len(body))
        environ["wsgi.input"] = io.BytesIO(body)
        pieces, told = [], []
        result = self.app(environ, lambda *words: told.append(words) or pieces.append)
        reply = b"".join(result)
        self.note_births(action, reply)
        if action == "DescribeInstances" and not is_test and self.blind_listings > 0:
            self.blind_listings -= 1
            reply = RESERVATION.sub(b"", reply)
        elif action == "DescribeInstances" and not is_test and self.lag:
            reply = RESERVATION.sub(lambda found: b"" if self.is_hidden(found[0]) else found[0],
                                    reply)
        headers = [(key, value) for key, value in told[0][1] if key.lower() != "content-length"]
        start(told[0][0], [*headers, ("Content-Length", str(len(reply)))])
        return [reply]

    def reply_that_moto_lacks(self, environ, action, text):
        if environ.get("HTTP_X_AMZ_TARGET", "").endswith(".GetProducts"):
            return '{"FormatVersion": "aws_v1", "PriceList": []}'
        if action == "ListInstanceProfileTags":
            return self.profile_tags(re.search(r"InstanceProfileName=([^&]+)", text).group(1))
        if action == "GetEbsDefaultKmsKeyId":
            return f"<{action}Response><kmsKeyId>alias/aws/ebs</kmsKeyId></{action}Response>"
        if action == "SimulatePrincipalPolicy":  # the caller may do everything
            return may_do_all(re.findall(r"ActionNames\.member\.\d+=([^&]+)", text),
                              re.findall(r"ResourceArns\.member\.\d+=([^&]+)", text) or ["*"])
        return None

    def profile_tags(self, name):
        found = self.client("iam").get_instance_profile(InstanceProfileName=name)
        tags = "".join(f"<member><Key>{tag['Key']}</Key><Value>{tag['Value']}</Value></member>"
                       for tag in found["InstanceProfile"].get("Tags", []))
        return ("<ListInstanceProfileTagsResponse><ListInstanceProfileTagsResult><IsTruncated>"
                f"false</IsTruncated><Tags>{tags}</Tags></ListInstanceProfileTagsResult>"
                "</ListInstanceProfileTagsResponse>")

    def note_births(self, action, reply):
        if action == "RunInstances":
            with self.lock:
                for found in INSTANCE.findall(reply):
                    self.born.setdefault(found, time.monotonic())

    def is_hidden(self, reservation):
        now = time.monotonic()
        return any(now - self.born.get(found, 0) < self.lag
                   for found in INSTANCE.findall(reservation))
