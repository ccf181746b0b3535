/* emu/decode/forms: which modifiers an instruction may have together, where its decoder needs few of them; and the nearest word that emu
 * knows in place of one that it does not. ptxas takes modifiers in any order, so this does, too. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include <stdio.h>
#include <stdlib.h>

#define WORD_MAX 48

/* A form is a list of groups separated by blanks. A group has its words separated by '|'; one that ends with '?' may be absent. `data` is
 * the word of any type that loads and stores have. */
struct form {
    const char *op, *groups;
};
#define SCOPE "cta|cluster|gpu|sys"
#define SHARED "shared|shared::cta|shared::cluster"
#define L1_FIRST "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate?"
#define L2_FIRST "L2::evict_normal|L2::evict_first|L2::evict_last?"
#define HINT "L2::cache_hint?"
#define AHEAD "L2::64B|L2::128B|L2::256B?"
#define VECTOR "v2|v4|v8?"
#define HALVES "f16|f16x2|bf16|bf16x2"
#define STRONG_SPACE "global|" SHARED "?"
#define FRACTION "L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged"
#define PAIR "cta_group::1|cta_group::2"
#define TIMES "x1|x2|x4|x8|x16|x32|x64|x128"
#define COLLECT_A "collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard?"
#define COLLECT_OF(b) "collector::" b "::fill|collector::" b "::use|collector::" b "::lastuse|collector::" b "::discard"
#define COLLECT_B COLLECT_OF("b0") "|" COLLECT_OF("b1") "|" COLLECT_OF("b2") "|" COLLECT_OF("b3") "?"
#define RED_ORDER "relaxed|release? " SCOPE "?"
#define ATOM_ORDER "relaxed|acquire|release|acq_rel? " SCOPE "?"
#define ATOMIC "add|min|max|inc|dec|and|or|xor"

#define ROUND "rn|rz|rm|rp"
#define WHOLE "u8|u16|u32|u64|s8|s16|s32|s64"
#define TO_WHOLE "rni|rzi|rmi|rpi"
#define ORDER "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?"
#define NARROW "e4m3x2|e5m2x2|e2m3x2|e3m2x2|e2m1x2"

