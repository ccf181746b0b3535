/* PTX on the interpreter: every module that loads is launched, with buffers for its pointers, few blocks and a short time limit. The damage
 * is by token: one kernel of the file is kept, and operands, modifiers, numbers and lines in it are exchanged, so that most of it still
 * loads and runs. */
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/device.h"
#include "device/ptx/query.h"
#include "run/child/devices.h"
#include "fuzz/common.h"
#include <ctype.h>
#include <string.h>

#define BUFFER_BYTES 2048

/* A source is compiled for sm_90a, and for sm_100 if it is listed a second time. Without a compiler its text is no PTX, and is refused.
 */
size_t fuzz_read_seed(const char *path, int times, uint8_t *data, size_t room)
{
    struct compiled c;
    size_t n = 0;
    if (!text_ends(path, ".cu") ||
        !compile(&(struct compile_request){.path = path, .label = path, .arch = times ? "sm_100" : "sm_90a"}, &c, NULL))
        return 0;
    if (c.ptx_bytes <= room)
        memcpy(data, c.ptx, n = c.ptx_bytes);
    compiled_free(&c);
    return n;
}

static void launch(struct device *dev, struct device_module *module, const char *name, uint64_t buffer, uint32_t dice)
{
    struct error err = {0};
    struct device_function *function = NULL;
    if (!dev->ops->function(dev, module, name, &function, &err)) {
        must_explain(&err);
        return;
    }
    const struct param *params = NULL;
    size_t param_bytes = 0;
    int count = dev->ops->signature(dev, function, &params, &param_bytes);
    if (count < 0 || param_bytes > 1u << 16)
        return;
    unsigned char *packed = calloc(1, param_bytes + 8);
    for (int i = 0; i < count; i++) {
        uint32_t number = i & 1 ? 7 : 64;
        if (params[i].kind == PARAM_INT && params[i].bytes == 8)
            memcpy(packed + params[i].offset, &buffer, 8);
        else if (params[i].kind != PARAM_BYTES && params[i].bytes == 4)
            memcpy(packed + params[i].offset, &number, 4);
        else if (params[i].bytes == 128) { /* a tensor map */
            struct device_tensor_map map = {.address = buffer,
                                            .element_bytes = 4,
                                            .element_kind = 1,
                                            .rank = 2,
                                            .dim = {16, 16},
                                            .stride_bytes = {0, 64},
                                            .box = {16, 8},
                                            .element_stride = {1, 1}};
            dev->ops->tensor_map(dev, &map, packed + params[i].offset, NULL);
        }
    }
    struct device_launch l = {.grid = {1 + dice % 3, 1, 1},
                              .block = {dice & 8 ? 64 : 37, dice & 16 ? 2 : 1, 1},
                              .cluster = {1, 1, 1},
                              .smem = 2048,
                              .cooperative = dice & 32,
                              .carveout = -1,
                              .params = packed,
                              .param_bytes = param_bytes,
                              .time_limit_s = 0.1};
    if (!dev->ops->launch(dev, function, &l, &err) || !dev->ops->sync(dev, &err))
        must_explain(&err);
    const struct device_report *reports = NULL;
    dev->ops->reports(dev, &reports);
    dev->ops->clear(dev);
    free(packed);
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
    struct error err = {0};
    struct device *dev = NULL;
    uint64_t buffer = 0;
    uint32_t dice = 0;
    char *ptx = malloc(bytes + 1), **names = NULL;
    if (!ptx || !device_open("emu", &dev, &err) || !dev->ops->alloc(dev, "buffer", BUFFER_BYTES, &buffer, &err))
        abort();
    memcpy(ptx, data, bytes);
    ptx[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        dice = dice * 31 + data[i];
    if (dice & 64)
        dev->ops->fill(dev, buffer, 0x3f800001, BUFFER_BYTES, NULL);
    int count = ptx_entries(ptx, &names);
    struct device_image image = {.label = "fuzz", .path = "fuzz.cu", .ptx = ptx, .ptx_bytes = strlen(ptx)};
    struct device_module *module = NULL;
    if (dev->ops->load(dev, &image, &module, &err)) {
        for (int i = 0; i < count && i < 4; i++)
            launch(dev, module, names[i], buffer, dice);
        dev->ops->unload(dev, module);
    } else {
        must_explain(&err);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    device_close(dev);
    free(ptx);
}

/* ---- damage that leaves it PTX ---- */
struct piece {
    size_t at, bytes;
};

/* Cuts `bytes` at `at` and puts `with` there. */
static size_t put(uint8_t *data, size_t bytes, size_t room, struct piece old, const char *with, size_t n)
{
    if (bytes - old.bytes + n > room)
        return bytes;
    char copy[512];
    n = n < sizeof copy ? n : sizeof copy;
    memcpy(copy, with, n);
    memmove(data + old.at + n, data + old.at + old.bytes, bytes - old.at - old.bytes);
    memcpy(data + old.at, copy, n);
    return bytes - old.bytes + n;
}

/* All kernels but one go. */
static size_t keep_one(uint8_t *data, size_t bytes, uint64_t *rng)
{
    static const char head[] = ".visible .entry", end[] = "\n}\n";
    struct piece kernel[128];
    int n = 0;
    for (size_t at = 0; at + sizeof head < bytes && n < 128;) {
        if (memcmp(data + at, head, sizeof head - 1)) {
            at++;
            continue;
        }
        size_t to = at;
        while (to + 3 < bytes && memcmp(data + to, end, 3))
            to++;
        kernel[n++] = (struct piece){at, to + 3 - at};
        at = to;
    }
    int keep = n ? (int)(fuzz_next(rng) % (uint64_t)n) : 0;
    for (int i = n; i-- > 0;)
        if (i != keep) {
            memmove(data + kernel[i].at, data + kernel[i].at + kernel[i].bytes, bytes - kernel[i].at - kernel[i].bytes);
            bytes -= kernel[i].bytes;
        }
    return bytes;
}

/* A word somewhere behind the first `{`: letters, digits, %, _ , $; a modifier with its dot. */
static struct piece word(const uint8_t *data, size_t bytes, size_t body, uint64_t *rng)
{
    size_t at = body + fuzz_next(rng) % (bytes - body), to;
    while (at > body && (isalnum(data[at - 1]) || strchr("%_$", data[at - 1] ? data[at - 1] : ' ')))
        at--;
    if (at > body && data[at - 1] == '.')
        at--;
    for (to = at + 1; to < bytes && (isalnum(data[to]) || (data[to] && strchr("%_$", data[to])));)
        to++;
    return (struct piece){at, to - at};
}

static struct piece line(const uint8_t *data, size_t bytes, size_t body, uint64_t *rng)
{
    size_t at = body + fuzz_next(rng) % (bytes - body), to = at;
    while (at > body && data[at - 1] != '\n')
        at--;
    while (to < bytes && data[to] != '\n')
        to++;
    return (struct piece){at, to < bytes ? to + 1 - at : to - at};
}

size_t fuzz_mutate(uint8_t *data, size_t bytes, size_t room, uint64_t *rng)
{
    static const char *const spare[] = {".u32",
                                        ".s32",
                                        ".u64",
                                        ".s64",
                                        ".b16",
                                        ".b32",
                                        ".b64",
                                        ".f32",
                                        ".f64",
                                        ".f16",
                                        ".u8",
                                        ".s8",
                                        ".v2",
                                        ".v4",
                                        ".global",
                                        ".shared",
                                        ".local",
                                        ".sat",
                                        ".ftz",
                                        ".rn",
                                        ".rz",
                                        ".cc",
                                        ".wide",
                                        ".hi",
                                        ".lo",
                                        ".volatile",
                                        ".relaxed",
                                        ".x4",
                                        ".trans",
                                        ".pred",
                                        "%tid.x",
                                        "%laneid",
                                        "%clock",
                                        "0",
                                        "1",
                                        "-1",
                                        "31",
                                        "32",
                                        "63",
                                        "1024",
                                        "2147483647",
                                        "4294967295",
                                        "0x8000000000000000",
                                        "0f7fc00000",
                                        "0f00000000",
                                        "0d7ff8000000000000",
                                        "@%p1",
                                        "@!%p1",
                                        "bra",
                                        "add",
                                        "mad",
                                        "setp",
                                        "cvt",
                                        "shfl",
                                        "bar",
                                        "atom",
                                        "red",
                                        "ld",
                                        "st",
                                        "mov",
                                        "ret",
                                        "exit",
                                        "trap",
                                        "fma",
                                        "div",
                                        "prmt",
                                        "vote",
                                        "match",
                                        "mma",
                                        "selp"};
    bytes = keep_one(data, bytes, rng);
    const uint8_t *open = memchr(data, '{', bytes);
    size_t body = open ? (size_t)(open - data) : 0;
    for (uint64_t n = fuzz_next(rng) % 5 + 1; n && bytes > body + 8; n--) {
        struct piece a = word(data, bytes, body, rng), b = word(data, bytes, body, rng);
        switch (fuzz_next(rng) % 6) {
        case 0:
        case 1: /* a word of the same file in another's place */
            bytes = put(data, bytes, room, a, (const char *)data + b.at, b.bytes < 400 ? b.bytes : 0);
            break;
        case 2: {
            const char *s = spare[fuzz_next(rng) % (sizeof spare / sizeof *spare)];
            bytes = put(data, bytes, room, a, s, strlen(s));
            break;
        }
        case 3: /* a line less */ bytes = put(data, bytes, room, line(data, bytes, body, rng), "", 0); break;
        case 4: { /* a line twice, or elsewhere */
            struct piece from = line(data, bytes, body, rng), to = line(data, bytes, body, rng);
            to.bytes = 0;
            bytes = put(data, bytes, room, to, (const char *)data + from.at, from.bytes < 400 ? from.bytes : 0);
            break;
        }
        default: /* another digit */
            for (size_t i = a.at; i < a.at + a.bytes; i++)
                if (isdigit(data[i])) {
                    data[i] = (uint8_t)('0' + fuzz_next(rng) % 10);
                    break;
                }
        }
    }
    return bytes;
}
