#!/usr/bin/env bash
# The manual pages: nothing for roff to complain about, every command and every key in them.
. "$(dirname "$0")/lib.sh"
pages=$(dirname "$numaload")/generated
[ -f "$pages/numaload.1" ] || { echo "no $pages/numaload.1: built without it"; exit 77; }
for page in "$pages"/*.[1-8] "$source_dir"/tools/man/*.[1-8]; do
    [ -f "$page" ] || continue
    name=${page##*/}
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$page" >"$work/lint" 2>&1
        check "$name: $(head -n 3 "$work/lint")" test ! -s "$work/lint"
    fi
    if command -v man >/dev/null && command -v groff >/dev/null; then
        man --warnings -l "$page" 2>"$work/warnings" >"$work/$name.txt"
        check "$name: $(head -n 3 "$work/warnings")" test ! -s "$work/warnings"
        check "$name is empty" test "$(wc -l <"$work/$name.txt")" -gt 20
    fi
done
roff() { sed 's/-/\\-/g' <<<"$1"; }
for command in $("$numaload" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    check "numaload(1) lacks $command" grep -q "^\.SS numaload $command\$" "$pages/numaload.1"
done
for key in $("$numaload" run --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
    check "numaload(1) lacks --$key" grep -Fq -- ".BI \\-\\-$(roff "$key")" "$pages/numaload.1"
    check "numaload-profile(5) lacks $key" grep -Fq -- ".BI $(roff "$key")" \
        "$pages/numaload-profile.5"
done
for key in $("$numaload" matrix --help | sed -n 's/^  --\([a-z-]*\) .*/\1/p'); do
    case $key in dry-run | new-series) continue ;; esac # no settings
    check "numaload-profile(5) lacks $key" grep -Fq -- ".BI $(roff "$key") \" = " \
        "$pages/numaload-profile.5"
done
check "the page has a placeholder left" test -z "$(grep '@[A-Z]*@' "$pages"/*.[15])"
