"""Just enough of EC2 for `exec` and `submit` to find a head: its lease object and one instance."""

import http.server
import threading
import urllib.parse

UID = "0123456789abcdef0123456789abcdef"
HEAD = "i-0123456789abcdef0"


def tags(**values):
    return "<tagSet>" + "".join(
        f"<item><key>{key.replace('_', '-')}</key><value>{value}</value></item>"
        for key, value in values.items()) + "</tagSet>"


TEMPLATE = ("<DescribeLaunchTemplatesResponse><launchTemplates><item>"
            "<launchTemplateId>lt-0123456789abcdef0</launchTemplateId>"
            "<launchTemplateName>shoal-anchor-demo</launchTemplateName>"
            "<defaultVersionNumber>1</defaultVersionNumber>"
            "<latestVersionNumber>1</latestVersionNumber>"
            "<createTime>2026-11-16T05:00:00.000Z</createTime>" +
            tags(shoal_cluster_uid=UID, ray_cluster_name="demo") +
            "</item></launchTemplates></DescribeLaunchTemplatesResponse>")
INSTANCES = ("<DescribeInstancesResponse><reservationSet><item><reservationId>r-1</reservationId>"
             f"<instancesSet><item><instanceId>{HEAD}</instanceId><imageId>ami-1</imageId>"
             "<instanceState><code>16</code><name>running</name></instanceState>"
             "<instanceType>m5.large</instanceType>"
             "<launchTime>2026-11-16T05:00:00.000Z</launchTime>"
             "<placement><availabilityZone>us-west-2a</availabilityZone></placement>"
             "<privateIpAddress>127.0.0.1</privateIpAddress><ipAddress>127.0.0.1</ipAddress>" +
             tags(shoal_cluster_uid=UID, ray_cluster_name="demo", ray_node_type="head",
                  ray_user_node_type="ray.head.default", ray_node_status="up-to-date",
                  shoal_launch="1.1", shoal_epoch="1") +
             "</item></instancesSet></item></reservationSet></DescribeInstancesResponse>")
REPLIES = {"DescribeLaunchTemplates": TEMPLATE, "DescribeInstances": INSTANCES}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        action = dict(urllib.parse.parse_qsl(body)).get("Action", "")
        reply = REPLIES.get(action)
        text = (reply or "<Response><Errors><Error><Code>InvalidAction</Code><Message>"
                f"{action}</Message></Error></Errors></Response>").encode()
        self.send_response(200 if reply else 400)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def start():
    """(server, address); shutdown() ends it."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}"