static const struct form forms[] = {
    {"ld", "weak? global? ca|cg|cs|lu|cv? " HINT " " AHEAD " " VECTOR " data"},
    {"ld", "weak? const|local|param|param::entry|param::func|" SHARED " ca|cg|cs|lu|cv? v2|v4? data"},
    {"ld", "weak? global? " L1_FIRST " " HINT " " AHEAD " " VECTOR " data"},
    {"ld", "weak? global? " L1_FIRST " " L2_FIRST " " HINT " " AHEAD " v4|v8 data"},
    {"ld", "global nc ca|cg|cs? " L1_FIRST " " HINT " " AHEAD " " VECTOR " data"},
    {"ld", "global nc ca|cg|cs? " L1_FIRST " " L2_FIRST " " HINT " " AHEAD " v4|v8 data"},
    {"ld", "volatile global? " AHEAD " " VECTOR " data"},
    {"ld", "volatile local|" SHARED " v2|v4? data"},
    {"ld", "relaxed|acquire " SCOPE " global? " L1_FIRST " " HINT " " AHEAD " " VECTOR " data"},
    {"ld", "relaxed|acquire " SCOPE " " SHARED " v2|v4? data"},
    {"ld", "relaxed|acquire " SCOPE " global? " L1_FIRST " " L2_FIRST " " HINT " " AHEAD " v4|v8 data"},
    {"ld", "mmio relaxed|acquire sys global? v2|v4? data"},
    {"ldu", "global? v2|v4? data"},
    {"st", "weak? global? wb|cg|cs|wt? " HINT " " VECTOR " data"},
    {"st", "weak? local|param|param::func|" SHARED " wb|cg|cs|wt? v2|v4? data"},
    {"st", "weak? global? " L1_FIRST " " HINT " " VECTOR " data"},
    {"st", "weak? global? " L1_FIRST " " L2_FIRST " " HINT " v4|v8 data"},
    {"st", "volatile global? " VECTOR " data"},
    {"st", "volatile local|" SHARED " v2|v4? data"},
    {"st", "relaxed|release " SCOPE " global? " L1_FIRST " " HINT " " VECTOR " data"},
    {"st", "relaxed|release " SCOPE " " SHARED " v2|v4? data"},
    {"st", "relaxed|release " SCOPE " global? " L1_FIRST " " L2_FIRST " " HINT " v4|v8 data"},
    {"st", "mmio relaxed|release sys global? v2|v4? data"},
    {"atom", ATOM_ORDER " " STRONG_SPACE " " ATOMIC "|exch|cas " HINT " data"},
    {"atom", ATOM_ORDER " " STRONG_SPACE " add noftz " HINT " " HALVES "|f32"},
    {"atom red", ATOM_ORDER " global? add|min|max noftz " HINT " v2|v4|v8 " HALVES},
    {"atom red", ATOM_ORDER " global? add noftz? " HINT " v2|v4 f32"},
    {"red", RED_ORDER " " STRONG_SPACE " " ATOMIC " " HINT " data"},
    {"red", RED_ORDER " " STRONG_SPACE " add noftz " HINT " " HALVES "|f32"},
    {"add sub", "u16|s16|u16x2|s16x2"},
    {"add sub", "cc? u32|u64|s64"},
    {"add sub", "cc|sat? s32"},
    {"add sub mul", "rn? ftz? sat? f16|f16x2"},
    {"add sub mul", "rn? bf16|bf16x2"},
    {"add sub mul", ROUND "? ftz? sat? f32"},
    {"add sub mul", ROUND "? ftz? f32x2"},
    {"add sub mul", ROUND "? f64"},
    {"add sub", ROUND "? sat? f32 f16|bf16"},
    {"mul mad", "hi|lo|wide u16|u32|s16|s32"},
    {"mul mad", "hi|lo u64|s64"},
    {"mad", "hi|lo cc u32|u64|s32|s64"},
    {"mad mad24", "hi sat s32"},
    {"mul24 mad24", "hi|lo u32|s32"},
    {"madc", "hi|lo cc? u32|u64|s32|s64"},
    {"addc subc", "cc? u32|u64|s32|s64"},
    {"fma", "rn ftz? sat|relu? f16|f16x2"},
    {"fma", "rn relu? bf16|bf16x2"},
    {"fma mad", ROUND " ftz? sat? f32"},
    {"fma", ROUND " ftz? f32x2"},
    {"fma mad", ROUND " f64"},
    {"fma", ROUND " sat? f32 f16|bf16"},
    {"div rem sad", "u16|u32|u64|s16|s32|s64"},
    {"div", "approx|full|" ROUND " ftz? f32"},
    {"div", ROUND " f64"},
    {"min max", "u16|u32|u64|s16|s64|f64|u16x2"},
    {"min max", "relu? s32|s16x2"},
    {"min max", "ftz? NaN? f16|f16x2|f32"},
    {"min max", "ftz? NaN? xorsign? abs f16|f16x2|f32"},
    {"min max", "NaN? bf16|bf16x2"},
    {"min max", "NaN? xorsign abs bf16|bf16x2"},
    {"abs neg", "s16|s32|s64|bf16|bf16x2|f64"},
    {"abs neg", "ftz? f16|f16x2|f32"},
    {"sqrt rcp", "approx|" ROUND " ftz? f32"},
    {"sqrt rcp", ROUND " f64"},
    {"rcp", "approx ftz f64"},
    {"rsqrt", "approx ftz? f32|f64"},
    {"sin cos lg2 ex2", "approx ftz? f32"},
    {"ex2", "approx f16|f16x2"},
    {"ex2", "approx ftz bf16|bf16x2"},
    {"tanh", "approx f16|f16x2|bf16|bf16x2|f32"},
    {"copysign", "f32|f64"},
    {"testp", "finite|infinite|number|notanumber|normal|subnormal f32|f64"},
    {"lop3", "and|or? b32"},
    {"dp4a", "u32|s32 u32|s32"},
    {"dp2a", "lo|hi u32|s32 u32|s32"},
    {"setp", ORDER " ftz? f16|f16x2|f32"},
    {"setp", ORDER " data|bf16|bf16x2"},
    {"set", ORDER " ftz? f32|u32|s32 f32"},
    {"set", ORDER " ftz? f16|u16|s16|u32|s32 f16"},
    {"set", ORDER " bf16|u16|s16|u32|s32 bf16"},
    {"set", ORDER " ftz? f16x2|u32|s32 f16x2"},
    {"set", ORDER " bf16x2|u32|s32 bf16x2"},
    {"set", ORDER " f32|u32|s32 data"},
    {"cvt", "sat? " WHOLE " " WHOLE},
    {"cvt", TO_WHOLE " ftz? sat? " WHOLE " f32"},
    {"cvt", TO_WHOLE " sat? " WHOLE " f16|f64"},
    {"cvt", TO_WHOLE " u16|u32|u64|s16|s32|s64 bf16"},
    {"cvt", ROUND " sat? f16|f64 " WHOLE},
    {"cvt", ROUND " ftz? sat? f32 " WHOLE},
    {"cvt", ROUND " bf16 u16|u32|u64|s16|s32|s64"},
    {"cvt", TO_WHOLE "? sat? f16 f16"},
    {"cvt", TO_WHOLE "? sat? f64 f64"},
    {"cvt", TO_WHOLE "? ftz? sat? f32 f32"},
    {"cvt", TO_WHOLE "? bf16 bf16"},
    {"cvt", "sat? f64 f16"},
    {"cvt", "ftz? sat? f32 f16"},
    {"cvt", "ftz? sat? f64 f32"},
    {"cvt", ROUND "? ftz? f32 bf16"},
    {"cvt", ROUND "? f64 bf16"},
    {"cvt", ROUND "? f16 bf16"},
    {"cvt", ROUND "? bf16 f16"},
    {"cvt", ROUND " ftz? sat? f32 f64"},
    {"cvt", ROUND " sat? f16 f64"},
    {"cvt", ROUND " bf16 f64"},
    {"cvt", ROUND " ftz? sat? f16 f32"},
    {"cvt", ROUND " ftz? bf16 f32"},
    {"cvt", "rn|rz relu? satfinite? f16|bf16|f16x2|bf16x2|tf32 f32"},
    {"cvt", "rna satfinite? tf32 f32"},
    {"cvt", "rs relu? satfinite? f16x2|bf16x2 f32"},
    {"cvt", "rs relu? satfinite e4m3x4|e5m2x4|e2m3x4|e3m2x4|e2m1x4 f32"},
    {"cvt", "rn satfinite relu? " NARROW " f32|f16x2|bf16x2"},
    {"cvt", "rn relu? f16x2 " NARROW},
    {"cvt", "rn relu? satfinite? bf16x2 " NARROW},
    {"cvt", "rz|rp satfinite? ue8m0x2 f32|bf16x2"},
    {"cvt", "rn bf16x2 ue8m0x2"},
    {"cvt", "pack sat u16|s16 s32"},
    {"cvt", "pack sat u2|s2|u4|s4|u8|s8 s32 b32"},
    {"shfl", "sync? up|down|bfly|idx b32"},
    {"vote", "sync? all|any|uni pred"},
    {"vote", "sync? ballot b32"},
    {"match", "any|all sync b32|b64"},
    {"redux", "sync add|min|max u32|s32"},
    {"redux", "sync and|or|xor b32"},
    {"redux", "sync min|max abs? NaN? f32"},
    {"bar", "cta? sync|arrive"},
    {"bar", "warp sync"},
    {"bar", "cta? red popc u32"},
    {"bar", "cta? red and|or pred"},
    {"barrier", "cta? sync|arrive aligned?"},
    {"barrier", "cta? red popc aligned? u32"},
    {"barrier", "cta? red and|or aligned? pred"},
    {"barrier", "cluster arrive release|relaxed? aligned?"},
    {"barrier", "cluster wait acquire? aligned?"},
    {"fence", "sc|acq_rel|acquire|release? " SCOPE},
    {"fence", "acquire sync_restrict::shared::cluster cluster"},
    {"fence", "release sync_restrict::shared::cta cluster"},
    {"fence", "mbarrier_init release cluster"},
    {"fence", "alias sync_restrict::read release sys"},
    {"fence", "proxy async global|shared::cta|shared::cluster?"},
    {"fence", "proxy alias"},
    {"fence", "proxy alias acquire|release sys"},
    {"fence", "proxy tensormap::generic acquire|release " SCOPE},
    {"fence", "proxy async::generic acquire sync_restrict::shared::cluster cluster"},
    {"fence", "proxy async::generic release sync_restrict::shared::cta cluster"},
    {"fence", "proxy async::generic release sync_restrict::shared::cluster::read cta|cluster"},
    {"membar", "cta|gl|sys"},
    {"membar", "proxy alias|async"},
    {"prefetch", "global|local? L1|L2"},
    {"prefetch", "global? L2::evict_last|L2::evict_normal"},
    {"prefetch", "const|param|param::entry? tensormap"},
    {"prefetchu", "L1"},
    {"applypriority", "global? L2::evict_normal"},
    {"discard", "global? L2"},
    {"pmevent", "mask?"},
    {"griddepcontrol", "wait|launch_dependents"},
    {"setmaxnreg", "inc|dec sync aligned u32"},
    {"createpolicy", "fractional " FRACTION " L2::evict_first|L2::evict_unchanged? b64"},
    {"createpolicy", "range global? " FRACTION " L2::evict_first|L2::evict_unchanged? b64"},
    {"createpolicy", "cvt L2 b64"},
    {"movmatrix", "sync aligned m8n8 trans b16"},
    {"isspacep", "global|const|local|param|param::entry|" SHARED},
    {"cvta", "to? global|const|local|param|param::entry|" SHARED " u64"},
    {"tensormap", "replace tile global_address|global_stride global|shared::cta? b1024 b64"},
    {"tensormap", "replace tile rank|box_dim|global_dim|element_stride|elemtype|interleave_layout|swizzle_mode|swizzle_atomicity|fill_mode "
                  "global|shared::cta? b1024 b32"},
    {"tensormap", "cp_fenceproxy global shared::cta tensormap::generic release " SCOPE " sync aligned"},
    {"clusterlaunchcontrol", "try_cancel async shared::cta? mbarrier::complete_tx::bytes multicast::cluster::all? b128"},
    {"clusterlaunchcontrol", "query_cancel is_canceled pred b128"},
    {"clusterlaunchcontrol", "query_cancel get_first_ctaid v4 b32 b128"},
    {"clusterlaunchcontrol", "query_cancel get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128"},
    {"tcgen05", "alloc " PAIR " sync aligned shared::cta? b32"},
    {"tcgen05", "dealloc " PAIR " sync aligned b32"},
    {"tcgen05", "relinquish_alloc_permit " PAIR " sync aligned"},
    {"tcgen05", "ld sync aligned 32x32b|16x64b|16x128b|16x256b|16x32bx2 " TIMES " pack::16b? b32"},
    {"tcgen05", "st sync aligned 32x32b|16x64b|16x128b|16x256b|16x32bx2 " TIMES " unpack::16b? b32"},
    {"tcgen05", "wait::ld|wait::st sync aligned"},
    {"tcgen05", "fence::before_thread_sync|fence::after_thread_sync"},
    {"tcgen05", "cp " PAIR " 128x256b|4x256b|128x128b b8x16? b6x16_p32|b4x16_p64?"},
    {"tcgen05", "cp " PAIR " 64x128b warpx2::02_13|warpx2::01_23 b8x16? b6x16_p32|b4x16_p64?"},
    {"tcgen05", "cp " PAIR " 32x128b warpx4 b8x16? b6x16_p32|b4x16_p64?"},
    {"tcgen05", "commit " PAIR " mbarrier::arrive::one shared::cluster? multicast::cluster? b64"},
    {"tcgen05", "mma sp? " PAIR " kind::f16|kind::tf32|kind::f8f6f4|kind::i8 ashift? " COLLECT_A},
    {"tcgen05", "mma ws sp? cta_group::1 kind::f16|kind::tf32|kind::f8f6f4|kind::i8 " COLLECT_B},
    {"tcgen05", "mma sp? " PAIR " kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4 block_scale "
                "scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32? " COLLECT_A},
    {"cp", "async bulk prefetch L2 global " HINT},
    {"cp", "async bulk prefetch tensor 1d|2d|3d|4d|5d L2 global tile|im2col|im2col::w|im2col::w::128|tile::gather4? " HINT},
};
enum { FORMS = (int)(sizeof forms / sizeof *forms) };

