# notebook.sh: runs Jupyter on the head for `shoal notebook`.
#
# It runs in bash, in the user's login shell or in the container. The lines before this text set
# `port`, where Jupyter listens, and `limit`: `shoal notebook` writes a line every few seconds, and
# Jupyter ends after this many seconds of silence, or at once when standard input ends. So it does
# not outlive the connection, also in a container, where killing `docker exec` would not end it.
#
# The lines "shoal-notebook WORD ..." are for src/cli/verb_notebook.c. The token is made here and
# passed in the environment: it is in no command line.
pid=
log=
say() {
    echo "shoal-notebook $*"
}

is_open() {
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}

is_running() {
    kill -0 "$pid" 2>/dev/null
}

finish() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null
    for _ in {1..50}; do
        is_running || break
        sleep 0.1
    done
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
    [ -z "$log" ] || rm -f "$log"
}

find_kind() {
    for kind in lab notebook; do
        if jupyter "$kind" --version </dev/null >/dev/null 2>&1; then return; fi
    done
    say missing
    exit 1
}

trap finish EXIT
trap 'exit 143' TERM HUP INT
find_kind
if is_open; then
    say taken
    exit 1
fi
token=$(od -An -tx1 -N24 /dev/urandom | tr -d ' \n')
log=$(mktemp "${TMPDIR:-/tmp}/shoal-notebook.XXXXXX") || exit 1
root=
[ "$(id -u)" != 0 ] || root=--allow-root
JUPYTER_TOKEN=$token jupyter "$kind" --no-browser --ip=127.0.0.1 --port="$port" --port-retries=0 \
    $root </dev/null >"$log" 2>&1 &
pid=$!
heard=$SECONDS
pause=0.2
while is_running; do
    if [ "$pause" != 1 ] && is_open; then
        say ready "$kind" "$token"
        pause=1
    fi
    if read -r -t "$pause" _; then
        heard=$SECONDS
    elif [ $? -le 128 ] || [ $((SECONDS - heard)) -ge "$limit" ]; then
        exit 0
    fi
done
wait "$pid"
status=$?
pid=
tail -n 15 "$log" >&2
say ended "$status"
exit 1
