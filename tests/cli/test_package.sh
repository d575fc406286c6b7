#!/usr/bin/env bash
# cpack makes a Debian package that holds what it should and depends on the libraries it uses.
. "$(dirname "$0")/lib.sh"
build=$(dirname "$numaload")
for program in dpkg-deb dpkg-shlibdeps cpack; do
    command -v $program >/dev/null || { echo "no $program (dpkg-dev, cmake)"; exit 77; }
done
[ -f "$build/CPackConfig.cmake" ] || { echo "no $build/CPackConfig.cmake"; exit 77; }
expect 0 "package: .*numaload_.*_$(dpkg --print-architecture).deb generated" \
    cpack --config "$build/CPackConfig.cmake" -B "$work/package"
deb=$(ls "$work"/package/*.deb) || exit 1

dpkg-deb -c "$deb" >"$work/list"
for file in usr/bin/numaload usr/share/man/man1/numaload.1.gz \
    usr/share/man/man5/numaload-profile.5.gz usr/share/bash-completion/completions/numaload \
    usr/share/numaload/profiles/published.ini usr/share/numaload/profiles/local.ini \
    usr/share/numaload/profiles/lab.ini usr/share/doc/numaload/copyright \
    usr/share/doc/numaload/changelog.gz; do
    check "the package lacks $file" grep -q " \./$file\$" "$work/list"
done
for page in "$source_dir"/tools/man/*.[1-8]; do
    [ ! -f "$page" ] || check "the package lacks ${page##*/}" grep -q "/${page##*/}.gz\$" "$work/list"
done
check "more than the program is in /usr/bin" test "$(grep -c ' \./usr/bin/.' "$work/list")" = 1
check "something is outside /usr" test -z "$(grep -v ' \./$\| \./usr/' "$work/list")"
check "something is not root's" test -z "$(grep -v ' root/root ' "$work/list")"

dpkg-deb -I "$deb" >"$work/info"
for library in libc6 libhwloc15 libjansson4 libinih1 libnuma1 zlib1g; do
    check "Depends lacks $library" grep -Eq "Depends:.*\b$library\b" "$work/info"
done
check "no maintainer" grep -Eq "Maintainer: .+ <.+@.+>" "$work/info"
dpkg-deb -x "$deb" "$work/root"
expect 0 "numaload [0-9.]+" "$work/root/usr/bin/numaload" version
check "the page cannot be read" test -n "$(zcat "$work/root/usr/share/man/man1/numaload.1.gz" |
    grep '^\.TH NUMALOAD 1')"
# lintian knows the policy.
if command -v lintian >/dev/null; then
    check "lintian: $(lintian --allow-root "$deb" | head -n 5)" \
        lintian --allow-root --fail-on error,warning "$deb"
fi
