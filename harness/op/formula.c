#include "op/formula.h"
#include "base/expr_parse.h"
#include "op/shape.h"
#include <math.h>
#include <string.h>

const char *const formula_names[] = {"channel", "z", "y", "x", "tap", NULL};

/* ---- from the tree to steps ---- */

struct making {
    const struct expr *e;
    const struct work *work;
    struct formula *to;
    struct error *err;
    enum formula_of of;
    bool values;               /* of the outputs */
    int depth, inside, sealed; /* of the stack; in a sum; steps that belong to one */
};

static double formula_floor(double a, double b)
{
    double q = floor(a / b);
    return (b > 0 ? q * b > a : q * b < a) ? q - 1 : q; /* the quotient was rounded up to a whole number */
}

/* The operations on two numbers; kernels/reference/conv.cu has the same. */
static inline __attribute__((always_inline)) double formula_two(enum formula_step_kind kind, double a, double b)
{
    switch (kind) {
    case FORMULA_ADD: return a + b;
    case FORMULA_SUB: return a - b;
    case FORMULA_MUL: return a * b;
    case FORMULA_DIV: return a / b;
    case FORMULA_MOD: return a - b * formula_floor(a, b);
    case FORMULA_FLOOR: return formula_floor(a, b);
    case FORMULA_CEIL: return -formula_floor(-a, b);
    case FORMULA_MIN: return fmin(a, b);
    case FORMULA_MAX: return fmax(a, b);
    case FORMULA_LESS: return a < b;
    case FORMULA_AT_MOST: return a <= b;
    default: return a == b;
    }
}

static bool push(struct making *m, const struct term *t, enum formula_step_kind kind, int64_t arg, double number, int takes)
{
    struct formula_step *s = &m->to->steps[m->to->count];
    m->depth += 1 - takes;
    if (m->to->count == FORMULA_STEPS || m->depth > FORMULA_DEPTH)
        return expr_error(m->e, t->at, m->err, "too long: at most %d steps, %d deep", FORMULA_STEPS, FORMULA_DEPTH);
    if (takes == 2 && m->to->count - 2 >= m->sealed && s[-1].kind == FORMULA_NUMBER && s[-2].kind == FORMULA_NUMBER) { /* known already */
        s[-2].number = formula_two(kind, s[-2].number, s[-1].number);
        m->to->count--;
        return true;
    }
    *s = (struct formula_step){kind, arg, number};
    m->to->count++;
    return true;
}

static bool formula_term(struct making *m, const struct term *t);

static const char *text_of(struct making *m, const struct term *t, struct value *v)
{
    if (t->kind == TERM_NAME && !work_symbol(m->work, t->name, v))
        return NULL;
    if (t->kind == TERM_VALUE)
        *v = t->value;
    return (t->kind == TERM_NAME || t->kind == TERM_VALUE) && v->kind == VALUE_TEXT ? v->text : NULL;
}

static bool make_binary(struct making *m, const struct term *t)
{
    static const enum formula_step_kind kinds[] = {
        [OP_EQ] = FORMULA_EQUAL, [OP_LT] = FORMULA_LESS, [OP_LE] = FORMULA_AT_MOST, [OP_GT] = FORMULA_LESS, [OP_GE] = FORMULA_AT_MOST,
        [OP_ADD] = FORMULA_ADD,  [OP_SUB] = FORMULA_SUB, [OP_MUL] = FORMULA_MUL,    [OP_DIV] = FORMULA_DIV, [OP_MOD] = FORMULA_MOD};
    struct value left, right;
    bool turned = t->op == OP_GT || t->op == OP_GE;
    const char *a = text_of(m, t->args[0], &left), *b = text_of(m, t->args[1], &right);
    if (a && b && (t->op == OP_EQ || t->op == OP_NE)) /* mode == 'CRD' */
        return push(m, t, FORMULA_NUMBER, 0, !strcmp(a, b) == (t->op == OP_EQ), 0);
    if (t->op == OP_AND) /* select(a, b, 0) */
        return formula_term(m, t->args[0]) && formula_term(m, t->args[1]) && push(m, t, FORMULA_NUMBER, 0, 0, 0) &&
               push(m, t, FORMULA_SELECT, 0, 0, 3);
    if (t->op == OP_OR)
        return formula_term(m, t->args[0]) && push(m, t, FORMULA_NUMBER, 0, 1, 0) && formula_term(m, t->args[1]) &&
               push(m, t, FORMULA_SELECT, 0, 0, 3);
    if (!formula_term(m, t->args[turned]) || !formula_term(m, t->args[!turned]))
        return false;
    if (t->op != OP_NE)
        return push(m, t, kinds[t->op], 0, 0, 2);
    return push(m, t, FORMULA_EQUAL, 0, 0, 2) && push(m, t, FORMULA_NUMBER, 0, 0, 0) && push(m, t, FORMULA_EQUAL, 0, 0, 2);
}