/* The next word of a list, and what stands behind it; 0: its end. */
static char next_word(const char **at, char word[WORD_MAX])
{
    size_t n = strcspn(*at, "|? ");
    snprintf(word, WORD_MAX, "%.*s", (int)n, *at);
    *at += n;
    char end = **at;
    *at += end != 0;
    if (end == '?') {
        end = '?';
        *at += **at == ' ';
    }
    return end;
}

static bool means(const char *word, const char *mod)
{
    if (strcmp(word, "data"))
        return !strcmp(word, mod);
    enum ptx_type t = ptx_type_parse(mod);
    return (t >= T_B8 && t <= T_S64) || t == T_F32 || t == T_F64;
}

/* Which modifiers belong to the form, as bits; *whole: all groups that must be there are. */
static uint32_t match(const struct ptx_instr *in, const char *groups, bool *whole)
{
    uint32_t used = 0;
    int type = -1; /* the last one: types have an order */
    *whole = true;
    while (*groups) {
        char word[WORD_MAX], end;
        int found = -1;
        do {
            end = next_word(&groups, word);
            bool types = ptx_type_parse(word) != T_NONE || !strcmp(word, "data");
            for (int i = types ? type + 1 : 0; i < in->mod_count && (found < 0 || i < found); i++)
                if (!(used >> i & 1) && means(word, in->mods[i]))
                    found = i;
        } while (end == '|');
        type = found >= 0 && ptx_type_parse(in->mods[found]) != T_NONE ? found : type;
        if (found >= 0)
            used |= 1u << found;
        else if (end != '?')
            *whole = false;
    }
    return used;
}

