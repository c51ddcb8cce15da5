/* setup_failure.c: a failed step as users see it, with a table of common errors in its output,
 * their cause and remedy. */
#include "app/setup/setup_failure.h"

#include "base/secret_text.h"

/* ---- what the output means ---- */

#define REGISTRY_LOGIN                                                                     \
    "log in first, in initialization_commands, for example `aws ecr get-login-password | " \
    "docker login --username AWS --password-stdin ACCOUNT.dkr.ecr.REGION.amazonaws.com`"

#define PULL_LIMIT "toomanyrequests"

#define REGISTRY_MIRROR                                                                       \
    "log in first, in initialization_commands (`docker login`), or use a pull-through cache " \
    "or a copy of the image in a registry of your cloud"

#define LARGER_DISK                                           \
    "give the node type a larger disk, in its node_config:\n" \
    "  BlockDeviceMappings:\n"                                \
    "    - DeviceName: /dev/sda1\n"                           \
    "      Ebs: {VolumeSize: 200, VolumeType: gp3}"

#define OPEN_PORTS                                                                            \
    "the security group must let the nodes reach each other on all ports; check that Ray is " \
    "still running on the head"

#define DNS                                                                                    \
    "check that its subnet has a route to the Internet (gateway or NAT) and that the VPC has " \
    "DNS enabled"

#define OUTBOUND "check the subnet's routes and the outbound rules of the security group"

#define GPU_DRIVER                                                                            \
    "use an image with the driver (a Deep Learning AMI), or install it first: `sudo apt-get " \
    "install -y nvidia-driver-570-server` (Ubuntu)"

#define GPU_CONTAINER                                                                         \
    "install the NVIDIA Container Toolkit on the machine, then `sudo nvidia-ctk runtime "     \
    "configure --runtime=docker && sudo systemctl restart docker`, or use an image that has " \
    "it; if run_options name the GPUs, use `--gpus all` or `--runtime=nvidia`, and an image " \
    "that sets NVIDIA_VISIBLE_DEVICES"