/* Slot of a tensor that the formula reads; -1: the name is none. Tensors of the epilogue are not part of the op. */
static int slot_of(const struct making *m, const char *name)
{
    const struct tensor_role *role = m->values ? op_role(m->work->op, name) : NULL;
    bool read = role && (role->slot == SLOT_INPUT || role->slot == SLOT_FILTER || role->slot == SLOT_STORED || role->slot == SLOT_SECOND);
    return read ? role->slot : -1;
}

/* Has this name a value here? */
static bool has_place(const struct making *m, enum formula_name name)
{
    static const enum formula_name along[] = {
        [FORMULA_OF_ROWS] = FORMULA_Y, [FORMULA_OF_COLUMNS] = FORMULA_X, [FORMULA_OF_PLANES] = FORMULA_Z};
    if (!m->values)
        return name == FORMULA_TAP || name == along[m->of];
    return name == FORMULA_CHANNEL || name == FORMULA_X || (name == FORMULA_Y && !m->work->op->volume);
}

static bool make_name(struct making *m, const struct term *t)
{
    struct value v;
    int slot = slot_of(m, t->name);
    for (int i = 0; i < FORMULA_NAMES; i++)
        if (!strcmp(t->name, formula_names[i]) && has_place(m, (enum formula_name)i))
            return push(m, t, FORMULA_NAME, i, 0, 0);
    if (m->values && !strcmp(t->name, FORMULA_WEIGHT))
        return push(m, t, FORMULA_TAP_WEIGHT, 0, 0, 0);
    if (slot >= 0)
        return push(m, t, FORMULA_READ, slot, 0, 0);
    if (!work_symbol(m->work, t->name, &v))
        return expr_unknown(m->e, t, work_symbol_names(m->work->op), m->err);
    if (v.kind == VALUE_TEXT)
        return expr_error(m->e, t->at, m->err, "'%s' is a text here, not a number", t->name);
    return push(m, t, FORMULA_NUMBER, 0, v.kind == VALUE_INT ? (double)v.i : v.d, 0);
}

/* sum(e), largest(e), mean(e) over the taps: a step followed by the steps of e. */
static bool make_over(struct making *m, const struct term *t, enum formula_step_kind kind)
{
    int at = m->to->count;
    if (m->inside++ || t->count != 1)
        return expr_error(m->e, t->at, m->err, "%s takes one expression without another sum in it", t->name);
    if (!push(m, t, kind, 0, 0, 0) || !formula_term(m, t->args[0]))
        return false;
    m->inside--;
    m->depth--;
    m->sealed = m->to->count;
    m->to->steps[at].arg = m->to->count - at - 1;
    return true;
}

static bool make_call(struct making *m, const struct term *t)
{
    static const struct {
        const char *name;
        enum formula_step_kind kind;
        int count;
    } calls[] = {{"floor", FORMULA_FLOOR, 2},
                 {"ceil", FORMULA_CEIL, 2},
                 {"min", FORMULA_MIN, 2},
                 {"max", FORMULA_MAX, 2},
                 {"select", FORMULA_SELECT, 3}},
      over[] = {{"sum", FORMULA_SUM, 1}, {"largest", FORMULA_LARGEST, 1}, {"mean", FORMULA_MEAN, 1}};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        if (m->values && !strcmp(t->name, over[i].name))
            return make_over(m, t, over[i].kind);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        bool one = t->count == 1 && i < 2; /* floor, ceil of a real */
        if (strcmp(t->name, calls[i].name))
            continue;
        if (t->count != calls[i].count && !one)
            return expr_error(m->e, t->at, m->err, "%s takes %d arguments here, not %d", t->name, calls[i].count, t->count);
        return ALL_OF(k, t->count, formula_term(m, t->args[k])) && (!one || push(m, t, FORMULA_NUMBER, 0, 1, 0)) &&
               push(m, t, calls[i].kind, 0, 0, calls[i].count);
    }
    int slot = slot_of(m, t->name);
    if (slot < 0 || t->count != 1)
        return expr_error(m->e, t->at, m->err,
                          "%s: only floor, ceil, min, max, select, sum, largest, mean, and tensors with a channel are allowed here",
                          t->name);
    return formula_term(m, t->args[0]) && push(m, t, FORMULA_READ_AT, slot, 0, 1);
}

