#!/usr/bin/env bash
# The page of a report in headless Chromium: in light and dark, as wide as a phone, on paper.
# Exit status 77 without Chromium or gnuplot.
. "$(dirname "$0")/lib.sh"
for program in chromium gnuplot; do
    command -v $program >/dev/null || {
        echo "skipped: there is no $program; 'tools/install test report' installs it"
        exit 77
    }
done
data=$source_dir/tests/data/published
"$numaload" report --format html --matrix "$data"/t3-*.json >"$work/matrix.html"
"$numaload" report --format html --runs "$data"/t3-*.json "$data/t1-node0-node1.json" \
    >"$work/runs.html"

browser() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --hide-scrollbars --user-data-dir="$work/user" "$@" 2>"$work/chromium"
}

# A window of Chromium cannot be as narrow as a phone, a frame can.
frames() {
    echo '<!DOCTYPE html><html><body style="margin: 0; display: flex">'
    for width in "$@"; do
        for page in matrix runs; do
            echo "<iframe src='$page.html' style='border: 0; flex: none; width: ${width}px; height: 600px'></iframe>"
        done
    done
}
frames 360 >"$work/phone.html"
{
    frames 360 1000
    cat <<'JS'
<script>
onload = () => {
    for (const f of document.querySelectorAll("iframe")) {
        const d = f.contentDocument, p = document.createElement("p"), r = d.documentElement;
        const wide = [...d.querySelectorAll("body *")].filter(e => !e.closest(".table, .wide")
            && e.getBoundingClientRect().right > r.clientWidth + 1).length;
        const plots = [...d.querySelectorAll("figure svg")].filter(e => e.clientHeight > 100);
        p.textContent = ["seen", r.clientWidth, r.scrollWidth, wide, plots.length,
            d.querySelectorAll("tbody tr").length].join(" ");
        document.body.append(p);
    }
}
</script>
JS
} >"$work/look.html"

browser --allow-file-access-from-files --virtual-time-budget=5000 --dump-dom \
    "file://$work/look.html" | grep -o 'seen [0-9 ]*' >"$work/seen"
check "four pages are laid out: $(cat "$work/seen" "$work/chromium")" \
    [ "$(wc -l <"$work/seen")" = 4 ]
i=0
while read -r _ width content beyond plots rows; do
    want=$((i++ < 2 ? 360 : 1000))
    check "a page $width px wide, not $want" [ "$width" = $want ]
    check "at $width px the page is $content px wide" [ "$content" -le "$width" ]
    check "at $width px $beyond elements reach beyond the edge" [ "$beyond" = 0 ]
    check "at $width px there are $plots plots" [ "$plots" -ge 3 ]
    check "at $width px there are $rows rows" [ "$rows" -ge 20 ]
done <"$work/seen"

dark=--blink-settings=preferredColorScheme=0
browser --window-size=720,600 --screenshot="$work/light.png" "file://$work/phone.html"
browser --window-size=720,600 $dark --screenshot="$work/dark.png" "file://$work/phone.html"
browser --window-size=1000,700 --screenshot="$work/wide.png" "file://$work/matrix.html"
browser $dark --no-pdf-header-footer --print-to-pdf="$work/paper.pdf" "file://$work/matrix.html"

# background FILE COLOUR: what a screenshot is painted on, with text and a coloured plot in each half.
background() {
    check "the picture of $1" /usr/bin/python3 - "$work/$1" "$2" <<'PY'
import collections, struct, sys, zlib

def rows(png):  # 8 bits, no interlace: what Chromium writes (PNG specification, 9.2)
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, _, bits, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            assert bits == 8 and interlace == 0
            channels = {2: 3, 6: 4}[colour]
        data += body if kind == b"IDAT" else b""
        at += size + 12
    data, stride = zlib.decompress(data), width * channels
    above = bytearray(stride)
    for start in range(0, len(data), stride + 1):
        how, row = data[start], bytearray(data[start + 1:start + 1 + stride])
        for i in range(stride if how else 0):
            a, b = row[i - channels] if i >= channels else 0, above[i]
            c = above[i - channels] if i >= channels else 0
            if how == 4:
                p = a + b - c
                add = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            else:
                add = (0, a, b, (a + b) // 2)[how]
            row[i] = (row[i] + add) & 255
        above = row
        yield [tuple(row[i:i + 3]) for i in range(0, stride, channels)]

wanted = tuple(bytes.fromhex(sys.argv[2]))
halves = collections.Counter(), collections.Counter()
for row in rows(open(sys.argv[1], "rb").read()):
    halves[0].update(row[:len(row) // 2])
    halves[1].update(row[len(row) // 2:])
for pixels in halves:
    most, often = pixels.most_common(1)[0]
    every = sum(pixels.values())
    assert most == wanted, "painted on %s" % bytes(most).hex()
    assert 0.01 < 1 - often / every < 0.5, "%.4f is not background" % (1 - often / every)
    apart = sum(n for p, n in pixels.items() if abs(sum(p) - sum(wanted)) > 400)
    assert apart > 300, "%d pixels of text" % apart
    assert sum(n for p, n in pixels.items() if max(p) - min(p) > 60) > 50, "no coloured plot"
PY
}
background light.png ffffff
background dark.png 14171b
background wide.png ffffff

# On paper it is black on white, whatever the screen prefers.
check "the page on paper" /usr/bin/python3 - "$work/paper.pdf" <<'PY'
import re, sys, zlib

pdf = open(sys.argv[1], "rb").read()
assert pdf.startswith(b"%PDF-")
text = b""
for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S):
    try:
        text += zlib.decompress(stream)
    except zlib.error:
        pass  # fonts and pictures
pages = len(re.findall(rb"/Type ?/Page\b", pdf))
assert 1 <= pages <= 10, pages
assert len(re.findall(rb"\bBT\b", text)) > 100, "hardly any text"
colours = {tuple(float(x) for x in c.split()) for c in re.findall(rb"((?:[.\d]+ ){3})rg", text)}
assert (0, 0, 0) in colours and (1, 1, 1) in colours, colours
dark = [c for c in colours if all(abs(a - b / 255) < 0.003 for a, b in zip(c, (0x14, 0x17, 0x1b)))
        or all(abs(a - b / 255) < 0.003 for a, b in zip(c, (0xe6, 0xe9, 0xed)))
        or all(abs(a - b / 255) < 0.003 for a, b in zip(c, (0x9a, 0xa4, 0xb0)))]
assert not dark, "colours of the dark page on paper: %s" % dark
PY