/* The first row whose text occurs in the output matches: specific rows come before general ones. */
static const struct {
    const char *words;
    const char *also; /* must also occur; NULL if not needed */
    const char *why;
    const char *next;
} meanings[] = {
    /* Errors of our own steps. */
    {"this node and the head have different versions", NULL,
     "a node can join only with the Ray and Python versions of the head",
     "use one image for all node types, or install the same versions in setup_commands"},
    {"the head's Ray did not answer", NULL,
     "Ray on the head has not started, or this node cannot reach it", OPEN_PORTS},
    {"GPUs of this machine", NULL, "the NVIDIA driver is missing, or does not find the GPUs",
     GPU_DRIVER},
    {"GPUs of this container", NULL, "the container was started without the GPUs", GPU_CONTAINER},
    {"MB are free on the disk", NULL, "the disk of the machine is nearly full", LARGER_DISK},
    {"Ray is not installed on this machine, and there is no Python", NULL,
     "Ray is not installed, and no Python was found that can install it",
     "use another image, or install Python 3.10 or newer in initialization_commands"},
    {"No space left on device", NULL, "the disk of the machine is full", LARGER_DISK},
    {"no space left on device", NULL, "the disk of the machine is too small for the image",
     LARGER_DISK},
    {"Disk quota exceeded", NULL, "the user's disk quota is exhausted",
     "raise the quota, or install to another directory"},
    {"pip: command not found", NULL, "pip is not installed on this machine",
     "use `python3 -m pip`, or install it first: `sudo apt-get update && sudo apt-get install -y "
     "python3-pip` (Debian, Ubuntu), `sudo dnf install -y python3-pip` (Amazon Linux, Fedora)"},
    {"pip3: command not found", NULL, "pip is not installed on this machine",
     "install it first: `sudo apt-get update && sudo apt-get install -y python3-pip` (Debian, "
     "Ubuntu), `sudo dnf install -y python3-pip` (Amazon Linux, Fedora)"},
    {"No module named pip", NULL, "this Python has no pip",
     "install it first: `sudo apt-get install -y python3-pip`, or `python3 -m ensurepip --user`"},
    {"externally-managed-environment", NULL,
     "this distribution does not let pip install into its own Python",
     "install into a virtual environment (`python3 -m venv ~/env` and its pip), or add "
     "`--break-system-packages`"},
    {"Can not perform a '--user' install", NULL, "pip installs into the environment of Ray here",
     "remove --user from the command"},
    {"and the cluster file runs Ray in a container", NULL,
     "the program that runs containers is not installed on this machine",
     "use an image that has it, or install it in initialization_commands: see the output"},
    {"no basic auth credentials", NULL, "the registry wants a login", REGISTRY_LOGIN},
    {"pull access denied", NULL, "the registry has no such image, or wants a login",
     REGISTRY_LOGIN},
    {"unauthorized", "pull", "the registry wants a login", REGISTRY_LOGIN},
    {PULL_LIMIT, NULL,
     "the registry limits pulls without a login, of all nodes behind one address together",
     REGISTRY_MIRROR},
    {"no matching manifest for", NULL, "the image is not built for this machine's architecture",
     "use an image for it, or another instance type"},
    {"manifest unknown", NULL, "the registry has no image with that tag",
     "check image, head_image and worker_image of the docker section"},
    {"docker: command not found", NULL, "Docker is not installed on this machine",
     "use an image that has it, or install it in initialization_commands: `curl -fsSL "
     "https://get.docker.com | sudo sh`"},
    {"permission denied while trying to connect to the Docker daemon", NULL,
     "the user has no permission to use Docker",
     "in initialization_commands: `sudo usermod -aG docker $USER`; it takes effect at the next "
     "login"},
    {"Cannot connect to the Docker daemon", NULL, "Docker is installed but not running",
     "in initialization_commands: `sudo systemctl enable --now docker`"},
    {"are you root?", NULL, "the command needs root to install packages",
     "use sudo, for example `sudo apt-get install -y ...`"},
    {"/var/lib/dpkg/lock", NULL, "another program is installing packages, often during first boot",
     "wait for it first: `sudo apt-get -o DPkg::Lock::Timeout=300 install ...`, or `cloud-init "
     "status --wait`"},
    {"/var/lib/apt/lists/lock", NULL, "another apt is running, often during first boot",
     "wait for it first: `cloud-init status --wait`"},
    {"Unable to locate package", NULL, "apt does not know that package",
     "run `sudo apt-get update` first, and check the package's name on this distribution"},
    {"Version mismatch: The cluster was started with", NULL,
     "this node has a different Ray or Python version than the head",
     "install the same versions on both: pin `ray==VERSION` and Python in setup_commands, or use "
     "one image for all node types"},
    {"Timed out waiting for file", NULL,
     "Ray's agent on this node did not start in time: the instance is too slow or too small, or "
     "packages are missing",
     "read /tmp/ray/session_latest/logs/dashboard_agent.log there; install `ray[default]`, or use "
     "a larger instance"},
    {"Unable to connect to GCS", NULL, "this node cannot reach Ray on the head", OPEN_PORTS},
    {"Failed to connect to GCS", NULL, "this node cannot reach Ray on the head", OPEN_PORTS},
    {"Authentication token is missing or incorrect", NULL,
     "this node's Ray token differs from the head's",
     "run `shoal up` again; commands that set RAY_AUTH_MODE or RAY_AUTH_TOKEN must do so on all "
     "nodes"},
    {"Ray is already running at", NULL, "Ray is already running on this machine",
     "put `ray stop` first in the start commands"},
    {"Address already in use", NULL, "another program uses a port that Ray needs",
     "put `ray stop` first in the start commands, or choose another --port"},
    {"ray: command not found", NULL, "Ray is not on the PATH of the login shell",
     "install it in setup_commands, or put its folder on the PATH in ~/.bashrc"},
    {"No matching distribution found for", "ray", "no Ray release matches this Python version",
     "Ray's releases are for certain versions of Python and for x86_64 and aarch64; see "
     "https://pypi.org/project/ray/#files"},
    {"No matching distribution found for", NULL, "pip cannot find that package",
     "check its name and version, and that it exists for this Python and architecture"},
    {"conda: command not found", NULL, "conda is not on the PATH of the login shell",
     "use an image that has conda, or run `source ~/anaconda3/etc/profile.d/conda.sh` first"},
    {"git: command not found", NULL, "git is not installed on this machine",
     "install it first: `sudo apt-get update && sudo apt-get install -y git`"},
    {"Could not resolve host", NULL, "DNS lookups fail on this machine", DNS},
    {"Temporary failure in name resolution", NULL, "DNS lookups fail on this machine", DNS},
    {"Temporary failure resolving", NULL, "DNS lookups fail on this machine", DNS},
    {"Network is unreachable", NULL, "the machine has no route to that network",
     "check that its subnet has a route to the Internet (gateway or NAT)"},
    {"Connection timed out", NULL,
     "no answer: a firewall blocks the connection, or there is no route to the Internet", OUTBOUND},
    {"a terminal is required to read the password", NULL, "sudo asks for a password here",
     "use an image whose user has passwordless sudo, or avoid sudo"},
    {"a password is required", "sudo", "sudo asks for a password here",
     "use an image whose user has passwordless sudo, or avoid sudo"},
    {"is not in the sudoers file", NULL, "this user is not allowed to use sudo",
     "use the image's own user as auth.ssh_user (ubuntu, ec2-user, admin, ...)"},
    {"sudo: command not found", NULL, "sudo is not installed on this machine",
     "install it in the image, or drop it if the user is root"},
    {"NVIDIA-SMI has failed", NULL, "the GPU driver is missing or not running", GPU_DRIVER},
    {"Found no NVIDIA driver", NULL, "the GPU driver is missing", GPU_DRIVER},
    {"libcuda.so", NULL, "the GPU driver is missing", GPU_DRIVER},
    {"CUDA driver version is insufficient", NULL, "the GPU driver is too old for this CUDA version",
     "use a newer image, or packages for an older CUDA"},
    {"Killed", "pip", "pip was killed, usually because memory ran out",
     "use an instance with more memory, or `pip install --no-cache-dir`"},
    {"Cannot allocate memory", NULL, "the machine is out of memory",
     "use an instance with more memory, or add swap"},
    {"MemoryError", NULL, "the machine is out of memory", "use an instance with more memory"},
    {"Exec format error", NULL, "the program is built for another architecture",
     "arm64 instances need arm64 programs and images"},
    {"cannot execute binary file", NULL, "the program is built for another architecture",
     "arm64 instances need arm64 programs and images"},
    {"Unable to locate credentials", NULL, "the command called AWS without credentials",
     "give the node type an IamInstanceProfile whose role allows the call"},
    {"AccessDenied", NULL, "the IAM role of this instance does not allow the AWS call",
     "grant that permission to the role of the node type's IamInstanceProfile"},
    {"certificate verify failed", NULL, "a certificate is not trusted",
     "if a proxy is in between, install its certificate on the machine; also check the machine's "
     "clock"},
    {"Permission denied", NULL, "the user has no permission for that file",
     "use sudo, or another directory"},
    {"command not found", NULL, "a program is missing, or not on the PATH of the login shell",
     "install it in setup_commands before it is used"},
    {"No such file or directory", NULL, "a file does not exist",
     "file_mounts copies files to the machines before the setup commands"},
};