/* The modifier that is not of the nearest form; -1: all are; -2: one is missing. */
static int misfit(const struct ptx_instr *in)
{
    uint32_t all = (1u << in->mod_count) - 1, best = 0;
    const char *wanted = NULL;
    for (int k = 0; k < FORMS; k++) {
        bool whole;
        if (!decode_listed(forms[k].op, in->op) || (!strcmp(in->op, "cp") && !instr_has(in, "prefetch")))
            continue;
        uint32_t used = match(in, forms[k].groups, &whole);
        if (used == all && whole)
            return -1;
        if (!wanted || __builtin_popcount(used) > __builtin_popcount(best)) {
            best = used;
            wanted = forms[k].groups;
        }
    }
    for (int i = 0; i < in->mod_count; i++)
        if (!(best >> i & 1))
            return i;
    return -2;
}

/* ---- words that are not known ---- */
static const char *const operations[] = {"abs",       "activemask",   "add",        "clusterlaunchcontrol",
                                         "addc",      "alloca",       "and",        "applypriority",
                                         "atom",      "bar",          "barrier",    "bfe",
                                         "bfi",       "bfind",        "bmsk",       "bra",
                                         "brev",      "brkpt",        "brx",        "call",
                                         "clz",       "cnot",         "copysign",   "cos",
                                         "cp",        "createpolicy", "cvt",        "cvta",
                                         "discard",   "div",          "dp2a",       "dp4a",
                                         "elect",     "ex2",          "exit",       "fence",
                                         "fma",       "fns",          "getctarank", "isspacep",
                                         "ld",        "ldmatrix",     "ldu",        "lg2",
                                         "lop3",      "mad",          "mad24",      "madc",
                                         "mapa",      "match",        "max",        "mbarrier",
                                         "membar",    "min",          "mma",        "mov",
                                         "movmatrix", "mul",          "mul24",      "nanosleep",
                                         "neg",       "not",          "or",         "pmevent",
                                         "popc",      "prefetch",     "prefetchu",  "prmt",
                                         "rcp",       "red",          "redux",      "rem",
                                         "ret",       "rsqrt",        "sad",        "selp",
                                         "set",       "setmaxnreg",   "setp",       "shf",
                                         "shfl",      "shl",          "shr",        "sin",
                                         "slct",      "sqrt",         "st",         "stackrestore",
                                         "stacksave", "stmatrix",     "sub",        "subc",
                                         "szext",     "tanh",         "tcgen05",    "tensormap",
                                         "testp",     "trap",         "vote",       "griddepcontrol",
                                         "wgmma",     "wmma",         "xor",        NULL};
