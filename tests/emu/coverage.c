/* coverage ARCH...: compiles the kernels of tests/emu/coverage/ with the pinned compiler for each architecture (sm_75 ... sm_120), runs
 * them on emu with every check on, compares with results computed here, and prints the share that is right and without a finding. Exit
 * status 1 when one is not. */
#include "coverage.h"
#include "base/text.h"
#include "device/compile/compile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;
static double next(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(random_state >> 11) * 0x1p-53;
}

static size_t element_bytes(char kind)
{
    return kind == 'u' ? 1 : kind == 'h' || kind == 'b' || kind == 's' ? 2 : kind == 'd' || kind == 'q' ? 8 : 4;
}

static void fill(char kind, void *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        switch (kind) {
        case 'f':
        case 'm': ((float *)to)[i] = (float)(2 * next() - 1); break;
        case 'd': ((double *)to)[i] = 2 * next() - 1; break;
        case 'h': ((uint16_t *)to)[i] = f16_from_f64(2 * next() - 1); break;
        case 'b': ((uint16_t *)to)[i] = bf16_from_f32((float)(2 * next() - 1)); break;
        case 's': ((int16_t *)to)[i] = (int16_t)(30000 * next()); break;
        case 'u': ((uint8_t *)to)[i] = (uint8_t)(256 * next()); break;
        case 'i': ((int *)to)[i] = (int)(100 * next()); break;
        case 'x': ((uint32_t *)to)[i] = (uint32_t)(0x1p32 * next()); break;
        case 'q': ((uint64_t *)to)[i] = (uint64_t)(0x1p62 * next()); break;
        default: memset((char *)to + 4 * i, 0, 4); break;
        }
}

struct bench {
    struct device dev;
    struct device_module *module;
    struct device_function *function;
    struct coverage_run run;
    uint64_t address[COVERAGE_BUFFERS];
    unsigned char params[1024];
};

static bool make_buffer(struct bench *b, char kind, int64_t count, struct error *err)
{
    struct coverage_run *r = &b->run;
    int k = r->buffers++;
    size_t bytes = (size_t)count * element_bytes(kind);
    r->count[k] = count;
    r->before[k] = xcalloc(1, bytes);
    r->after[k] = xcalloc(1, bytes);
    fill(kind, r->before[k], count);
    return emu_device.alloc(&b->dev, "buffer", bytes, &b->address[k], err);
}

/* Makes what `args` says; values go to params at the signature's offsets. */
static bool make_arguments(struct bench *b, const struct coverage_test *t, struct error *err)
{
    const struct param *p;
    size_t bytes;
    int n = emu_device.signature(&b->dev, b->function, &p, &bytes), k = 0;
    const char *at = t->args;
    if (bytes > sizeof b->params)
        return error_set(err, ERROR_INTERNAL, "too many parameters");
    for (; *at && k < n; k++) {
        char kind = *at, *end;
        double v = strtod(at + 1, &end);
        unsigned char *to = b->params + p[k].offset;
        int whole = (int)v, height = 0;
        float f = (float)v;
        if (kind == '#') {
            memcpy(to, &whole, 4);
        } else if (kind == '%') {
            memcpy(to, &f, 4);
        } else if (kind == 'S') { /* a structure of ints by value: 1000, 1001, ... */
            for (int i = 0; i < whole; i++)
                memcpy(to + 4 * i, &(int){1000 + i}, 4);
        } else {
            if (kind == 'm')
                height = (int)strtol(end + 1, &end, 10);
            if (!make_buffer(b, kind, kind == 'm' ? (int64_t)whole * height : whole, err))
                return false;
            uint64_t address = b->address[b->run.buffers - 1];
            struct device_tensor_map map = {.address = address,
                                            .element_bytes = 4,
                                            .element_kind = DTYPE_F32,
                                            .rank = 2,
                                            .dim = {(uint64_t)whole, (uint64_t)height},
                                            .stride_bytes = {0, (uint64_t)whole * 4},
                                            .box = {32, 8},
                                            .element_stride = {1, 1}};
            if (kind == 'm' && !emu_device.tensor_map(&b->dev, &map, to, err))
                return false;
            if (kind != 'm')
                memcpy(to, &address, 8);
        }
        at = end + (*end == ' ');
    }
    if (*at || k != n)
        return error_set(err, ERROR_INTERNAL, "the kernel takes %d arguments: %s", n, t->args);
    return !t->prepare || t->prepare(&b->run);
}