bool setup_explain(struct str tail, struct str *ret_why, struct str *ret_next)
{
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        if (str_find(tail, meanings[i].words) != SIZE_MAX &&
            (!meanings[i].also || str_find(tail, meanings[i].also) != SIZE_MAX)) {
            *ret_why = str_from(meanings[i].why);
            *ret_next = str_from(meanings[i].next);
            return true;
        }
    }
    return false;
}

bool setup_is_blocked(struct str said)
{
    return str_find(said, PULL_LIMIT) != SIZE_MAX && str_find(said, "retry-after") == SIZE_MAX;
}

/* The texts above are for AWS. */
struct str setup_next_on(struct str cloud, struct str next)
{
    static const struct {
        const char *aws, *gcp;
    } texts[] = {
        {LARGER_DISK, "give the node type a larger disk, in its node_config:\n"
                      "  disks:\n"
                      "    - boot: true\n"
                      "      initializeParams: {diskSizeGb: 200, sourceImage: IMAGE}"},
        {REGISTRY_LOGIN,
         "log in first, in initialization_commands, for example `gcloud auth print-access-token | "
         "docker login -u oauth2accesstoken --password-stdin https://REGION-docker.pkg.dev`"},
        {OPEN_PORTS,
         "the firewall of the network must let the nodes reach each other on all ports; check that "
         "Ray is still running on the head"},
        {DNS, "check that the instance has a public address, or that its subnetwork has Cloud NAT"},
        {OUTBOUND,
         "check that the instance has a public address, or that its subnetwork has Cloud NAT; "
         "check also the egress rules of the firewall"},
        {GPU_DRIVER, "use a Deep Learning VM image, whose driver is installed at the first boot "
                     "with this in node_config:\n"
                     "  metadata:\n"
                     "    items:\n"
                     "      - {key: install-nvidia-driver, value: \"True\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (str_is(cloud, "gcp") && str_is(next, texts[i].aws)) {
            return str_from(texts[i].gcp);
        }
    }
    return next;
}

