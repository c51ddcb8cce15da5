#!/bin/sh
# Installs Shoal for one user, without root, and removes it again.
#
#   install.sh [--version VERSION] [--prefix FOLDER] [--from URL] [--sha256 DIGEST]
#   install.sh --uninstall [--prefix FOLDER]
#
# Downloads URL/shoal-VERSION-SYSTEM-ARCH.tar.gz, compares its SHA-256 with the line in
# URL/SHA256SUMS (or with --sha256), and only then unpacks it into FOLDER (~/.local). The signature
# of SHA256SUMS is verified with the key below, if there is one and OpenSSL 3 is installed; without
# that the digest protects against damage only, and the script says so. The list of installed files
# is FOLDER/share/shoal/installed-files; --uninstall removes exactly these.
set -eu
umask 022

# packaging/release fills these in.
version=
from=
public_key=

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

usage() {
    printf 'usage: install.sh [--version VERSION] [--prefix FOLDER] [--from URL]'
    printf ' [--sha256 DIGEST]\n       install.sh --uninstall [--prefix FOLDER]\n'
}

system() {
    case $(uname -s) in
        Linux) echo linux ;;
        Darwin) echo macos ;;
        *) fail "Shoal runs on Linux and macOS, not on $(uname -s)" ;;
    esac
}

machine() {
    case $(uname -m) in
        x86_64 | amd64) echo x86_64 ;;
        aarch64 | arm64) echo aarch64 ;;
        *) fail "Shoal runs on x86_64 and aarch64 machines, not on $(uname -m)" ;;
    esac
}

# A release is only fetched over https, also after a redirect. http is for tests and mirrors, and
# only if --from says so.
fetch() {
    printf 'Downloading %s\n' "$1"
    case $1 in https:*) only='=https' ;; *) only='=http,https,file' ;; esac
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --proto "$only" --proto-redir "$only" --retry 2 -o "$2" "$1"
    elif [ "$only" != '=https' ] && command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1"
    else # wget would follow a redirect to http
        fail "curl is needed to download; install it"
    fi || fail "cannot download $1; check the version and the network"
}

digest() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d' ' -f1
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 "$1" | cut -d' ' -f1
    else
        fail "sha256sum or shasum is needed to verify the download; install one of them"
    fi
}

# Without a valid signature, SHA256SUMS proves only that the download is complete: it comes from the
# same place.
verify_sums() {
    note='a change by the server is not noticed. To be sure, get the digest elsewhere: --sha256'
    if [ -z "$public_key" ]; then
        printf 'Not verified: this script has no key for the signature of SHA256SUMS; %s\n' "$note"
    elif ! openssl pkeyutl -help 2>&1 | grep -q rawin; then
        printf 'Not verified: OpenSSL 3 is needed for the signature of SHA256SUMS; %s\n' "$note"
    else
        fetch "$from/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
        printf -- '-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n' "$public_key" \
            >"$work/key"
        openssl pkeyutl -verify -rawin -pubin -inkey "$work/key" -in "$work/SHA256SUMS" \
            -sigfile "$work/SHA256SUMS.sig" >/dev/null 2>&1 ||
            fail "the signature of SHA256SUMS is wrong: it is not from the makers of this script;" \
                "nothing was installed"
        printf 'Verified the signature of SHA256SUMS\n'
    fi
}

verify() {
    wanted=$3
    if [ -z "$wanted" ]; then
        wanted=$(awk -v name="$2" '$2 == name || $2 == "*" name {print $1}' "$work/SHA256SUMS")
        [ -n "$wanted" ] || fail "SHA256SUMS has no line for $2; nothing was installed"
    fi
    found=$(digest "$1")
    [ "$found" = "$wanted" ] || fail "$2 has the SHA-256 $found, expected $wanted: the download" \
        "is incomplete or was changed; nothing was installed"
    printf 'Verified %s: SHA-256 %s\n' "$2" "$found"
}