static const char *const general[] = {"approx",
                                      "full",
                                      "ftz",
                                      "sat",
                                      "satfinite",
                                      "relu",
                                      "rn",
                                      "rz",
                                      "rm",
                                      "rp",
                                      "rna",
                                      "rni",
                                      "rzi",
                                      "rmi",
                                      "rpi",
                                      "lo",
                                      "hi",
                                      "wide",
                                      "cc",
                                      "uni",
                                      "sync",
                                      "aligned",
                                      "row",
                                      "col",
                                      "trans",
                                      "x1",
                                      "x2",
                                      "x4",
                                      "NaN",
                                      "xorsign",
                                      "abs",
                                      "wrap",
                                      "clamp",
                                      "shiftamt",
                                      "eq",
                                      "ne",
                                      "lt",
                                      "le",
                                      "gt",
                                      "ge",
                                      "lo",
                                      "ls",
                                      "hs",
                                      "equ",
                                      "neu",
                                      "ltu",
                                      "leu",
                                      "gtu",
                                      "geu",
                                      "num",
                                      "nan",
                                      "up",
                                      "down",
                                      "bfly",
                                      "idx",
                                      "all",
                                      "any",
                                      "ballot",
                                      "popc",
                                      "arrive",
                                      "red",
                                      "warp",
                                      "expect_tx",
                                      "arrive_drop",
                                      "try_wait",
                                      "test_wait",
                                      "parity",
                                      "noinc",
                                      "async",
                                      "bulk",
                                      "tensor",
                                      "commit_group",
                                      "wait_group",
                                      "wait_all",
                                      "bulk_group",
                                      "multicast::cluster",
                                      "mbarrier::complete_tx::bytes",
                                      "read",
                                      "tile",
                                      "mma_async",
                                      "fence",
                                      "init",
                                      "inval",
                                      "complete_tx",
                                      "pending_count",
                                      NULL};