static bool formula_term(struct making *m, const struct term *t)
{
    switch (t->kind) {
    case TERM_VALUE:
        if (t->value.kind == VALUE_TEXT)
            return expr_error(m->e, t->at, m->err, "a number is expected here, not the text '%s'", t->value.text);
        return push(m, t, FORMULA_NUMBER, 0, t->value.kind == VALUE_INT ? (double)t->value.i : t->value.d, 0);
    case TERM_NAME: return make_name(m, t);
    case TERM_CALL: return make_call(m, t);
    case TERM_BINARY: return make_binary(m, t);
    case TERM_UNARY: break;
    }
    if (t->op == OP_NOT)
        return formula_term(m, t->args[0]) && push(m, t, FORMULA_NUMBER, 0, 0, 0) && push(m, t, FORMULA_EQUAL, 0, 0, 2);
    return push(m, t, FORMULA_NUMBER, 0, 0, 0) && formula_term(m, t->args[0]) && push(m, t, FORMULA_SUB, 0, 0, 2);
}

bool formula_make(const struct expr *e, const struct work *work, enum formula_of of, struct formula *out, struct error *err)
{
    struct making m = {.e = e, .work = work, .of = of, .values = of == FORMULA_OF_VALUES, .to = out, .err = err};
    out->count = 0;
    return formula_term(&m, e->root);
}

bool formula_has(const struct formula *f, enum formula_step_kind kind)
{
    return ANY_OF(i, f->count, f->steps[i].kind == kind);
}

/* ---- running them ---- */

struct machine {
    const struct formula_run *run;
    int lanes, top; /* values on the stack */
    int64_t row_tap, column_tap;
    double y[FORMULA_DEPTH][FORMULA_LANES], a[FORMULA_DEPTH][FORMULA_LANES];
};

/* The column of the input that a lane reads through the tap; -1: none. */
static int64_t lane_column(const struct machine *m, int lane)
{
    const struct op_reach *c = m->run->columns;
    return c->at[(m->run->column + lane) * c->taps + m->column_tap];
}

/* Reads a tensor in all lanes; 0 outside of it. channel NULL: the output's own. */
static void machine_read(struct machine *m, int64_t slot, const double *channel, double *to)
{
    const struct formula_run *r = m->run;
    const double *wide = !r->data ? NULL : slot == SLOT_INPUT ? r->data->wide_input : slot == SLOT_SECOND ? r->data->wide_residual : NULL;
    const float *value = r->data ? r->data->at[slot].value : NULL;
    int64_t row = r->rows->at[r->row * r->rows->taps + m->row_tap], own = (int64_t)r->base[FORMULA_CHANNEL];
    for (int i = 0; i < m->lanes; i++) {
        int64_t x = lane_column(m, i), c = channel ? (int64_t)channel[i] : own;
        size_t at = (size_t)(((r->image * r->channels[slot] + c) * r->height + row) * r->width + x);
        if (r->of_channels && slot == SLOT_SECOND)
            at = (size_t)(r->image * r->channels[slot] + c);
        bool there = row >= 0 && x >= 0 && c >= 0 && c < r->channels[slot];
        to[i] = !there ? 0 : wide ? wide[at] : value ? (double)value[at] : r->all;
    }
}

static void machine_steps(struct machine *m, const struct formula_step *s, const struct formula_step *end);

static double joined(enum formula_step_kind kind, bool first, double so_far, double v)
{
    return kind != FORMULA_LARGEST ? so_far + v : first ? v : fmax(so_far, v);
}

/* Runs the steps of a sum, largest or mean for each tap inside the image, lane by lane. Magnitudes add up, also of `largest`. */
static void machine_over(struct machine *m, const struct formula_step *s)
{
    const struct formula_run *r = m->run;
    int64_t rows = r->rows->taps, columns = r->columns->taps;
    int own = m->top++;
    bool any[FORMULA_LANES] = {false};
    memset(m->y[own], 0, sizeof m->y[own]);
    memset(m->a[own], 0, sizeof m->a[own]);
    for (int64_t tap = 0; tap < rows * columns; tap++) {
        m->row_tap = tap / columns, m->column_tap = tap % columns;
        if (r->rows->at[r->row * rows + m->row_tap] < 0)
            continue;
        machine_steps(m, s + 1, s + 1 + s->arg);
        m->top--;
        for (int i = 0; i < m->lanes; i++) {
            if (lane_column(m, i) < 0)
                continue;
            m->y[own][i] = joined((enum formula_step_kind)s->kind, !any[i], m->y[own][i], m->y[m->top][i]);
            m->a[own][i] += m->a[m->top][i];
            any[i] = true;
        }
    }
    m->row_tap = m->column_tap = 0;
    for (int i = 0; i < m->lanes; i++) {
        m->y[own][i] /= s->kind == FORMULA_MEAN ? (double)(rows * columns) : 1;
        m->a[own][i] = s->kind == FORMULA_LARGEST ? fabs(m->y[own][i])
                       : s->kind == FORMULA_MEAN  ? m->a[own][i] / (double)(rows * columns)
                                                  : m->a[own][i];
    }
}

