# shellcheck shell=bash disable=SC2154
# The lab's kernels: sourced by tools/lab. Needs $cache, $here (tools/lab.d), say, die and $lab_failed.
#
#   $cache/kernel/NAME/{bzImage,version,...}   finished kernels, one folder each
#   $cache/build/NAME/                         a build under way; resumed when interrupted
#
# A stats kernel's NAME carries the source's version and a hash of kernel.config, so that another
# configuration is another kernel. Only `lab kernel --refresh` looks for a newer source.

# shellcheck source=tools/lab.d/apt.sh
. "$here/apt.sh"

kernel_suite=trixie-backports
# Compiler lines of a build with kernel.config, and how much of the whole time linking and BTF take.
kernel_steps=1820
kernel_tail_percent=8
kernel_minutes=12

# Comments and empty lines do not make another kernel.
kernel_hash() { sed -e 's/[[:space:]]*#.*//' -e '/^$/d' "$here/kernel.config" | sha256sum | cut -c1-12; }

# The newest finished kernel of a kind, or nothing.
kernel_cached() { # KIND
    local pattern dir
    case $1 in
    stats) pattern="stats-*-$(kernel_hash)" ;;
    stock) pattern="stock-*" ;;
    esac
    # shellcheck disable=SC2086,SC2012 # names are ours
    for dir in $(cd "$cache/kernel" 2>/dev/null && ls -d $pattern 2>/dev/null | sort -rV); do
        if [ -s "$cache/kernel/$dir/bzImage" ] && [ -e "$cache/kernel/$dir/version" ]; then
            echo "$cache/kernel/$dir/bzImage"
            return 0
        fi
    done
    return 1
}