bool setup_explain_status(int status, struct str *ret_why, struct str *ret_next)
{
    static const struct {
        int status;
        const char *why, *next;
    } statuses[] = {
        {137, "it was killed, usually because the machine ran out of memory",
         "use an instance with more memory; `sudo dmesg | tail` there shows details"},
        {127, "a program is missing, or not on the PATH of the login shell",
         "install it in setup_commands before it is used"},
        {126, "a file is not a program, or not for this architecture",
         "check its permissions and the machine's architecture"},
        {100, "apt failed",
         "run `sudo apt-get update` first; wait for first boot to finish: `cloud-init status "
         "--wait`"},
    };
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        if (statuses[i].status == status) {
            *ret_why = str_from(statuses[i].why);
            *ret_next = str_from(statuses[i].next);
            return true;
        }
    }
    return false;
}

/* ---- the failure ---- */

enum node_phase setup_phase(const struct setup_step *step)
{
    switch (step->phase) {
    case SETUP_IS_WAITING:
        return PHASE_WAITING;
    case SETUP_IS_STARTING:
        return PHASE_STARTING;
    case SETUP_IS_SETUP:
        break;
    }
    return PHASE_SETTING_UP;
}

struct str setup_detail(const struct setup_step *step, struct arena *arena)
{
    return step->command.len > 0 ? secret_mask_text(arena, step->command) : str_from(step->kind);
}

/* "setup command 3 of 5", "checking the machine". Not "step": a node's progress also counts the
 * steps that are not in the file. */
static struct str setup_failure_name_of(const struct setup_step *step, struct arena *arena)
{
    return step->count > 0
               ? arena_printf(arena, "%s command %zu of %zu", step->kind, step->number, step->count)
               : arena_str(arena, str_from(step->kind));
}

static void setup_failure_explain(const struct step_event *event, struct arena *arena,
                                  struct node_failure *failure)
{
    if (setup_explain(event->tail, &failure->why, &failure->next)) {
        return;
    }
    if (event->is_late) {
        failure->why = STR("timed out");
    } else if (event->signal != 0) {
        failure->why = arena_printf(arena, "killed by signal %d", event->signal);
    } else if (!setup_explain_status(event->status, &failure->why, &failure->next)) {
        failure->why = STR("");
    }
}

struct node_failure setup_failure(const struct setup_step *step, const struct step_event *event,
                                  struct str cloud, struct arena *arena)
{
    struct node_failure failure = {
        .step = step ? setup_failure_name_of(step, arena) : arena_str(arena, event->name),
        .command = step ? secret_mask_text(arena, step->command) : STR(""),
        .path = step ? step->path : STR(""),
        .said = secret_mask_text(arena, arena_str(arena, event->tail)),
        .status = event->status,
    };
    setup_failure_explain(event, arena, &failure);
    failure.next = setup_next_on(cloud, failure.next);
    return failure;
}
