/* setup_explain.c: what the last words of a failed step usually mean, in one table. */
#include "app/setup/setup_plan.h"

/* The first row whose words stand in the text counts: particular ones before general ones. */
static const struct {
    const char *words;
    const char *also; /* must stand there too; NULL: nothing more */
    const char *why;
    const char *next;
} meanings[] = {
    /* What our own steps say. */
    {"this node and the head have different versions", NULL,
     "Ray joins only nodes that have the head's Ray and Python",
     "use one image for all node types, or install the same versions in setup_commands"},
    {"the head's Ray did not answer", NULL,
     "Ray on the head has not come up, or cannot be reached from this node",
     "look at the head first; if Ray runs there, the security group must let the nodes reach each "
     "other on all ports"},
    {"MB are free on the disk", NULL, "the disk of the machine is nearly full",
     "give the node type a larger disk, in its node_config:\n"
     "  BlockDeviceMappings:\n"
     "    - DeviceName: /dev/sda1\n"
     "      Ebs: {VolumeSize: 200, VolumeType: gp3}"},
    {"there is no Ray on this machine, and no Python", NULL,
     "neither Ray nor a Python to install it with is there",
     "use another image, or install Python 3.10 or newer in initialization_commands"},
    {"No space left on device", NULL, "the disk of the machine is full",
     "give the node type a larger disk, in its node_config:\n"
     "  BlockDeviceMappings:\n"
     "    - DeviceName: /dev/sda1\n"
     "      Ebs: {VolumeSize: 200, VolumeType: gp3}"},
    {"Disk quota exceeded", NULL, "the user's disk quota is used up",
     "raise the quota, or install to another folder"},
    {"pip: command not found", NULL, "there is no pip on this machine",
     "use `python3 -m pip`, or install it first: `sudo apt-get update && sudo apt-get install -y "
     "python3-pip` (Debian, Ubuntu), `sudo dnf install -y python3-pip` (Amazon Linux, Fedora)"},
    {"pip3: command not found", NULL, "there is no pip on this machine",
     "install it first: `sudo apt-get update && sudo apt-get install -y python3-pip` (Debian, "
     "Ubuntu), `sudo dnf install -y python3-pip` (Amazon Linux, Fedora)"},
    {"No module named pip", NULL, "this Python has no pip",
     "install it first: `sudo apt-get install -y python3-pip`, or `python3 -m ensurepip --user`"},
    {"externally-managed-environment", NULL,
     "this distribution does not let pip install into its own Python",
     "install into an environment (`python3 -m venv ~/env` and its pip), or add "
     "`--break-system-packages`"},
    {"docker: command not found", NULL, "there is no Docker on this machine",
     "use an image that has it, or install it in initialization_commands: `curl -fsSL "
     "https://get.docker.com | sudo sh`"},
    {"permission denied while trying to connect to the Docker daemon", NULL,
     "the user may not use Docker",
     "in initialization_commands: `sudo usermod -aG docker $USER`; it holds from the next login "
     "on"},
    {"Cannot connect to the Docker daemon", NULL, "Docker is installed, but does not run",
     "in initialization_commands: `sudo systemctl enable --now docker`"},
    {"/var/lib/dpkg/lock", NULL, "another program is installing packages, often the first boot's",
     "wait for it before: `sudo apt-get -o DPkg::Lock::Timeout=300 install ...`, or `cloud-init "
     "status --wait`"},
    {"/var/lib/apt/lists/lock", NULL, "another apt is running, often the first boot's",
     "wait for it before: `cloud-init status --wait`"},
    {"Unable to locate package", NULL, "apt does not know that package",
     "run `sudo apt-get update` before, and look at its name for this distribution"},
    {"Version mismatch: The cluster was started with", NULL,
     "this node has another Ray or Python than the head",
     "install the same versions on both: pin `ray==VERSION` and Python in setup_commands, or use "
     "one image for all node types"},
    {"Timed out waiting for file", NULL,
     "Ray's agent on this node did not come up in time: the machine is too slow or too small, or "
     "packages that it needs are missing",
     "look into /tmp/ray/session_latest/logs/dashboard_agent.log there; install `ray[default]`, or "
     "take a larger machine"},
    {"Unable to connect to GCS", NULL, "Ray on the head cannot be reached from here",
     "the security group must let the nodes reach each other on all ports; look whether Ray still "
     "runs on the head"},
    {"Failed to connect to GCS", NULL, "Ray on the head cannot be reached from here",
     "the security group must let the nodes reach each other on all ports; look whether Ray still "
     "runs on the head"},
    {"Authentication token is missing or incorrect", NULL,
     "this node's token for Ray is not that of the head",
     "run `shoal up` again; commands that set RAY_AUTH_MODE or RAY_AUTH_TOKEN must do so on all "
     "nodes"},
    {"Ray is already running at", NULL, "another Ray runs on this machine",
     "begin the start commands with `ray stop`"},
    {"Address already in use", NULL, "another program has the port that Ray wants",
     "begin the start commands with `ray stop`, or choose another --port"},
    {"ray: command not found", NULL, "Ray is not on the PATH of the login shell",
     "install it in setup_commands, or put its folder on the PATH in ~/.bashrc"},
    {"No matching distribution found for", "ray", "there is no such Ray for this Python",
     "Ray's releases are for certain versions of Python and for x86_64 and aarch64; see "
     "https://pypi.org/project/ray/#files"},
    {"No matching distribution found for", NULL, "pip does not find that package",
     "look at its name and version, and whether there is one for this Python and architecture"},
    {"conda: command not found", NULL, "there is no conda on the PATH of the login shell",
     "use an image that has it, or `source ~/anaconda3/etc/profile.d/conda.sh` before"},
    {"git: command not found", NULL, "there is no git on this machine",
     "install it before: `sudo apt-get update && sudo apt-get install -y git`"},
    {"Could not resolve host", NULL, "names cannot be resolved on this machine",
     "does its subnet have a way to the Internet (gateway or NAT), and the VPC DNS?"},
    {"Temporary failure in name resolution", NULL, "names cannot be resolved on this machine",
     "does its subnet have a way to the Internet (gateway or NAT), and the VPC DNS?"},
    {"Temporary failure resolving", NULL, "names cannot be resolved on this machine",
     "does its subnet have a way to the Internet (gateway or NAT), and the VPC DNS?"},
    {"Network is unreachable", NULL, "the machine has no way to that network",
     "does its subnet have a way to the Internet (gateway or NAT)?"},
    {"Connection timed out", NULL, "nobody answered: a firewall, or no way to the Internet",
     "look at the subnet's routes and at the outgoing rules of the security group"},
    {"a terminal is required to read the password", NULL, "sudo wants a password here",
     "use an image whose user may use sudo without one, or do without sudo"},
    {"a password is required", "sudo", "sudo wants a password here",
     "use an image whose user may use sudo without one, or do without sudo"},
    {"is not in the sudoers file", NULL, "this user may not use sudo",
     "use the image's own user as auth.ssh_user (ubuntu, ec2-user, admin, ...)"},
    {"sudo: command not found", NULL, "there is no sudo on this machine",
     "install it in the image, or do without it where the user is root"},
    {"NVIDIA-SMI has failed", NULL, "the driver of the GPU is missing or does not run",
     "use an image with the driver (a Deep Learning AMI), or install it before"},
    {"Found no NVIDIA driver", NULL, "the driver of the GPU is missing",
     "use an image with the driver (a Deep Learning AMI), or install it before"},
    {"libcuda.so", NULL, "the driver of the GPU is missing",
     "use an image with the driver (a Deep Learning AMI), or install it before"},
    {"CUDA driver version is insufficient", NULL, "the GPU's driver is older than what CUDA wants",
     "use a newer image, or packages for an older CUDA"},
    {"Killed", "pip", "pip was ended, mostly because the memory ran out",
     "take a machine with more memory, or `pip install --no-cache-dir`"},
    {"Cannot allocate memory", NULL, "the memory of the machine is used up",
     "take a machine with more memory, or add swap"},
    {"MemoryError", NULL, "the memory of the machine is used up",
     "take a machine with more memory"},
    {"Exec format error", NULL, "that program is for another architecture",
     "arm64 machines need arm64 programs and images"},
    {"cannot execute binary file", NULL, "that program is for another architecture",
     "arm64 machines need arm64 programs and images"},
    {"Unable to locate credentials", NULL, "AWS was asked without credentials",
     "give the node type an IamInstanceProfile whose role may do that"},
    {"AccessDenied", NULL, "the role of this machine may not do that",
     "give the role of the node type's IamInstanceProfile that right"},
    {"certificate verify failed", NULL, "a certificate is not trusted",
     "is a proxy in between? put its certificate on the machine, and look at the machine's clock"},
    {"Permission denied", NULL, "the user may not touch that file",
     "use sudo for it, or another folder"},
    {"command not found", NULL, "a program is not there, or not on the PATH of the login shell",
     "install it in setup_commands before it is used"},
    {"No such file or directory", NULL, "a file is not there",
     "file_mounts copies files to the machines before the set-up commands"},
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

bool setup_explain_status(int status, struct str *ret_why, struct str *ret_next)
{
    static const struct {
        int status;
        const char *why, *next;
    } statuses[] = {
        {137, "it was killed, mostly because the memory of the machine ran out",
         "take a machine with more memory; `sudo dmesg | tail` there says more"},
        {127, "a program is not there, or not on the PATH of the login shell",
         "install it in setup_commands before it is used"},
        {126, "a file is not a program, or not for this architecture",
         "look at its rights and at the machine's architecture"},
        {100, "apt could not do it",
         "run `sudo apt-get update` before; wait for the first boot: `cloud-init status --wait`"},
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
