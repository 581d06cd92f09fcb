# Terminal output with colours (SGR sequences) in, an SVG picture of it out.
# Knows bold, the sixteen colours, and those of the 256 that are used here; anything else is shown plainly.

function escape(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
    return text
}

function style(codes,    part, count, at, code) {
    count = split(codes == "" ? "0" : codes, part, ";")
    for (at = 1; at <= count; at++) {
        code = part[at] + 0
        if (code == 0) { bold = 0; colour = "" }
        else if (code == 1) bold = 1
        else if (code == 22) bold = 0
        else if (code == 39) colour = ""
        else if (code == 38 && part[at + 1] == 5) { colour = palette[part[at + 2] % 16]; at += 2 }
        else if (code >= 30 && code <= 37) colour = palette[code - 30]
        else if (code >= 90 && code <= 97) colour = palette[code - 82]
    }
}

function span(text) {
    if (text == "") return ""
    text = escape(text)
    if (colour == "" && !bold) return text
    return "<tspan" (colour == "" ? "" : " fill=\"" colour "\"") (bold ? " font-weight=\"bold\"" : "") ">" text "</tspan>"
}

BEGIN {
    split("#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #b1bac4 #6e7681 #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #f0f6fc", list, " ")
    for (at = 1; at <= 16; at++) palette[at - 1] = list[at]
    step = 19; left = 18; top = 54
}

{
    line = ""
    rest = $0
    while (match(rest, /\033\[[0-9;]*m/)) {
        line = line span(substr(rest, 1, RSTART - 1))
        codes = substr(rest, RSTART + 2, RLENGTH - 3)
        rest = substr(rest, RSTART + RLENGTH)
        style(codes)
    }
    lines[++total] = line span(rest)
}

END {
    while (total > 0 && lines[total] == "") total--
    width = 960; height = top + total * step + 8
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n", width, height, width, height
    print "<title>recipe-runner-rs in a terminal</title>"
    printf "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#0d1117\"/>\n", width, height
    split("#ff5f57 #febc2e #28c840", dots, " ")
    for (at = 1; at <= 3; at++) printf "<circle cx=\"%d\" cy=\"20\" r=\"6\" fill=\"%s\"/>\n", 2 + at * 20, dots[at]
    # browsers want the style, other programs the attribute
    print "<style>text { white-space: pre }</style>"
    print "<g font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\" font-size=\"14\" fill=\"#c9d1d9\" xml:space=\"preserve\">"
    for (at = 1; at <= total; at++) if (lines[at] != "") printf "<text x=\"%d\" y=\"%d\">%s</text>\n", left, top + (at - 1) * step, lines[at]
    print "</g>\n</svg>"
}