/* fmax of two magnitudes, without a call. */
static double larger(double a, double b)
{
    return a >= b || b != b ? a : b;
}

/* Inlined once for each kind: a loop that decides in every lane is not vectorised. */
static inline __attribute__((always_inline)) void lanes_two(struct machine *m, enum formula_step_kind kind)
{
    double *y = m->y[m->top - 1], *a = m->a[m->top - 1];
    const double *v = m->y[m->top], *b = m->a[m->top];
    for (int i = 0; i < m->lanes; i++) {
        a[i] = kind == FORMULA_MUL   ? a[i] * b[i]
               : kind == FORMULA_DIV ? a[i] / fabs(v[i])
               : kind >= FORMULA_MIN ? larger(a[i], b[i])
                                     : a[i] + b[i];
        y[i] = formula_two(kind, y[i], v[i]);
    }
}

static void machine_two(struct machine *m, enum formula_step_kind kind)
{
    m->top--;
    switch (kind) {
    case FORMULA_ADD: lanes_two(m, FORMULA_ADD); break;
    case FORMULA_SUB: lanes_two(m, FORMULA_SUB); break;
    case FORMULA_MUL: lanes_two(m, FORMULA_MUL); break;
    case FORMULA_DIV: lanes_two(m, FORMULA_DIV); break;
    case FORMULA_MIN: lanes_two(m, FORMULA_MIN); break;
    case FORMULA_MAX: lanes_two(m, FORMULA_MAX); break;
    default: lanes_two(m, kind);
    }
}

static void machine_select(struct machine *m)
{
    int to = m->top - 3;
    m->top -= 2;
    for (int i = 0; i < m->lanes; i++) {
        int from = m->y[to][i] != 0 ? to + 1 : to + 2;
        m->a[to][i] = m->a[from][i];
        m->y[to][i] = m->y[from][i];
    }
}

static void machine_leaf(struct machine *m, const struct formula_step *s)
{
    const struct formula_run *r = m->run;
    double *y = m->y[m->top], *a = m->a[m->top];
    for (int i = 0; i < m->lanes && s->kind != FORMULA_READ; i++) {
        int64_t row = r->row, column = r->column + i;
        y[i] = s->kind == FORMULA_NUMBER ? s->number
               : s->kind == FORMULA_NAME ? r->base[s->arg] + r->step[s->arg] * i
                                         : (r->rows->weight ? r->rows->weight[row * r->rows->taps + m->row_tap] : 1) *
                                               (r->columns->weight ? r->columns->weight[column * r->columns->taps + m->column_tap] : 1);
    }
    if (s->kind == FORMULA_READ)
        machine_read(m, s->arg, NULL, y);
    for (int i = 0; i < m->lanes; i++)
        a[i] = fabs(y[i]);
    m->top++;
}

static void machine_steps(struct machine *m, const struct formula_step *s, const struct formula_step *end)
{
    for (; s < end; s++)
        switch ((enum formula_step_kind)s->kind) {
        case FORMULA_NUMBER:
        case FORMULA_NAME:
        case FORMULA_READ:
        case FORMULA_TAP_WEIGHT: machine_leaf(m, s); break;
        case FORMULA_READ_AT:
            machine_read(m, s->arg, m->y[m->top - 1], m->y[m->top - 1]);
            for (int i = 0; i < m->lanes; i++)
                m->a[m->top - 1][i] = fabs(m->y[m->top - 1][i]);
            break;
        case FORMULA_SELECT: machine_select(m); break;
        case FORMULA_SUM:
        case FORMULA_LARGEST:
        case FORMULA_MEAN:
            machine_over(m, s);
            s += s->arg;
            break;
        default: machine_two(m, (enum formula_step_kind)s->kind);
        }
}

void formula_lanes(const struct formula *f, const struct formula_run *run, int lanes, double *y, double *a)
{
    struct machine m;
    m.run = run, m.lanes = lanes, m.top = 0, m.row_tap = m.column_tap = 0;
    machine_steps(&m, f->steps, f->steps + f->count);
    memcpy(y, m.y[0], (size_t)lanes * sizeof *y);
    if (a)
        memcpy(a, m.a[0], (size_t)lanes * sizeof *a);
}
