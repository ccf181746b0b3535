# awk -f glob.awk PATTERNS ACTUAL: line-wise glob match of a command's output. In a pattern line `*` stands for any text and everything
# else for itself; a line `...` stands for any number of lines. Exit 0 on a match; else prints both and exits 1.
# -v rewrite=1 prints the patterns anew instead: what was printed, with the old pattern lines wherever they still match.

# True when the text matches one pattern line: the pieces between the stars are found left to right.
function line_matches(pattern, text,    parts, n, i, at) {
    n = split(pattern, parts, "*")
    if (n == 0) return text == ""
    if (n == 1) return pattern == text
    if (substr(text, 1, length(parts[1])) != parts[1]) return 0
    text = substr(text, length(parts[1]) + 1)
    for (i = 2; i < n; i++) {
        if (parts[i] == "") continue
        at = index(text, parts[i])
        if (!at) return 0
        text = substr(text, at + length(parts[i]))
    }
    return length(text) >= length(parts[n]) && substr(text, length(text) - length(parts[n]) + 1) == parts[n]
}
FNR == 1 { file++ }
FILENAME == ARGV[1] { pattern[++patterns] = $0; next }
{ actual[++lines] = $0 }
END {
    # The usual two-pointer glob: after a `...`, a mismatch moves the point where it ends one line on.
    p = 1; l = 1; star = 0
    while (l <= lines) {
        if (p <= patterns && pattern[p] == "...") { star = p++; resume = l; continue }
        if (p <= patterns && line_matches(pattern[p], actual[l])) { p++; l++; if (l > deepest) deepest = l; continue }
        if (p > reached) { reached = p; stopped = l }
        if (!star) break
        p = star + 1; l = ++resume
    }
    while (p <= patterns && pattern[p] == "...") p++
    matched = l > lines && p > patterns
    if (rewrite) {
        p = 1
        for (l = 1; l <= lines; l++) {
            for (q = p; q <= patterns && q < p + 20; q++)
                if (pattern[q] != "..." && line_matches(pattern[q], actual[l])) break
            if (q <= patterns && q < p + 20) { print pattern[q]; p = q + 1 } else print actual[l]
        }
        exit 0
    }
    if (matched) exit 0
    if (reached && reached <= patterns) printf "%s:%d matches nothing here: %s\n", ARGV[1], reached, pattern[reached]
    else if (p <= patterns) printf "%s:%d is missing: %s\n", ARGV[1], p, pattern[p]
    else print "more lines than " ARGV[1] " allows"
    print "--- printed:"
    for (l = 1; l <= lines && l <= 40; l++) print actual[l]
    exit 1
}