# Prints the path of the image; fetches or builds it when it is not in the cache.
kernel_get() { # KIND|PATH [refresh]
    local kind=$1 image
    case $kind in
    stats | stock) ;;
    */* | *bzImage* | *vmlinuz*)
        [ -r "$kind" ] || die 2 "no kernel image $kind"
        realpath -- "$kind"
        return
        ;;
    *) die 2 "unknown kernel '$kind' (stats, stock or the path of an image)" ;;
    esac
    if [ "${2:-}" != refresh ] && image=$(kernel_cached "$kind"); then
        echo "$image"
        return
    fi
    mkdir -p "$cache/kernel" "$cache/build"
    exec 8>"$cache/kernel/lock"
    if ! flock -n 8; then
        say "another lab is making a kernel; waiting for it"
        flock 8
    fi
    if [ "${2:-}" = refresh ] || ! image=$(kernel_cached "$kind"); then
        "kernel_make_$kind" >&2
        image=$(kernel_cached "$kind") || die "$lab_failed" "the kernel was made but is not in $cache/kernel"
    fi
    exec 8>&-
    echo "$image"
}

kernel_need() { # TOOL...
    local t
    for t in "$@"; do
        command -v "$t" >/dev/null || die 77 "$t is missing: run tools/install kernel"
    done
}

kernel_space() { # MiB
    local free
    free=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$1" ] || die 77 "$cache has $free MiB free; this needs $1 MiB for a while"
}

kernel_apt_setup() {
    command -v apt-get >/dev/null || die 77 "no apt-get here: give a kernel with --kernel PATH"
    debian_apt_setup "$cache/apt" deb "$kernel_suite"
}

kernel_newest() { # PATTERN of package names
    debian_apt apt-cache pkgnames linux- | grep -E "$1" | sort -V | tail -n 1
}

# Fetches packages and unpacks them together as DIRECTORY/root. apt checks them against the signed lists.
kernel_unpack() { # DIRECTORY PACKAGE...
    local dir=$1 deb
    shift
    rm -rf "$dir/root" "$dir"/*.deb
    (cd "$dir" && debian_apt apt-get download "$@") >>"$apt_dir/log" 2>&1 || {
        tail -n 5 "$apt_dir/log" >&2
        die "$lab_failed" "cannot download $*"
    }
    for deb in "$dir"/*.deb; do
        dpkg-deb -x "$deb" "$dir/root" || die "$lab_failed" "cannot unpack $deb"
        rm -f "$deb"
    done
}

kernel_version_of() { debian_apt apt-cache show "$1" | sed -n 's/^Version: //p' | head -n 1; }

# A folder appears in the cache complete or not at all.
kernel_store() { # FROM NAME
    rm -rf "${cache:?}/kernel/$2"
    mv "$1" "$cache/kernel/$2"
}

kernel_make_stats() {
    local package version name build source out
    kernel_need gcc make flex bison bc perl cpio xz pahole dpkg-deb
    kernel_space 4000
    say "making the kernel with slab statistics: about 170 MB to download, then about" \
        "$kernel_minutes minutes of compiling on 2 idle cores ($(nproc) here); once, then it is in $cache/kernel"
    kernel_apt_setup
    package=$(kernel_newest '^linux-source-7\.[0-9]+$')
    [ -n "$package" ] || die 77 "$kernel_suite has no linux-source-7.* now: give an image with --kernel PATH"
    version=$(kernel_version_of "$package")
    name=stats-$version-$(kernel_hash)
    name=${name//[^A-Za-z0-9.+-]/_}
    if [ -s "$cache/kernel/$name/bzImage" ]; then
        say "$package $version is the newest and is built already"
        return
    fi
    # Builds of other versions or configurations that were given up.
    find "$cache/build" -mindepth 1 -maxdepth 1 ! -name "$name" -exec rm -rf {} +
    build=$cache/build/$name
    source=$build/linux
    if [ ! -e "$build/unpacked" ]; then
        rm -rf "$build"
        mkdir -p "$source"
        say "downloading $package $version"
        kernel_unpack "$build" "$package"
        say "unpacking"
        tar -xJf "$build"/root/usr/src/linux-source-*.tar.xz -C "$source" --strip-components=1 ||
            die "$lab_failed" "cannot unpack the kernel's source"
        rm -rf "$build/root"
        : >"$build/unpacked"
    else
        say "going on with the interrupted build in $build"
    fi
    kernel_configure "$source" "$build/log"
    kernel_compile "$source" "$build/log"
    out=$build/out
    mkdir -p "$out"
    cp "$source/arch/x86/boot/bzImage" "$source/System.map" "$out/"
    cp "$source/.config" "$out/config"
    {
        echo "package $package"
        echo "version $version"
        echo "release $(cat "$source/include/config/kernel.release")"
    } >"$out/version"
    kernel_store "$out" "$name"
    rm -rf "$build" "$apt_dir/cache"
    say "kernel $version is ready"
}

kernel_configure() { # SOURCE LOG
    local option
    (
        cd "$1"
        make tinyconfig
        ./scripts/kconfig/merge_config.sh -m .config "$here/kernel.config"
        make olddefconfig
    ) >"$2" 2>&1 || { tail -n 20 "$2" >&2; die "$lab_failed" "configuring the kernel failed (log: $2)"; }
    # Another source may have renamed what the lab cannot do without.
    for option in SLUB_STATS NUMA CPUSETS 9P_FS OVERLAY_FS VIRTIO_NET VIRTIO_PCI IO_URING AIO NFS_V3 NFS_V4 NFSD_V4 \
        SUNRPC_XPRT_RDMA RDMA_RXE RDMA_SIW DEBUG_INFO_BTF FPROBE KPROBES; do
        grep -q "^CONFIG_$option=y" "$1/.config" ||
            die "$lab_failed" "this source does not take CONFIG_$option from tools/lab.d/kernel.config"
    done
}

kernel_compile() { # SOURCE LOG
    local pid rc=0 start now steps percent left last=-100 before
    # One more job than cores hides the waiting for files. setsid: a Ctrl-C is ours to pass on.
    # BTF takes types from the debug information, not where variables live: not tracking them
    # saves 12 % of the compiling.
    KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=numaload \
        setsid setpriv --pdeathsig TERM make -C "$1" -j "$(($(nproc) + 1))" bzImage \
        KCFLAGS='-fno-var-tracking -fno-var-tracking-assignments' >>"$2" 2>&1 </dev/null 8>&- &
    pid=$!
    # shellcheck disable=SC2064
    trap "kill -TERM -- -$pid 2>/dev/null; say 'kernel build interrupted; the next start goes on with it'; exit 130" INT TERM HUP
    start=$SECONDS
    # What an earlier, interrupted build has done already.
    before=$(find "$1" -name '*.o' -newer "$1/Kbuild" 2>/dev/null | wc -l)
    while kill -0 $pid 2>/dev/null; do
        sleep 2
        now=$((SECONDS - start))
        steps=$(($(grep -cE '^  (CC|AS) ' "$2" || true) + before))
        [ "$steps" -le $kernel_steps ] || steps=$kernel_steps
        percent=$((steps * (100 - kernel_tail_percent) / kernel_steps))
        if [ $((steps - before)) -gt 50 ]; then
            left=$((now * (kernel_steps * 100 / (100 - kernel_tail_percent) - steps) / (steps - before)))
            left="about $(((left + 59) / 60)) min left"
        else
            left="about $kernel_minutes min in all"
        fi
        if [ -t 2 ]; then
            printf '\rlab: kernel %3d %% (%d of about %d files), %s   ' "$percent" "$steps" "$kernel_steps" "$left" >&2
        elif [ $((now - last)) -ge 30 ]; then
            say "kernel $percent % ($steps of about $kernel_steps files), $left"
            last=$now
        fi
    done
    wait $pid || rc=$?
    [ ! -t 2 ] || echo >&2
    trap - INT TERM HUP
    if [ $rc -ne 0 ]; then
        grep -E 'error|Error|No such' "$2" | tail -n 10 >&2 || tail -n 10 "$2" >&2
        die "$lab_failed" "the kernel build failed (log: $2)"
    fi
    say "compiled in $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s"
}

# Debian's own image: no slab statistics, everything as modules.
kernel_make_stock() {
    local package version name build out release modules m f parts
    kernel_need dpkg-deb depmod modprobe xz cpio
    kernel_space 1500
    say "fetching Debian's kernel image (about 120 MB; once, then it is in $cache/kernel)"
    kernel_apt_setup
    package=$(kernel_newest '^linux-image-7\.[0-9.]+\+?[a-z0-9+]*-amd64$' || true)
    [ -n "$package" ] || die 77 "$kernel_suite has no linux-image-7.*-amd64 now: give an image with --kernel PATH"
    version=$(kernel_version_of "$package")
    name=stock-$version
    name=${name//[^A-Za-z0-9.+-]/_}
    build=$cache/build/$name
    mkdir -p "$build"
    # Image and modules may be in packages of their own that linux-image depends on.
    mapfile -t parts < <(debian_apt apt-cache show "$package" | sed -n 's/^Depends: //p' | head -n 1 | tr ',|' '\n\n' |
        sed -nE 's/^ *(linux-(base|binary|modules)-[0-9][^ ]*).*/\1/p')
    kernel_unpack "$build" "$package" ${parts[@]+"${parts[@]}"}
    out=$build/out
    rm -rf "$out" "$build/tree"
    mkdir -p "$out/modules" "$out/early"
    # Below /boot, or beside the modules in newer packages.
    f=$(find "$build/root" -name 'vmlinuz*' -type f -print -quit)
    [ -n "$f" ] || die "$lab_failed" "$package holds no kernel image"
    cp "$f" "$out/bzImage"
    f=$(find "$build/root" \( -path '*/boot/config-*' -o -path '*/modules/*/config' \) -type f -print -quit)
    if [ -n "$f" ]; then cp "$f" "$out/config"; fi
    modules=$(find "$build/root" -type d -path '*/lib/modules/*' -prune -print | head -n 1)
    [ -n "$modules" ] || die "$lab_failed" "$package holds no modules"
    release=${modules##*/}
    # depmod wants lib/modules/RELEASE below one root.
    mkdir -p "$build/tree/lib/modules"
    mv "$modules" "$build/tree/lib/modules/$release"
    depmod -b "$build/tree" "$release"
    # What the initramfs must load before it can reach the host's root, in order, unpacked
    # (busybox's insmod does not read .xz).
    for m in virtio_pci 9pnet_virtio 9p overlay; do
        modprobe -d "$build/tree" -S "$release" --show-depends "$m" 2>/dev/null || true
    done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' >"$build/early.list"
    : >"$out/early/order"
    while read -r f; do
        m=${f##*/}
        m=${m%.xz}
        case $f in
        *.xz) xz -dc "$f" >"$out/early/$m" ;;
        *) cp "$f" "$out/early/$m" ;;
        esac
        echo "$m" >>"$out/early/order"
    done <"$build/early.list"
    grep -q '^9p.ko' "$out/early/order" || die "$lab_failed" "$package has no 9p module"
    rm -rf "$out/modules"
    mv "$build/tree/lib/modules/$release" "$out/modules"
    {
        echo "package $package"
        echo "version $version"
        echo "release $release"
    } >"$out/version"
    kernel_store "$out" "$name"
    rm -rf "$build" "$apt_dir/cache"
    say "kernel $version is ready"
}
