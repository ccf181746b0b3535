/* emu/decode/forms: which modifiers an instruction may have together, where its decoder needs few of them; and the nearest word that emu
 * knows in place of one that it does not. ptxas takes modifiers in any order, so this does, too. */
#include "base/text.h"
#include "emu/decode/decode.h"
#include <stdio.h>

#define WORD_MAX 48

/* A form is a list of groups separated by blanks. A group has its words separated by '|'; one that ends with '?' may be absent. `data` is
 * the word of any type that loads and stores have. */
struct form {
    const char *op, *groups;
};
static const struct form forms[] = {
#include "emu/decode/forms.inc"
};
enum { FORMS = (int)(sizeof forms / sizeof *forms) };

/* The length of the next word of a list, and what stands behind it; 0: its end. */
static char next_word(const char **at, size_t *n)
{
    *n = strcspn(*at, "|? ");
    *at += *n;
    char end = **at;
    *at += end != 0;
    if (end == '?')
        *at += **at == ' ';
    return end;
}

static bool means(const char *word, size_t n, const char *mod)
{
    if (n != 4 || strncmp(word, "data", n))
        return !strncmp(word, mod, n) && !mod[n];
    enum ptx_type t = ptx_type_parse(mod);
    return (t >= T_B8 && t <= T_S64) || t == T_F32 || t == T_F64;
}

static bool is_space(const char *word)
{
    return !strcmp(word, "global") || !strncmp(word, "shared", 6);
}

bool decode_is_type(const char *mod)
{
    return ptx_type_parse(mod) != T_NONE || ((mod[0] == 'b' || mod[0] == 'e') && mod[1] >= '0' && mod[1] <= '9' && strchr(mod, 'x'));
}

/* The modifiers that belong to the form, as bits; *whole: all required groups are present. Types have an order, and so have state spaces
 * and the layouts of matrices: `ordered` are the modifiers of each kind. */
static uint32_t match(const struct ptx_instr *in, const char *groups, const uint32_t ordered[3], bool *whole)
{
    uint32_t used = 0, passed = 0; /* passed: modifiers before the last one of their kind */
    *whole = true;
    while (*groups) {
        char end;
        int found = -1;
        do {
            const char *word = groups;
            size_t n;
            end = next_word(&groups, &n);
            for (int i = 0; i < in->mod_count && (found < 0 || i < found); i++)
                if (!((used | passed) >> i & 1) && means(word, n, in->mods[i]))
                    found = i;
        } while (end == '|');
        if (found >= 0) {
            uint32_t bit = 1u << found;
            used |= bit;
            for (int i = 0; i < 3; i++)
                passed |= ordered[i] & bit ? (bit - 1) & ordered[i] : 0;
        } else if (end != '?')
            *whole = false;
    }
    return used;
}

/* The modifier that is not of the nearest form; -1: all are; -2: one is missing. */
static int misfit(const struct ptx_instr *in)
{
    uint32_t all = (1u << in->mod_count) - 1, best = 0, types = 0, spaces = 0, layouts = 0;
    const char *wanted = NULL;
    for (int i = 0; i < in->mod_count; i++) {
        types |= (uint32_t)decode_is_type(in->mods[i]) << i;
        spaces |= (uint32_t)is_space(in->mods[i]) << i;
        layouts |= (uint32_t)(!strcmp(in->mods[i], "row") || !strcmp(in->mods[i], "col")) << i;
    }
    for (int k = 0; k < FORMS; k++) {
        bool whole;
        if (!decode_listed(forms[k].op, in->op))
            continue;
        uint32_t used = match(in, forms[k].groups, (const uint32_t[]){types, spaces, layouts}, &whole);
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
static const char operations[] =
    "abs activemask add clusterlaunchcontrol addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx "
    "call clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma fns getctarank isspacep istypep "
    "clmad "
    "ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24 nanosleep neg not or "
    "pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st "
    "stackrestore stacksave stmatrix sub subc szext tanh tcgen05 tensormap testp trap vabsdiff vadd vmad vmax vmin vset vshl vshr vsub "
    "vote griddepcontrol wgmma wmma xor";
static const char general[] =
    "approx full ftz sat satfinite relu rn rz rm rp rna rni rzi rmi rpi lo hi wide cc uni sync aligned row col trans x1 x2 x4 NaN "
    "xorsign abs wrap clamp shiftamt eq ne lt le gt ge ls hs equ neu ltu leu gtu geu num nan up down bfly idx all any ballot popc "
    "arrive red warp expect_tx arrive_drop try_wait test_wait parity noinc async bulk tensor commit_group wait_group wait_all "
    "bulk_group multicast::cluster mbarrier::complete_tx::bytes read tile mma_async fence init inval complete_tx pending_count";

/* Words to find the nearest of. */
struct words {
    char kept[1024][WORD_MAX];
    const char *at[1024];
    size_t count;
};

static void add_words(struct words *w, const char *list)
{
    for (size_t length; *list && w->count < sizeof w->kept / sizeof *w->kept; w->count++) {
        const char *word = list;
        next_word(&list, &length);
        snprintf(w->kept[w->count], WORD_MAX, "%.*s", (int)length, word);
        w->at[w->count] = w->kept[w->count];
    }
}

/* The nearest of the words of this instruction's forms, or of the general ones, and of the types. */
static const char *nearest_modifier(struct words *w, const struct ptx_instr *in, const char *mod)
{
    const char *longest = NULL;
    for (int k = 0; k < FORMS; k++)
        if (decode_listed(forms[k].op, in->op))
            add_words(w, forms[k].groups);
    if (!w->count)
        add_words(w, general);
    for (int t = 1; t < T_COUNT; t++)
        add_words(w, ptx_type_name((enum ptx_type)t));
    const char *near = text_nearest(mod, w->at, w->count);
    for (size_t k = 0, best = 3; k < w->count && !near; k++) { /* else the one that begins most alike */
        size_t same = 0;
        while (mod[same] && mod[same] == w->at[k][same])
            same++;
        if (same > best) {
            best = same;
            longest = w->at[k];
        }
    }
    return near ? near : longest;
}

bool decode_unknown(struct decode *d, int mod)
{
    const struct ptx_instr *in = d->in;
    SCOPED struct words *w = xcalloc(1, sizeof *w);
    d->column = mod < 0 ? in->column : in->mod_columns[mod];
    if (mod < 0) {
        add_words(w, operations);
        const char *near = text_nearest(in->op, w->at, w->count);
        return decode_fail(d, "emu does not support this instruction%s%s%s", near ? "; the nearest is '" : "", near ? near : "",
                           near ? "'" : "");
    }
    const char *near = nearest_modifier(w, in, in->mods[mod]);
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
        "copysign testp lop3 dp4a dp2a nanosleep elect activemask setp set cvt shfl vote match redux bar barrier mma wmma ldmatrix "
        "stmatrix cp "
        "mbarrier";
    bool async = (decode_is(d, "st") || decode_is(d, "red")) && instr_has(d->in, "async");
    int i = async || decode_listed(ops, d->in->op) ? misfit(d->in) : -1;
    if (i < 0)
        return i == -1 || decode_wrong(d, "a modifier is missing");
    if (decode_listed(general, d->in->mods[i]) || ptx_type_parse(d->in->mods[i]) != T_NONE) {
        d->column = d->in->mod_columns[i];
        return decode_wrong(d, "'.%s' does not go with %s", d->in->mods[i], d->in->mod_count > 1 ? "the other modifiers" : "it");
    }
    return decode_unknown(d, i);
}
