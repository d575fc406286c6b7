#!/usr/bin/env bash
# The bash completion: sourced, and its function called as readline would. Its tables must agree
# with what the program accepts.
. "$(dirname "$0")/lib.sh"
completion=$(dirname "$numaload")/generated/numaload.bash
[ -f "$completion" ] || { echo "no $completion: built without it"; exit 77; }
bash -n "$completion" || fail "the completion is not bash"
. "$completion"

# complete LINE: the candidates at its end, in one line.
complete_line() {
    COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
    COMPREPLY=()
    _numaload 2>/dev/null
    printf '%s ' "${COMPREPLY[@]}"
}
# offers LINE CANDIDATES: exactly these, in any order.
offers() {
    checks=$((checks + 1))
    local got want
    got=$(complete_line "$1" | tr ' ' '\n' | sed '/^$/d' | sort | xargs)
    want=$(tr ' ' '\n' <<<"$2" | sed '/^$/d' | sort | xargs)
    [ "$got" = "$want" ] || fail "'$1' offers '$got', not '$want'"
}
# contains LINE WORD...
contains() {
    local line=$1 got word
    got=" $(complete_line "$line")"
    for word in "${@:2}"; do
        checks=$((checks + 1))
        [[ $got == *" $word "* ]] || fail "'$line' does not offer '$word' but '$got'"
    done
}

check "it is not registered for numaload" grep -q "_numaload numaload" <<<"$(complete -p numaload)"
commands=$("$numaload" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | xargs)
offers "numaload " "help $commands"
offers "numaload ch" "check"
offers "numaload help pre" "prepare"
contains "numaload run --" --path --engine --live --livecsv --help
offers "numaload run --liv" "--live --livecsv"
offers "numaload check --liv" "--live --livecsv"
contains "numaload report --" --help --format
offers "numaload run --engine u" "uring"
offers "numaload run --engine=u" "uring"
offers "numaload run --engine uring --numa-balancing " "leave off"
offers "numaload run --cpus sp" "spread"
contains "numaload run --cpus " unpinned nic remote spread cpus: socket:
[ ! -d /sys/devices/system/node/node0 ] || contains "numaload run --cpus node:" 0
offers "numaload place " "show apply exec restore"
offers "numaload report --format ma" "markdown"
touch "$work/one.ini" "$work/two.ini"
mkdir "$work/folder"
offers "numaload run $work/o" "$work/one.ini"
offers "numaload run --record $work/t" "$work/two.ini"
offers "numaload run --sysroot $work/f" "$work/folder"
offers "numaload run --threads 1" ""
offers "numaload run --live $work/t" "$work/two.ini"

# Every option that is offered is known, every word accepted: by the program itself.
for command in run check prepare topo; do
    for option in $(complete_line "numaload $command --"); do
        checks=$((checks + 1))
        "$numaload" "$command" "$option" 2>&1 | grep -q "unknown option '$option'" &&
            fail "'numaload $command' does not know $option"
    done
done
for option in cpus mem cq unbound rps; do
    accepted=$("$numaload" place show --sysroot "$source_dir/tests/data/trees/devices" \
        --device mlx5_0 "--$option" ':' 2>&1 | sed 's/.* is none of //; s/ | / /g; s/:N/:/g; s/:LIST/:/g')
    offers "numaload run --$option " \
        "$accepted $(for n in /sys/devices/system/node/node[0-9]*; do
            [[ -d $n && " $accepted " == *" node: "* ]] && echo "node:${n##*node}"
        done)"
done
