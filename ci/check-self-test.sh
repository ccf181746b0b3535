# Sourced by ci/check --self-test: plants one violation of each rule in a copy of the tree; a check that reports nothing is broken itself.
# $ROOT, $BUILD and $work come from ci/check. A small script stands in for the binary, so that no build is needed here.
status=0
copy=$work/copy
prepare() {
    mkdir -p "$copy/bin" "$copy/build"
    for part in harness kernels plot ci .ci tests .clang-format; do [ ! -e "$ROOT/$part" ] || cp -R "$ROOT/$part" "$copy/"; done
    [ ! -d "$ROOT/.deps" ] || ln -s "$ROOT/.deps" "$copy/.deps"
    mkdir -p "$copy/kernels/variants/conv2d"; rm -rf "$copy/kernels/variants"/*/*
    : >"$copy/kernels/variants/conv2d/naive.cu"
    mkdir -p "$copy/reports"; echo '# FILE' >"$copy/reports/figures.tsv"
    rm -rf "$copy/tests/unit" "$copy/tests/cli" "$copy/harness/cli"; mkdir "$copy/harness/cli"
    mkdir -p "$copy/docs/reference"
    printf '# Columns\n\n<!-- index -->\n- **[A](#a)**: [id](#id), [time_ns](#time_ns)\n- **[B](#b)**: [empty](#empty)\n- **[C](#c)**\n<!-- /index -->\n\n<!-- columns -->\n## A\n\n### id\nText.\n\n### time_ns\nText.\n<!-- /columns -->\n\n## B\n\n### empty\n\n## C\n\n<!-- counters -->\n| hw.a |\n<!-- /counters -->\n<!-- pairs -->\n| emu.b |\n<!-- /pairs -->\n' >"$copy/docs/reference/columns.md"
    printf '# Method\n\n<!-- index -->\n- **[Time](#time)**\n<!-- /index -->\n\n## Time\n' >"$copy/docs/METHOD.md"
    printf '%s\n' '#!/bin/sh' 'case "$*" in' \
        'list) echo conv2d/naive ;;' '"list columns") printf "id  -\\ntime_ns  ns\\n" ;;' '--help) printf "  run   x\\n" ;;' \
        '"counters --values") echo "| hw.a |" ;;' '"counters --pairs") echo "| emu.b |" ;;' '"run --help") echo "usage: bench run; exit codes: 0" ;;' '*) exit 2 ;;' 'esac' >"$copy/bin/bench"
    chmod +x "$copy/bin/bench"
    mkdir -p "$copy/build/harness/base" "$copy/build/harness/op" "$copy/build/harness/cli"
    compile base/zz_low 'int zz_low(void); int zz_low(void) { return 1; }'
    compile op/zz_high 'int zz_low(void); int zz_high(void); int zz_high(void) { return zz_low(); }'
}
# The copy as it is; its files are the prepared ones' own, so that whoever changes one first makes it its own.
fresh() { rm -rf "$copy"; cp -al "$work/prepared" "$copy"; }
compile() { # MODULE CODE
    echo "$2" >"$copy/harness/$1.c"
    ${CC:-gcc} -c -o "$copy/build/harness/$1.o" "$copy/harness/$1.c"
}
run_copy() { env ROOT="$copy" BUILD="$copy/build" BENCH="$copy/bin/bench" sh "$copy/ci/check" "$1" >"$work/self.out" 2>&1; }
# A rule that takes seconds for all files is shown those of base/ alone.
only_base() { find "$copy/harness" -mindepth 1 -maxdepth 1 ! -name base -exec rm -rf {} +; }
# A check does not name the place on the copy as it is (which may have faults of its own), and does after the planting.
expect() { # CHECK TEXT COMMAND...
    check=$1 text=$2; shift 2
    fresh
    case $check in headers | format) only_base ;; esac
    if [ ! -f "$work/before.$check" ]; then # once for each check
        if run_copy "$check"; then : >"$work/before.$check"; else cp "$work/self.out" "$work/before.$check"; fi
    fi
    if grep -qF -- "$text" "$work/before.$check"; then echo "self-test: $check complains of '$text' before it is planted"; status=1; fi
    (cd "$copy" && "$@")
    if run_copy "$check"; then echo "self-test: $check did not notice: $*"; status=1
    elif ! grep -qF -- "$text" "$work/self.out"; then echo "self-test: $check does not name '$text': $(head -n 3 "$work/self.out")"; status=1; fi
}
own() { if [ -f "$1" ]; then cp -p "$1" "$1.own" && mv "$1.own" "$1"; fi; }
append() { own "$1"; printf '%b\n' "$2" >>"$1"; }
long_file() { awk 'BEGIN { for (i = 0; i < 601; i++) print "/* line */" }' >"$1"; }
long_function() { own "$1"; { echo 'int zz(void)'; echo '{'; awk 'BEGIN { for (i = 0; i < 70; i++) print "    f();" }'; echo '}'; } >>"$1"; }

prepare
mv "$copy" "$work/prepared"
expect layers 'base/ may not call op/' append harness/base/text.h '#include "op/op.h"'
expect layers 'run/parent/ may not call device/cuda/' append harness/run/parent/run.c '#include "device/cuda/cuda.h"'
expect layers 'run/parent/ may not call measure/' append harness/run/parent/run.c '#include "measure/rig/rig.h"'
expect layers 'plan/rows/ may not call device/' append harness/plan/rows/plan.c '#include "device/device.h"'
expect layers 'a circle' sed -i 's/^op: .*/& run\/parent/' ci/layers.txt
expect layers 'harness/zz/ is not in ci/layers.txt' sh -c 'mkdir harness/zz && echo "int x;" >harness/zz/a.c'
expect layers 'leaves its folder' append harness/op/op.h '#include "../store/row.h"'
expect layers 'only device/ may include CUDA headers' append harness/report/report.h '#include <cuda.h>'
expect variants 'kernels/variants/conv2d/zz.cu is not in ci/gate/every_variant.yaml' sh -c ': >kernels/variants/conv2d/zz.cu'
expect ops 'harness/plan/rows/zz.c:1: compares the name of an op' append harness/plan/rows/zz.c 'bool zz(const struct op *op) { return !strcmp(op->name, "layout"); }'
expect ops 'harness/cli/zz.c:1: compares the name of an op' append harness/cli/zz.c 'bool zz(const char *name) { return !strncmp(name, "upsample", 8); }'
expect ops 'harness/run/parent/zz.c:1: compares the name of an op' append harness/run/parent/zz.c 'const struct op *zz(void) { return op_find("conv2d"); }'
expect words 'harness/plan/zz.c:1: "told" is retired' append harness/plan/zz.c 'const char *zz(void) { return "not told " "above"; }'
expect words 'harness/base/zz.h:1: "gain not known" is retired' append harness/base/zz.h '/* Says the gain not known. */'
expect words '"held against" is retired' append harness/counter/limits.yaml 'zz: {value: 1, unit: x, why: "held against another"}'
expect fields 'harness/report/view/zz.c:1: takes a text of a row apart' append harness/report/view/zz.c 'bool zz(const struct view *v) { return strstr(v->row->note, "twin") != NULL; }'
expect texts 'harness/report/view/zz.c:3: zz() takes a text apart' append harness/report/view/zz.c 'bool zz(const char *said)\n{\n    return strstr(said, "twin") != NULL;\n}'
expect texts 'harness/report/view/zz.c:3: zz() takes a text apart' append harness/report/view/zz.c 'bool zz(const struct row_pair *p, double *x)\n{\n    return text_to_real(p->value, x);\n}'
expect texts 'harness/plan/rows/zz.c:3: zz() takes a text apart' append harness/plan/rows/zz.c 'bool zz(const char *a, const char *b, size_t n)\n{\n    return !memcmp(a, b, n);\n}'
expect texts 'harness/store/json.c json_list() takes no text apart' append ci/texts.txt 'store/json.c json_list tool'
expect texts 'words is no kind of text' sed -i 's/^gate\/rules.c is_date input/gate\/rules.c is_date words/' ci/texts.txt
expect symbols 'calls zz_high() of op/' compile base/zz_upward 'int zz_high(void); int zz_up(void); int zz_up(void) { return zz_high(); }'
expect symbols 'defines zz_low() that harness/base/zz_low defines too' compile op/zz_twice 'int zz_low(void); int zz_low(void) { return 2; }'
expect symbols "defines poll(), which replaces the C library's" compile op/zz_poll 'void poll(void); void poll(void) { }'
ring() {
    for i in 1 2 3 4 5 6 7; do
        next=zz_ring$((i % 7 + 1))
        compile op/zz_ring$i "int zz_ring$i(void); int $next(void); int zz_ring$i(void) { return $next(); }"
    done
}
expect circles 'harness/op: 7 files call each other in a circle' ring
expect printing 'zz_prints: uses puts; cli_say' compile cli/zz_prints '#include <stdio.h>\nint f(void); int f(void) { return puts("x"); }'
expect printing 'zz_prints: uses puts; only' compile op/zz_prints '#include <stdio.h>\nint f(void); int f(void) { return puts("x"); }'
expect headers 'zz_alone.h does not compile alone' append harness/base/zz_alone.h 'size_t zz(void);'
expect headers 'zz_twice.h does not compile alone' append harness/base/zz_twice.h 'struct zz { int x; };'
expect heads 'bench list: exit status 2' append bin/bench 'exit 2'
expect heads 'odd.cu is not in bench list' append kernels/variants/conv2d/odd.cu '/* no head */'
columns=docs/reference/columns.md
expect columns 'column time_ns has no paragraph' sed -i '/^### time_ns/d' $columns
expect columns 'the table of hardware counters in docs/reference/columns.md' sed -i 's/| hw.a |/| hw.z |/' $columns
expect columns 'the table of emu against the hardware' sed -i '/| emu.b |/d' $columns
expect index 'docs/METHOD.md is not what ci/doc-index makes of it' append docs/METHOD.md '## More'
expect index 'docs/reference/columns.md is not what ci/columns makes of it' sed -i 's/id  -/id  -\\nadded  -/' bin/bench
expect index 'docs/reference/columns.md is not what ci/columns makes of it' sed -i 's/id  -.*ns/time_ns  ns\\nid  -/' bin/bench
expect index '### time_ns is no column' sed -i 's/time_ns  ns/other_ns  ns/' bin/bench
expect links 'docs/METHOD.md:8: there is no docs/nowhere.md' append docs/METHOD.md '[there](nowhere.md)'
expect links 'docs/METHOD.md:8: docs/reference/columns.md has no heading #there' append docs/METHOD.md '[there](reference/columns.md#there)'
expect links 'docs/METHOD.md has no heading "There"' append harness/plan/zz.c '/* docs/METHOD.md, "There" */'
expect columns 'column empty has no paragraph' sed -i 's/id  -/empty  -/' bin/bench
figure() { # TEXT NUMBER: a head that says 12.5 us, and a report that says NUMBER of it, of code that nobody knows
    append kernels/variants/conv2d/naive.cu " * It takes 12.5 us$1."
    printf 'id,case,variant,time_us\na/b/naive,a/b,conv2d/naive,%s\n' "$2" >reports/r.csv
    append reports/figures.tsv 'kernels/variants/conv2d/naive.cu\t12.5 us\treports/r.csv\ta/b\tnaive\ttime_us\t-'
}
expect figures '`12.5 us` has no line' append kernels/variants/conv2d/naive.cu ' * It takes 12.5 us.'
expect figures 'reports/r.csv says 13.2' figure ' (older code)' 13.2
expect figures 'must say "older code"' figure '' 12.52
expect lies '`an interval of 90 %` changes nothing' sed -i 's/2 \* sum > level/level < 2 * sum/' harness/base/stats/estimate.c
expect length 'zz.c: 601 lines' long_file harness/base/zz.c
expect length 'zz() has 73 lines' long_function harness/base/zz.c
expect format 'zz_format.c:1: not as clang-format writes it' append harness/base/zz_format.c 'int  zz;'
if command -v git >/dev/null 2>&1; then
    export SUBJECTS_FROM=self-test-start
    expect subjects 'a subject of 61 characters' sh -c 'git init -q . && set -- git -c user.name=x -c user.email=x commit -q --allow-empty -m &&
        "$@" start && git tag self-test-start && "$@" "$(printf %061d 0)"'
    unset SUBJECTS_FROM
fi
expect map 'docs/MAP.md: harness/base/glob_list.c has no zz_gone()' append docs/MAP.md '| base/glob_list.c | `zz_gone` | none |'
expect references 'harness/base/zz.c:1: timing.c is no file' append harness/base/zz.c 'int zz; /* timing.c reads it */'
expect references 'harness/base/zz.c:2: base/zz_gone.h is no file' append harness/base/zz.c 'const char *zz = "/* no comment"; // none\nint y; // base/zz_gone.h has it'
expect references 'harness/base/zz.c:3: op/zz_gone.c is no file' append harness/base/zz.c '/* Two\n * lines:\n * op/zz_gone.c */'
expect references 'harness/base/zz.c:1: decision 7: the tree has no list' append harness/base/zz.c '/* an id (decision 7) */'
expect references 'docs/zz.md:1: gone.cu is no file' sh -c 'mkdir -p docs; echo "See gone.cu." >docs/zz.md'
expect references 'ci/setup:' append ci/setup '# as zz_gone.md has it'
expect statics 'zz_same() is a static function of 4 files' sh -c 'for i in 1 2 3 4; do echo "static int zz_same(void) { return 1; }" >harness/base/zz$i.c; done'
expect help 'bench run --help: fails' sed -i '/run --help/d' bin/bench
expect help 'does not name the exit codes' sed -i 's/; exit codes: 0//' bin/bench
expect help 'lists no verb' sed -i 's/"  run/"run/' bin/bench
expect shell 'ci/setup' append ci/setup 'if then'
