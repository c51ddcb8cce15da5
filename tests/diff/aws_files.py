"""Generates sets of AWS configuration files and variables, from simple to broken."""

PROFILES = ["default", "a", "b", "prod", "my profile", "dev-1"]
KEYS = ["AKIA1", "ASIA2", "key with blanks", "k=v", ""]
REGIONS = ["us-east-1", "eu-west-3", "mars-north-7", ""]
QUOTED = ['profile "%s"', "profile '%s'", 'profile  "%s" ', "profile\t'%s'"]
COMMANDS = ["/bin/creds", "/bin/creds --profile x", "'/my path/c' \"a b\" c\\ d", "x 'open", "",
            'a "q\\"x\\n" b', "a '' b", "a\\"]
COMMENTS = ["# a comment", "; another", "   # indented", ";", "", "   ", "\t"]


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def chance(self, share):
        return self.rng.random() < share

    def static(self, lines):
        rng = self.rng
        lines.append(self.option("aws_access_key_id", rng.choice(KEYS)))
        if self.chance(0.9):
            lines.append(self.option("aws_secret_access_key", rng.choice(["s1", "s/2+=", "s # 3"])))
        if self.chance(0.3):
            lines.append(self.option("aws_session_token", rng.choice(["t1", "t=2", ""])))
        if self.chance(0.1):
            lines.append(self.option("aws_security_token", rng.choice(["old", ""])))

    def role(self, lines):
        rng = self.rng
        lines.append(self.option("role_arn", "arn:aws:iam::1:role/r%d" % rng.randrange(3)))
        if self.chance(0.85):
            lines.append(self.option("source_profile", rng.choice(PROFILES + ["missing"])))
        if self.chance(0.15):
            lines.append(self.option("credential_source", rng.choice(
                ["Environment", "EcsContainer", "Ec2InstanceMetadata", "environment", "Other"])))
        for name, values in [("external_id", ["x-1", "x 2"]), ("mfa_serial", ["arn:m"]),
                             ("role_session_name", ["me"]), ("duration_seconds", ["3600", "soon"])]:
            if self.chance(0.25):
                lines.append(self.option(name, rng.choice(values)))

    def web(self, lines):
        lines.append(self.option("web_identity_token_file", self.rng.choice(["/tok", "~/t k", ""])))
        if self.chance(0.8):
            lines.append(self.option("role_arn", "arn:aws:iam::2:role/web"))
        if self.chance(0.3):
            lines.append(self.option("role_session_name", "web-me"))

    def sso(self, lines):
        rng = self.rng
        if self.chance(0.9):
            lines.append(self.option("sso_account_id", "123456789012"))
        if self.chance(0.9):
            lines.append(self.option("sso_role_name", "Admin"))
        if self.chance(0.5):
            lines.append(self.option("sso_session", rng.choice(["corp", "corp", "other", "none"])))
        if self.chance(0.6):
            lines.append(self.option("sso_start_url", rng.choice(
                ["https://corp.awsapps.com/start", "https://x.awsapps.com/start#/"])))
            lines.append(self.option("sso_region", "us-east-1"))

    def process(self, lines):
        lines.append(self.option("credential_process", self.rng.choice(COMMANDS)))

    def nested(self, lines):
        lines.append("s3 =")
        lines += ["  signature_version = s3v4", "    addressing_style=path  "]
        if self.chance(0.03):
            lines.append("  no equals sign")

    def plain(self, lines):
        rng = self.rng
        names = ["output", "cli_pager", "Max_Attempts", "retry_mode", "endpoint_url", "notes"]
        for name in rng.sample(names, rng.randrange(0, 3)):
            lines.append(self.option(name, rng.choice(["json", "", "a\n  b\n\n  c", "x ; y", "é"])))

    def option(self, name, value):
        if self.chance(0.1):
            name = name.upper()
        return name + self.rng.choice([" = ", "=", ": ", "  =  ", " =", "\t=\t"]) + value

    def body(self, kinds):
        lines = []
        for kind in kinds:
            kind(lines)
        if self.chance(0.5):
            lines.append(self.option("region", self.rng.choice(REGIONS)))
        self.plain(lines)
        if self.chance(0.2):
            self.nested(lines)
        if self.chance(0.005):
            lines.append(self.option("region", "twice"))
        return self.decorate(lines)

    def decorate(self, lines):
        out = []
        for line in lines:
            if self.chance(0.1):
                out.append(self.rng.choice(COMMENTS))
            out.append(line)
        if self.chance(0.003):
            out.append(self.rng.choice(["just words", "= no name", "[open", "[]"]))
        return out

    def kinds(self):
        rng = self.rng
        choices = [self.static, self.role, self.web, self.sso, self.process]
        weights = [5, 6, 1, 2, 1]
        if self.chance(0.2):
            return []
        first = rng.choices(choices, weights)[0]
        if self.chance(0.25):
            second = rng.choices(choices, weights)[0]
            if {first, second} != {self.role, self.web} and first != second:
                return [first, second]
        return [first]

    def file(self, is_config):
        lines = []
        if self.chance(0.02):
            lines.append("early = 1")
        for name in self.rng.sample(PROFILES, self.rng.choice([0, 2, 4, 5, 6])):
            lines += self.decorate(["[%s]" % self.title(name, is_config)])
            lines += self.body(self.kinds())
        if is_config and self.chance(0.6):
            lines += ["[sso-session corp]", "sso_region = us-east-1",
                      "sso_start_url = https://corp.awsapps.com/start",
                      "sso_registration_scopes = sso:account:access"]
        if is_config and self.chance(0.2):
            lines += ["[sso-session other]", "sso_region = eu-west-1"]
        if self.chance(0.05):
            lines += ["[DEFAULT]", "region = from-default", "output = text"]
        if self.chance(0.1):
            lines += ["[plugins]", "x = y", "[services mine]", "ec2 =", "  endpoint_url = http://h"]
        ending = self.rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
        return "\n".join(lines).replace("\n", ending) + self.rng.choice(["", ending])

    def title(self, name, is_config):
        if not is_config:
            return name if self.chance(0.97) else "profile " + name
        if name == "default" and self.chance(0.8):
            return name
        if " " in name or self.chance(0.2):
            return self.rng.choice(QUOTED) % name
        return "profile " + name if self.chance(0.96) else self.rng.choice(
            ["profiles %s", "profile %s x", "profile '%s", "%s", "profile %s] x"]) % name

    def environ(self):
        rng = self.rng
        table = [("AWS_PROFILE", PROFILES, 0.6), ("AWS_DEFAULT_PROFILE", PROFILES, 0.08),
                 ("AWS_ACCESS_KEY_ID", ["AKIAENV", "AKIAENV", ""], 0.15),
                 ("AWS_SECRET_ACCESS_KEY", ["envsecret"] * 4 + [""], 0.6),
                 ("AWS_SESSION_TOKEN", ["envtoken", ""], 0.1),
                 ("AWS_SECURITY_TOKEN", ["oldtoken", ""], 0.05),
                 ("AWS_CREDENTIAL_EXPIRATION", ["2030-01-02T03:04:05Z", ""], 0.1),
                 ("AWS_DEFAULT_REGION", REGIONS[:3], 0.3),
                 ("AWS_WEB_IDENTITY_TOKEN_FILE", ["/env/token", ""], 0.06),
                 ("AWS_ROLE_ARN", ["arn:aws:iam::3:role/env", ""], 0.08),
                 ("AWS_ROLE_SESSION_NAME", ["env-me"], 0.08),
                 ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ["/creds?id=1"], 0.08),
                 ("AWS_CONTAINER_CREDENTIALS_FULL_URI",
                  ["http://localhost:1/x", "http://127.0.0.9/x", "https://h/x", "http://h.org/x",
                   "http://[::1]/x", "http://[fd00:ec2::23]/", "http://u@127.0.0.1:80?x"], 0.1),
                 ("AWS_EC2_METADATA_DISABLED", ["true", "TRUE", "false"], 0.1),
                 ("AWS_EC2_METADATA_SERVICE_ENDPOINT", ["http://10.1.1.1:80/x"], 0.05),
                 ("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", ["IPv6", "ipv4"], 0.05)]
        return {name: rng.choice(values) for name, values, share in table if self.chance(share)}

    def record(self):
        """The files as text, None for a missing one; the variables; the requested profile."""
        return {"config": self.file(True) if self.chance(0.9) else None,
                "credentials": self.file(False) if self.chance(0.7) else None,
                "environ": self.environ(),
                "named": self.rng.choice(PROFILES) if self.chance(0.2) else ""}
