"""Cases for Google's credentials: variables, files, and what the services answer.

{tmp} is the folder of the case's files, {port} the server's port, {here} its address. The values
KEY and KEY1 are replaced by a private key, in two formats.
"""

OAUTH = "https://oauth2.googleapis.com/token"
STS = "https://sts.googleapis.com/v1/token"
IAM = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
CRM = "https://cloudresourcemanager.googleapis.com/v1/projects/"
META = "http://HERE/computeMetadata/v1/"
ADC = "gcloud/application_default_credentials.json"
NAMED = {"GOOGLE_APPLICATION_CREDENTIALS": "{tmp}/key.json"}
GCLOUD = {"CLOUDSDK_CONFIG": "{tmp}/gcloud"}
TOKEN = (200, {"access_token": "token-1", "expires_in": 3599, "token_type": "Bearer"})
FLAVOR = {"Metadata-Flavor": "Google"}

USER = {"type": "authorized_user", "client_id": "id-1", "client_secret": "sec ret/1",
        "refresh_token": "1//refresh+token"}
ACCOUNT = {"type": "service_account", "client_email": "a@p1.iam.gserviceaccount.com",
           "private_key": "KEY", "private_key_id": "kid-1", "project_id": "p1",
           "token_uri": OAUTH}
AUDIENCE = ("//iam.googleapis.com/projects/123/locations/global/workloadIdentityPools/pool/"
            "providers/x")
WORKFORCE = "//iam.googleapis.com/locations/global/workforcePools/pool/providers/x"
POOL = {"type": "external_account", "audience": AUDIENCE, "token_url": STS,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "credential_source": {"file": "{tmp}/subject"}}
EXTERNAL_USER = {"type": "external_account_authorized_user", "audience": WORKFORCE,
                 "client_id": "id-2", "client_secret": "secret-2", "refresh_token": "refresh-2",
                 "token_url": "https://sts.googleapis.com/v1/oauthtoken"}
IMPERSONATION = IAM + "b@p2.iam.gserviceaccount.com:generateAccessToken"
IMPERSONATED = {"type": "impersonated_service_account", "source_credentials": USER,
                "service_account_impersonation_url": IMPERSONATION}
ISSUED = (200, {"accessToken": "token-2", "expireTime": "2026-11-17T13:00:00Z"})
AWS = {**POOL, "subject_token_type": "urn:ietf:params:aws:token-type:aws4_request",
       "credential_source": {
           "environment_id": "aws1",
           "regional_cred_verification_url":
               "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"}}
AWS_METADATA = {**AWS, "credential_source": {
    **AWS["credential_source"], "region_url": "{here}/latest/meta-data/placement/zone",
    "url": "{here}/latest/meta-data/iam/security-credentials",
    "imdsv2_session_token_url": "{here}/latest/api/token"}}
PROGRAM = {**POOL, "credential_source": {"executable": {"command": "{tmp}/program 'a b'",
                                                        "timeout_millis": 5000}}}
ALLOW = {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}
PROJECT = (200, {"projectId": "p-of-123", "projectNumber": "123"})
PING = (200, "", FLAVOR)
VM = {"http://HERE/": PING, META + "project/project-id": (200, "vm-project", FLAVOR),
      META + "instance/service-accounts/default/":
          (200, {"email": "vm@p.iam.gserviceaccount.com", "scopes": ["s"]}, FLAVOR),
      META + "instance/service-accounts/default/token": TOKEN,
      META + "universe/universe-domain": (200, "googleapis.com", FLAVOR)}


def without(record, *names):
    return {name: value for name, value in record.items() if name not in names}


def printing(output, code=0):
    return "#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %d\n" % (output, code)


PRINTS = printing(
    '{"version": 1, "success": true, "id_token": "subject-5", "token_type": '
    '"urn:ietf:params:oauth:token-type:id_token", "expiration_time": 1900000000}')


