"""The cloud of lagoon_plugin.py: an inventory of virtual machines over HTTP."""

import http.server
import itertools
import json
import threading
import time


class Lagoon(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.numbers = threading.Lock(), itertools.count(1)
        self.vms, self.texts, self.versions = {}, {}, {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def live(self):
        return [vm for vm in self.vms.values() if vm["status"] in ("building", "up")]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body, **headers):
        data = json.dumps(body).encode()
        self.send_response(status)
        for key, value in {"Content-Length": len(data), "Lagoon-Time": int(time.time()),
                           **headers}.items():
            self.send_header(key, str(value))
        self.end_headers()
        self.wfile.write(data)

    def handle_any(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "null")
        with self.server.lock:
            self.route(self.server, self.command, self.path.split("/")[1:], body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def route(self, cloud, method, path, body):
        if path[0] == "texts":
            key = path[1]
            if method == "PUT":
                if self.headers["If-Match"] != str(cloud.versions.get(key, 0)):
                    return self.answer(412, "changed")
                cloud.texts[key], cloud.versions[key] = body, cloud.versions.get(key, 0) + 1
            return self.answer(200, cloud.texts.get(key, ""), ETag=cloud.versions.get(key, 0))
        if len(path) == 1:
            if method == "POST":
                if body["size"] == "c5.large" and sum(
                        vm["size"] == "c5.large" for vm in cloud.live()) >= 5:
                    return self.answer(409, "sold out")
                vm = {"status": "building", "user_data": "", **body,
                      "id": f"vm-{next(cloud.numbers)}", "address": "127.0.0.1"}
                cloud.vms[vm["id"]] = vm
                return self.answer(200, vm)
            rows = [dict(vm) for vm in cloud.vms.values()]
            for vm in cloud.vms.values():
                vm["status"] = {"building": "up", "deleting": "deleted"}.get(
                    vm["status"], vm["status"])
            return self.answer(200, rows)
        vm = cloud.vms.get(path[1])
        if not vm:
            return self.answer(404, "unknown")
        if method == "DELETE" and vm["status"] != "deleted":
            vm["status"] = "deleting"
        elif method == "PATCH":
            vm["labels"].update(body)
        return self.answer(200, vm)

    def log_message(self, *_):
        pass