static bool launch(struct bench *b, const struct coverage_test *t, struct error *err)
{
    const struct param *p;
    size_t bytes;
    emu_device.signature(&b->dev, b->function, &p, &bytes);
    const char *at = t->args;
    for (int k = 0; k < b->run.buffers; k++) {
        while (*at == '#' || *at == '%' || *at == 'S')
            at = strchr(at, ' ') + 1;
        if (*at != 'n' && !emu_device.write(&b->dev, b->address[k], b->run.before[k], (size_t)b->run.count[k] * element_bytes(*at), err))
            return false;
        at = strchr(at, ' ') ? strchr(at, ' ') + 1 : "";
    }
    struct device_launch l = {
        .smem = t->smem, .cooperative = t->cooperative, .params = b->params, .param_bytes = bytes, .time_limit_s = 30};
    memcpy(l.grid, t->grid, sizeof l.grid);
    memcpy(l.block, t->block, sizeof l.block);
    if (!emu_device.launch(&b->dev, b->function, &l, err))
        return false;
    at = t->args;
    for (int k = 0; k < b->run.buffers; k++) {
        while (*at == '#' || *at == '%' || *at == 'S')
            at = strchr(at, ' ') + 1;
        if (!emu_device.read(&b->dev, b->address[k], b->run.after[k], (size_t)b->run.count[k] * element_bytes(*at), err))
            return false;
        at = strchr(at, ' ') ? strchr(at, ' ') + 1 : "";
    }
    return true;
}

/* "" when right, else what is wrong. */
static void try_kernel(const struct coverage_test *t, const struct compiled *c, const char *path, struct text *why)
{
    struct error err = {0};
    struct bench *b = xcalloc(1, sizeof *b);
    struct device_image image = {.label = t->kernel, .path = path, .ptx = c->ptx, .ptx_bytes = c->ptx_bytes};
    const struct device_report *reports;
    b->dev.ops = &emu_device;
    random_state = 1;
    if (!emu_device.open(&b->dev, "GH100", &err) || !emu_device.load(&b->dev, &image, &b->module, &err) ||
        !emu_device.function(&b->dev, b->module, t->kernel, &b->function, &err) || !make_arguments(b, t, &err) || !launch(b, t, &err))
        text_add(why, err.text);
    else if (!t->check(&b->run))
        text_add(why, "a wrong result");
    else if (emu_device.reports(&b->dev, &reports) > 0)
        text_addf(why, "%s: %s", reports[0].kind, reports[0].text);
    for (int k = 0; k < b->run.buffers; k++) {
        free(b->run.before[k]);
        free(b->run.after[k]);
    }
    emu_device.unload(&b->dev, b->module);
    emu_device.close(&b->dev);
    free(b);
}

static void try_list(const struct coverage_test *list, const char *arch, int *right, int *all)
{
    struct error err = {0};
    struct compiled c = {0};
    char *path = text_format("tests/emu/coverage/%s.cu", list->file), *real = realpath(path, NULL);
    struct compile_request request = {.path = real, .label = list->file, .arch = arch, .ptx_only = true};
    bool ok = real && compile(&request, &c, &err);
    if (!ok)
        printf("%s %s: %s\n", arch, list->file, err.text);
    for (const struct coverage_test *t = list; t->file; t++) {
        struct text why = {0};
        if (atoi(arch + 3) < t->cc)
            continue;
        ++*all;
        if (ok)
            try_kernel(t, &c, real, &why);
        *right += ok && !why.len;
        if (why.len)
            printf("%s %s/%s: %s\n", arch, t->file, t->kernel, text_get(&why));
        text_free(&why);
    }
    compiled_free(&c);
    free(real);
    free(path);
}

int main(int argc, char **argv)
{
    int right_all = 0, all_all = 0;
    for (int i = 1; i < argc; i++) {
        int right = 0, all = 0;
        try_list(coverage_plain, argv[i], &right, &all);
        try_list(coverage_warps, argv[i], &right, &all);
        try_list(coverage_tensors, argv[i], &right, &all);
        try_list(coverage_real, argv[i], &right, &all);
        printf("%-8s %d of %d kernels right\n", argv[i], right, all);
        fflush(stdout);
        right_all += right;
        all_all += all;
    }
    printf("coverage %d of %d, %.1f %%\n", right_all, all_all, all_all ? 100.0 * right_all / all_all : 0);
    return right_all != all_all || !all_all;
}