# A line of the list must name a file below the prefix.
remove_listed() {
    while IFS= read -r name; do
        case /$name/ in */../* | //*) fail "$1 names $name, which is outside the prefix" ;; esac
        if [ -n "$2" ] && grep -Fqx -- "$name" "$2"; then
            continue
        fi
        rm -f -- "$prefix/$name"
        # Folders that became empty, up to the prefix.
        folder=$(dirname "$name")
        while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do
            folder=$(dirname "$folder")
        done
    done <"$1"
}

uninstall() {
    [ -f "$list" ] || fail "$list does not exist: nothing to remove below $prefix"
    cp "$list" "$work/old"
    remove_listed "$work/old" ""
    printf 'Removed Shoal from %s. Keys and state of clusters were not touched.\n' "$prefix"
}

# Each file is replaced in one step, so that a running program keeps its own.
place() {
    mkdir -p "$prefix/$(dirname "$1")"
    cp "$work/tree/$1" "$prefix/$1.new.$$"
    mv -f "$prefix/$1.new.$$" "$prefix/$1"
}

install_all() {
    (cd "$work/tree" && find . -type f | sed 's|^\./||' | LC_ALL=C sort) >"$work/new"
    echo share/shoal/installed-files >>"$work/new"
    cp "$work/new" "$work/all"
    # Files of the version before are listed until they are gone: the script can be run again.
    [ ! -f "$list" ] || LC_ALL=C sort -u "$list" "$work/new" >"$work/all"
    mkdir -p "$prefix/share/shoal"
    mv "$work/all" "$list"
    grep -Fvx share/shoal/installed-files "$work/new" | while IFS= read -r name; do
        place "$name"
    done
    cp "$list" "$work/old"
    remove_listed "$work/old" "$work/new"
    cp "$work/new" "$list.new.$$" && mv -f "$list.new.$$" "$list"
}

# Not in /tmp: some systems do not run programs from there (noexec), and the program is run once
# before it is installed.
work_in_prefix() {
    is_new=
    [ -d "$prefix" ] || is_new=1
    mkdir -p "$prefix" && work=$(mktemp -d "$prefix/.shoal-install.XXXXXX") ||
        fail "cannot write to $prefix; use --prefix"
}

clean_up() {
    [ -z "$work" ] || rm -rf "$work"
    [ -z "$is_new" ] || rmdir "$prefix" 2>/dev/null || :
}

main() {
    prefix=${HOME:-}/.local
    sha256=
    uninstalls=
    while [ $# -gt 0 ]; do
        case $1 in
            --uninstall) uninstalls=1 ;;
            -h | --help) usage && exit 0 ;;
            --version | --prefix | --from | --sha256)
                [ $# -gt 1 ] || { usage >&2 && exit 2; }
                case $1 in
                    --version) version=$2 ;;
                    --prefix) prefix=$2 ;;
                    --from) from=$2 ;;
                    --sha256) sha256=$2 ;;
                esac
                shift
                ;;
            *) usage >&2 && exit 2 ;;
        esac
        shift
    done
    case $prefix in
        /.local) fail "HOME is not set; use --prefix" ;;
        /*) ;;
        *) prefix=$PWD/$prefix ;;
    esac
    list=$prefix/share/shoal/installed-files
    work=
    is_new=
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    if [ -n "$uninstalls" ]; then
        work=$(mktemp -d)
        uninstall
        return
    fi
    [ -n "$version" ] && [ -n "$from" ] || fail "no release is published yet; use" \
        "--version VERSION and --from URL"
    system=$(system)
    machine=$(machine)
    name=shoal-$version-$system-$machine
    [ -f "$list" ] || [ ! -e "$prefix/bin/shoal" ] || fail "$prefix/bin/shoal exists and was not" \
        "installed by this script; remove it, or use --prefix"
    work_in_prefix
    fetch "$from/$name.tar.gz" "$work/$name.tar.gz"
    if [ -z "$sha256" ]; then
        fetch "$from/SHA256SUMS" "$work/SHA256SUMS"
        verify_sums
    fi
    verify "$work/$name.tar.gz" "$name.tar.gz" "$sha256"
    mkdir "$work/tree"
    tar -C "$work/tree" --strip-components=1 -xzf "$work/$name.tar.gz"
    # These are ours in every prefix; the prefix has a license of its own, or none.
    mv "$work/tree/LICENSE" "$work/tree/share/doc/shoal/LICENSE"
    "$work/tree/bin/shoal" version >/dev/null || fail "the program does not run on this machine;" \
        "nothing was installed"
    install_all
    printf 'Installed %s in %s\n' "$("$prefix/bin/shoal" version)" "$prefix"
    case :$PATH: in
        *:"$prefix/bin":*) ;;
        *) printf 'Add %s to your PATH.\n' "$prefix/bin" ;;
    esac
    for needed in ssh rsync; do
        command -v $needed >/dev/null 2>&1 || printf 'shoal up also needs %s.\n' "$needed"
    done
    printf 'To remove it: install.sh --uninstall --prefix %s\n' "$prefix"
}

# At the end: a script that was cut off on the way does nothing.
main "$@"