/* The nearest of the words of this instruction's forms, of the general ones and of the types. */
static const char *nearest_modifier(const struct ptx_instr *in, const char *mod, char word[WORD_MAX])
{
    const char *words[1024], *longest = NULL;
    char(*kept)[WORD_MAX] = xmalloc(sizeof *kept * 512);
    size_t n = 0;
    for (int k = 0; k < FORMS; k++)
        for (const char *at = forms[k].groups; *at && n < 512 && decode_listed(forms[k].op, in->op); n++) {
            next_word(&at, kept[n]);
            words[n] = kept[n];
        }
    bool formed = n > 0;
    for (int k = 0; general[k] && !formed; k++)
        words[n++] = general[k];
    for (int t = 1; t < T_COUNT; t++)
        words[n++] = ptx_type_name((enum ptx_type)t);
    const char *near = text_nearest(mod, words, n);
    for (size_t k = 0, best = 3; k < n && !near; k++) { /* else the one that begins most alike */
        size_t same = 0;
        while (mod[same] && mod[same] == words[k][same])
            same++;
        if (same > best) {
            best = same;
            longest = words[k];
        }
    }
    near = near ? near : longest;
    snprintf(word, WORD_MAX, "%s", near ? near : "");
    free(kept);
    return *word ? word : NULL;
}

bool decode_unknown(struct decode *d, int mod)
{
    char word[WORD_MAX];
    const struct ptx_instr *in = d->in;
    d->column = mod < 0 ? in->column : in->mod_columns[mod];
    if (mod < 0) {
        const char *near = text_nearest_in(in->op, operations);
        return decode_fail(d, "emu does not support this instruction%s%s%s", near ? "; the nearest is '" : "", near ? near : "",
                           near ? "'" : "");
    }
    const char *near = nearest_modifier(in, in->mods[mod], word);
    bool known = near && !strcmp(near, in->mods[mod]);
    if (known)
        return decode_fail(d, "'.%s' does not go with the other modifiers", in->mods[mod]);
    return decode_fail(d, "emu does not support '.%s' here%s%s%s", in->mods[mod], near ? "; the nearest is '." : "", near ? near : "",
                       near ? "'" : "");
}

bool decode_form(struct decode *d)
{
    int i = misfit(d->in);
    return i == -1 || (i < 0 ? decode_fail(d, "this form is not supported: a modifier is missing") : decode_unknown(d, i));
}

bool decode_arithmetic_form(struct decode *d)
{
    static const char ops[] =
        "add sub mul mad mul24 mad24 madc addc subc fma div rem sad min max abs neg sqrt rcp rsqrt sin cos lg2 ex2 tanh "
        "copysign testp lop3 dp4a dp2a setp set cvt shfl vote match redux bar barrier";
    int i = decode_listed(ops, d->in->op) ? misfit(d->in) : -1;
    if (i < 0)
        return i == -1 || decode_wrong(d, "a modifier is missing");
    for (int k = 0; general[k]; k++)
        if (!strcmp(general[k], d->in->mods[i]) || ptx_type_parse(d->in->mods[i]) != T_NONE) {
            d->column = d->in->mod_columns[i];
            return decode_wrong(d, "'.%s' does not go with %s", d->in->mods[i], d->in->mod_count > 1 ? "the other modifiers" : "it");
        }
    return decode_unknown(d, i);
}
