# awk -v seed=N -v under=FOLDER -f points.awk: of each variant named on a line of its own, itself with one value of every parameter drawn from its head, as a scenario lists it.
function below(n) { state = state * 16807 % 2147483647; return int(state / 2147483647 * n) }
BEGIN { state = seed * 104729 % 2147483646 + 1; for (i = 0; i < 8; i++) below(2) }
{
    file = under "/" $1 ".cu"; point = ""; inside = 0
    while ((getline line <file) > 0) {
        if (line ~ /^\*\//) break
        if (line ~ /^[a-z]/) inside = line ~ /^params:/
        if (!inside || !match(line, /^ +[A-Z_]+: *(\{values: *)?\[[^]]*\]/)) continue
        text = substr(line, RSTART, RLENGTH)
        name = text; sub(/:.*/, "", name); gsub(/ /, "", name)
        sub(/^[^[]*\[/, "", text); sub(/\]$/, "", text)
        count = split(text, value, / *, */)
        point = point (point ? ", " : "") name ": " value[1 + below(count)]
    }
    close(file)
    print point ? "{" $1 ": {" point "}}" : $1
}
