# shellcheck shell=bash disable=SC2154
# What is fetched from Debian beside the machine's own packages: sourced by kernel.sh and by
# tests/bench/get_t_io_uring. Needs say and die.

# apt with sources and lists of our own below a cache: the machine's configuration stays as it
# is. The mirror and its keyring are those that this machine already uses for Debian.
debian_apt() { # apt-get|apt-cache ARG...
    local tool=$1
    shift
    "$tool" -q -o Dir::Etc::sourcelist="$apt_dir/sources.list" -o Dir::Etc::sourceparts="$apt_dir/none" \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$apt_dir/none" \
        -o Dir::State::lists="$apt_dir/lists" -o Dir::Cache="$apt_dir/cache" \
        -o APT::Sandbox::User="$(id -un)" -o Acquire::AllowInsecureRepositories=false \
        -o APT::Get::AllowUnauthenticated=false -o Acquire::Languages=none "$@"
}

# Sets apt_dir, and reads the lists of one suite: of packages (deb) or of their sources (deb-src).
debian_apt_setup() { # DIRECTORY deb|deb-src SUITE
    local uri keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    command -v apt-get >/dev/null || die 77 "no apt-get here: nothing can be fetched from Debian"
    [ -r $keyring ] || die 77 "$keyring is missing: run tools/install kernel"
    # shellcheck disable=SC2016 # the format is for apt
    # The archive that offers the distribution's main component under the label Debian.
    uri=$(apt-get indextargets --format '$(LABEL)|$(ORIGIN)|$(COMPONENT)|$(REPO_URI)' \
        'Created-By: Packages' 2>/dev/null | awk -F'|' '$1 == "Debian" && $2 == "Debian" && $3 == "main" { print $4; exit }')
    if [ -z "$uri" ]; then
        # The lists may have been removed (images do that): take what the sources say.
        uri=$(apt-get indextargets --format '$(COMPONENT)|$(RELEASE)|$(REPO_URI)' 'Created-By: Packages' |
            awk -F'|' '$1 == "main" && $2 !~ /security/ { print $3; exit }')
    fi
    [ -n "$uri" ] || die 77 "apt has no Debian archive configured that $3 could come from"
    apt_dir=$1
    mkdir -p "$apt_dir"/{lists/partial,cache/archives/partial,none}
    # The address may carry a password.
    (umask 077 && echo "$2 [signed-by=$keyring] $uri $3 main" >"$apt_dir/sources.list")
    debian_apt apt-get update >"$apt_dir/log" 2>&1 || {
        tail -n 5 "$apt_dir/log" >&2
        die "${lab_failed:-1}" "cannot read the suite $3 with this machine's mirror (log: $apt_dir/log)"
    }
}