def good(file, env=NAMED, answers=None, files=None, **more):
    """A case with one credential file and the usual answers."""
    usual = {OAUTH: TOKEN, STS: TOKEN, EXTERNAL_USER["token_url"]: TOKEN, IMPERSONATION: ISSUED,
             CRM + "123": PROJECT}
    return {"env": env, "files": {"key.json": file, "subject": "subject-1", **(files or {})},
            "answers": {**usual, **(answers or {})}, **more}


def gcloud(file, env=None, files=None, **more):
    case = good(file, {**GCLOUD, **(env or {})}, **more)
    case["files"] = {ADC: case["files"].pop("key.json"), **case["files"], **(files or {})}
    return case


def vm(env=None, **answers):
    return {"env": env or {}, "files": {}, "answers": {**VM, **{
        {"ping": "http://HERE/", "project": META + "project/project-id",
         "account": META + "instance/service-accounts/default/",
         "token": META + "instance/service-accounts/default/token",
         "universe": META + "universe/universe-domain"}[name]: value
        for name, value in answers.items()}}}


CASES = {
    # ---- the order of sources
    "nothing anywhere": {"env": {}, "files": {}, "answers": {}},
    "no metadata server allowed": vm({"NO_GCE_CHECK": "true"}),
    "named file missing": {"env": NAMED, "files": {}, "answers": VM},
    "named file empty name": vm({"GOOGLE_APPLICATION_CREDENTIALS": ""}),
    "named file before gcloud": good(ACCOUNT, {**NAMED, **GCLOUD}, files={ADC: USER}),
    "gcloud before the metadata server": gcloud(USER, answers=VM),
    "gcloud in the home folder": {"env": {}, "files": {"home/.config/" + ADC: USER},
                                  "answers": {OAUTH: TOKEN}},
    "named file is gcloud's": {
        "env": {**GCLOUD, "GOOGLE_APPLICATION_CREDENTIALS": "{tmp}/" + ADC},
        "files": {ADC: USER, "gcloud/configurations/config_default": "[core]\nproject = gp\n"},
        "gcloud_project": "gp", "answers": {OAUTH: TOKEN}},
    "named file is gcloud's but missing": {
        "env": {**GCLOUD, "GOOGLE_APPLICATION_CREDENTIALS": "{tmp}/" + ADC}, "files": {},
        "answers": VM},
    "gcloud file broken": {"env": GCLOUD, "files": {ADC: "{"}, "answers": VM},
    "not an object": good("[1]"),
    "no type": good(without(USER, "type")),
    "unknown type": good({**USER, "type": "other"}),
    # ---- users
    "user": good(USER),
    "user, the file's token_uri is ignored": good({**USER, "token_uri": "https://x.example.org/"}),
    "user with scopes": good({**USER, "scopes": ["s1", "s2"]}),
    "user with scopes in one text": good({**USER, "scopes": "s1 s2"}),
    "user with rapt": good({**USER, "rapt_token": "rapt-1"}),
    "user with quota project": good({**USER, "quota_project_id": "q1"}),
    "user with quota project of the environment": good(
        {**USER, "quota_project_id": "q1"}, {**NAMED, "GOOGLE_CLOUD_QUOTA_PROJECT": "q2"}),
    "user without secret": good(without(USER, "client_secret")),
    "user without refresh token": good(without(USER, "refresh_token")),
    "user in another universe": good({**USER, "universe_domain": "example.org"}),
    "user with null universe": good({**USER, "universe_domain": None}),
    "user with a valid token": good({**USER, "token": "t0", "expiry": "2026-11-17T12:30:00.5Z"}),
    "user with an old token": good({**USER, "token": "t0", "expiry": "2026-11-17T12:03:00Z"}),
    "user with a token without end": good({**USER, "token": "t0"}),
    "user revoked": good(USER, answers={OAUTH: (400, {"error": "invalid_grant"})}),
    "user must log in again": good(USER, answers={OAUTH: (400, {
        "error": "invalid_grant", "error_subtype": "invalid_rapt"})}),
    "user, once 503": good(USER, answers={OAUTH: [(503, "busy"), TOKEN]}),
    "user, 500 until the end": good(USER, answers={OAUTH: (500, {"error": "x"})}),
    "user, 502 is not repeated": good(USER, answers={OAUTH: (502, "bad gateway")}),
    "user, temporary code": good(USER, answers={OAUTH: [(400, {
        "error": "internal_failure"}), TOKEN]}),
    "user, temporary description": good(USER, answers={OAUTH: [(400, {
        "error": "x", "error_description": "temporarily_unavailable"}), TOKEN]}),
    "user, 408 and 429": good(USER, answers={OAUTH: [(408, ""), (429, ""), TOKEN]}),
    "user, connection lost": good(USER, answers={OAUTH: None}),
    "user, reply is not JSON": good(USER, answers={OAUTH: (200, "hello")}),
    "user, reply without token": good(USER, answers={OAUTH: (200, {"expires_in": 1})}),
    "user, life as text": good(USER, answers={OAUTH: (200, {
        "access_token": "t", "expires_in": "1800"})}),
    "user, no life": good(USER, answers={OAUTH: (200, {"access_token": "t"})}),
    "user, life is not a number": good(USER, answers={OAUTH: (200, {
        "access_token": "t", "expires_in": "soon"})}),
    # ---- projects
    "project of the environment": good(ACCOUNT, {**NAMED, "GOOGLE_CLOUD_PROJECT": "e1"}),
    "project of the older variable": good(USER, {**NAMED, "GCLOUD_PROJECT": "e2"}),
    "project empty hides the older variable": good(
        USER, {**NAMED, "GOOGLE_CLOUD_PROJECT": "", "GCLOUD_PROJECT": "e2"}),
    "project of gcloud": gcloud(USER, gcloud_project="gp", files={
        "gcloud/configurations/config_default": "[compute]\nproject = no\n[core]\nproject = gp\n"}),
    "project of gcloud's active configuration": gcloud(USER, gcloud_project="gw", files={
        "gcloud/active_config": "work",
        "gcloud/configurations/config_work": "[core]\naccount = a\nproject=gw\n"}),
    "project of gcloud's variable": gcloud(USER, {"CLOUDSDK_CORE_PROJECT": "gv"},
                                           gcloud_project="gv"),
    "project of gcloud is not for named files": good(
        USER, {**NAMED, **GCLOUD}, gcloud_project="gp",
        files={"gcloud/configurations/config_default": "[core]\nproject = gp\n"}),
    # ---- service accounts
    "service account": good(ACCOUNT),
    "service account of gcloud": gcloud(ACCOUNT),
    "service account, no key id": good(without(ACCOUNT, "private_key_id")),
    "service account, empty key id": good({**ACCOUNT, "private_key_id": ""}),
    "service account, own endpoint": good(
        {**ACCOUNT, "token_uri": "https://login.example.org/token?x=1"},
        answers={"https://login.example.org/token": TOKEN}),
    "service account, local endpoint": good(
        {**ACCOUNT, "token_uri": "http://127.0.0.1:{port}/token"},
        answers={"http://HERE/token": TOKEN}),
    "service account, quota project of the file": good({**ACCOUNT, "quota_project_id": "q1"}),
    "service account, quota project of the environment": good(
        ACCOUNT, {**NAMED, "GOOGLE_CLOUD_QUOTA_PROJECT": "q2"}),
    "service account, other universe": good({**ACCOUNT, "universe_domain": "example.org"}),
    "service account, null universe": good({**ACCOUNT, "universe_domain": None}),
    "service account, empty universe": good({**ACCOUNT, "universe_domain": ""}),
    "service account, no email": good(without(ACCOUNT, "client_email")),
    "service account, no key": good(without(ACCOUNT, "private_key")),
    "service account, no endpoint": good(without(ACCOUNT, "token_uri")),
    "service account, broken key": good({**ACCOUNT, "private_key": "-----BEGIN PRIVATE KEY-----"}),
    "service account, PKCS 1 key": good({**ACCOUNT, "private_key": "KEY1"}),
    "service account refused": good(ACCOUNT, answers={OAUTH: (400, {
        "error": "invalid_grant", "error_description": "Invalid JWT Signature."})}),
    "service account, 503 then 200": good(ACCOUNT, answers={OAUTH: [(503, ""), (503, ""), TOKEN]}),
    # ---- external accounts
    "pool with a file": good(POOL),
    "pool with a file, newline and all": good(POOL, files={"subject": "subject-1\n"}),
    "pool with a missing file": good({**POOL, "credential_source": {"file": "{tmp}/none"}}),
    "pool with an empty file": good(POOL, files={"subject": ""}),
    "pool with a JSON file": good(
        {**POOL, "credential_source": {"file": "{tmp}/subject", "format": {
            "type": "json", "subject_token_field_name": "tok"}}},
        files={"subject": {"tok": "subject-2"}}),
    "pool with a JSON file without the field": good(
        {**POOL, "credential_source": {"file": "{tmp}/subject", "format": {
            "type": "json", "subject_token_field_name": "tok"}}},
        files={"subject": {"other": "subject-2"}}),
    "pool with an unknown format": good(
        {**POOL, "credential_source": {"file": "{tmp}/subject", "format": {"type": "xml"}}}),
    "pool with a URL": good(
        {**POOL, "credential_source": {"url": "{here}/subject?a=b", "headers": {"X-Custom": "c"}}},
        answers={"http://HERE/subject": (200, "subject-3")}),
    "pool with a URL and JSON": good(
        {**POOL, "credential_source": {"url": "{here}/subject", "format": {
            "type": "json", "subject_token_field_name": "tok"}}},
        answers={"http://HERE/subject": (200, {"tok": "subject-4"})}),
    "pool with a URL that refuses": good(
        {**POOL, "credential_source": {"url": "{here}/subject"}},
        answers={"http://HERE/subject": (403, "no")}),
    "pool with two sources": good(
        {**POOL, "credential_source": {"file": "{tmp}/subject", "url": "{here}/subject"}}),
    "pool without source": good(without(POOL, "credential_source")),
    "pool with a client": good({**POOL, "client_id": "cid", "client_secret": "csec"}),
    "pool with a client without secret": good({**POOL, "client_id": "cid"}),
    "pool, project of the environment": good(POOL, {**NAMED, "GOOGLE_CLOUD_PROJECT": "e1"}),
    "pool, project unknown": good(POOL, answers={CRM + "123": (403, {"error": {"code": 403}})}),
    "pool, quota project": good({**POOL, "quota_project_id": "q1"}),
    "pool, other universe": good(
        {**POOL, "universe_domain": "example.org",
         "token_url": "https://sts.{universe_domain}/v1/token"},
        answers={"https://sts.example.org/v1/token": TOKEN,
                 "https://cloudresourcemanager.example.org/v1/projects/123": PROJECT}),
    "pool refused": good(POOL, answers={STS: (400, {"error": "invalid_request"})}),
    "pool, no life": good(POOL, answers={STS: (200, {"access_token": "t"})}),
    "workforce pool": good({**POOL, "audience": WORKFORCE, "workforce_pool_user_project": "123"}),
    "workforce pool with a client": good({
        **POOL, "audience": WORKFORCE, "workforce_pool_user_project": "123", "client_id": "cid"}),
    "workforce project of another pool": good({**POOL, "workforce_pool_user_project": "123"}),
    "pool with impersonation": good({**POOL, "service_account_impersonation_url": IMPERSONATION}),
    "pool with impersonation, life and quota": good({
        **POOL, "service_account_impersonation_url": IMPERSONATION, "quota_project_id": "q1",
        "service_account_impersonation": {"token_lifetime_seconds": 2800}}),
    "pool with impersonation that refuses": good(
        {**POOL, "service_account_impersonation_url": IMPERSONATION},
        answers={IMPERSONATION: (403, {"error": {"status": "PERMISSION_DENIED"}})}),
    "pool with impersonation, bad time": good(
        {**POOL, "service_account_impersonation_url": IMPERSONATION},
        answers={IMPERSONATION: (200, {"accessToken": "t", "expireTime": "tomorrow"})}),
    "pool with impersonation of nobody": good(
        {**POOL, "service_account_impersonation_url": IAM + "b"}),
    "program not allowed": good(PROGRAM, files={"program": PRINTS}),
    "program not allowed with another value": good(
        PROGRAM, {**NAMED, "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "true"},
        files={"program": PRINTS}),
    "program": good(PROGRAM, {**NAMED, **ALLOW}, files={"program": PRINTS}),
    "program that prints its variables": good(
        {**PROGRAM, "service_account_impersonation_url": IMPERSONATION}, {**NAMED, **ALLOW},
        files={"program": '#!/bin/sh\nprintf \'{"version": 1, "success": true, "id_token": '
               '"%s %s %s %s %s %s", "token_type": "urn:ietf:params:oauth:token-type:jwt"}\' "$1" '
               '"$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE" "$GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE" '
               '"$GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE" "$GOOGLE_EXTERNAL_ACCOUNT_REVOKE" '
               '"$GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"\n'}),
    "program with SAML": good(PROGRAM, {**NAMED, **ALLOW}, files={"program": printing(
        '{"version": 1, "success": true, "saml_response": "subject-6", "token_type": '
        '"urn:ietf:params:oauth:token-type:saml2"}')}),
    "program with an expired token": good(PROGRAM, {**NAMED, **ALLOW}, files={"program": printing(
        '{"version": 1, "success": true, "id_token": "x", "token_type": '
        '"urn:ietf:params:oauth:token-type:id_token", "expiration_time": 1500000000}')}),
    "program that refuses": good(PROGRAM, {**NAMED, **ALLOW}, files={"program": printing(
        '{"version": 1, "success": false, "code": "401", "message": "no"}')}),
    "program that fails": good(PROGRAM, {**NAMED, **ALLOW},
                               files={"program": printing("{}", code=3)}),
    "program of a newer version": good(PROGRAM, {**NAMED, **ALLOW}, files={"program": printing(
        '{"version": 2, "success": true}')}),
    "program with an output file": good(
        {**POOL, "credential_source": {"executable": {"command": "{tmp}/program",
                                                      "output_file": "{tmp}/out"}}},
        {**NAMED, **ALLOW}, files={"program": printing("", code=9), "out": {
            "version": 1, "success": True, "id_token": "subject-7", "expiration_time": 1900000000,
            "token_type": "urn:ietf:params:oauth:token-type:id_token"}}),
    "program with a bad timeout": good(
        {**POOL, "credential_source": {"executable": {"command": "x", "timeout_millis": 1}}},
        {**NAMED, **ALLOW}),
    "AWS keys of the environment": good(AWS, {
        **NAMED, "AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "s1",
        "AWS_REGION": "us-east-2"}),
    "AWS keys with a session": good(AWS, {
        **NAMED, "AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "s1",
        "AWS_SESSION_TOKEN": "t/1+=", "AWS_DEFAULT_REGION": "eu-west-1"}),
    "AWS keys of the instance": good(AWS_METADATA, answers={
        "http://HERE/latest/api/token": [(200, "session-1"), (200, "session-2")],
        "http://HERE/latest/meta-data/placement/zone": (200, "us-east-1b"),
        "http://HERE/latest/meta-data/iam/security-credentials": (200, "my-role"),
        "http://HERE/latest/meta-data/iam/security-credentials/my-role": (200, {
            "AccessKeyId": "AKIA2", "SecretAccessKey": "s2", "Token": "t2"})}),
    "AWS instance without role": good(AWS_METADATA, answers={
        "http://HERE/latest/api/token": (200, "session-1"),
        "http://HERE/latest/meta-data/placement/zone": (200, "us-east-1b")}),
    "AWS without region": good(AWS, {
        **NAMED, "AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": "s1"}),
    "AWS of a newer version": good({**AWS, "credential_source": {
        **AWS["credential_source"], "environment_id": "aws2"}}),
    # ---- logins with workforce identity
    "external user": good(EXTERNAL_USER),
    "external user with quota project": good({**EXTERNAL_USER, "quota_project_id": "q1"}),
    "external user without client": good(without(EXTERNAL_USER, "client_id")),
    "external user refused": good(EXTERNAL_USER, answers={
        EXTERNAL_USER["token_url"]: (400, {"error": "invalid_grant"})}),
    "external user, life as text": good(EXTERNAL_USER, answers={
        EXTERNAL_USER["token_url"]: (200, {"access_token": "t", "expires_in": "99"})}),
    # ---- impersonation
    "impersonation by a user": good(IMPERSONATED),
    "impersonation by a service account": good({**IMPERSONATED, "source_credentials": ACCOUNT}),
    "impersonation by an external user": good({
        **IMPERSONATED, "source_credentials": EXTERNAL_USER}),
    "impersonation by a service account of another universe": good(
        {**IMPERSONATED, "source_credentials": {**ACCOUNT, "universe_domain": "example.org"}},
        answers={IMPERSONATION.replace("googleapis.com/v1", "example.org/v1"): ISSUED}),
    "impersonation with delegates, scopes and quota": good({
        **IMPERSONATED, "delegates": ["d1", "d2"], "scopes": ["s1"], "quota_project_id": "q1",
        "source_credentials": {**USER, "quota_project_id": "q3"}}),
    "impersonation by a pool": good({**IMPERSONATED, "source_credentials": POOL}),
    "impersonation without URL": good(without(IMPERSONATED, "service_account_impersonation_url")),
    "impersonation without source": good(without(IMPERSONATED, "source_credentials")),
    "impersonation refused": good(IMPERSONATED, answers={IMPERSONATION: (403, {"error": {}})}),
    "impersonation of gcloud": gcloud(IMPERSONATED, gcloud_project="gp", files={
        "gcloud/configurations/config_default": "[core]\nproject = gp\n"}),
    # ---- the metadata server
    "VM": vm(),
    "VM, project of the environment": vm({"GOOGLE_CLOUD_PROJECT": "e1"}),
    "VM, quota project": vm({"GOOGLE_CLOUD_QUOTA_PROJECT": "q1"}),
    "VM, ping without header": vm(ping=(200, "")),
    "VM, ping refused": vm(ping=(403, "", FLAVOR)),
    "VM, ping lost twice": vm(ping=[None, None, PING]),
    "VM, ping lost": vm(ping=None),
    "VM, no project": vm(project=(404, "no")),
    "VM, project after retries": vm(project=[(503, ""), None, (200, "vm-project")]),
    "VM, no service account": vm(account=(404, "no")),
    "VM, account without email": vm(account=(200, {"scopes": []})),
    "VM, account is not JSON": vm(account=(200, "email")),
    "VM, token refused": vm(token=(403, "no")),
    "VM, token after four retries": vm(token=[(500, ""), (503, ""), (504, ""), (429, ""), TOKEN]),
    "VM, token never": vm(token=(500, "")),
    "VM, token life as text": vm(token=(200, {"access_token": "t", "expires_in": "99"})),
    "VM, older server without universe": vm(universe=(404, "no")),
    "VM, empty universe": vm(universe=(200, "")),
    "VM, other universe": vm(universe=(200, "example.org")),
    "VM, universe fails": vm(universe=(403, "no")),
    "VM, older name of the variable": vm({"GCE_METADATA_HOST": "",
                                          "GCE_METADATA_ROOT": "127.0.0.1:{port}"}),
}
