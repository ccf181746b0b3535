/* device/cudnn/compiled with a stand-in for the library: what it compiles is compiled once, and by whoever comes first. */
#include "base/text.h"
#include "device/compile/compile.h"
#include "device/cudnn/private.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "fake_cudnn.h"

#define MAKER "cudnn 91900 | nvrtc 13.0 | an H200"
static char folder[] = "/tmp/cudnn-compiled-XXXXXX";
static struct cudnn_conv body;

static void clear(void)
{
    char *command = text_format("rm -f '%s'/*", folder);
    assert_int_equal(system(command), 0);
    free(command);
}

static int set_up(void **state)
{
    body = small_conv(DTYPE_F16, MATH_F16_ACC32);
    return !mkdtemp(folder) || setenv("BENCH_CACHE", folder, 1) || setenv("BENCH_THREADS", "1", 1);
}

static int tear_down(void **state)
{
    clear();
    return rmdir(folder);
}

/* Of seven engines four compile, two of them in one mode; one of these is refused. */
static void offers(void)
{
    static const struct offered list[] = {
        {.engine = 1}, {.engine = 2, .compiled = true}, {.engine = 3, .compiled = true, .refused = true}, {.engine = 4}};
    memcpy(world.list[HEURISTIC_A], list, sizeof list);
    world.counts[HEURISTIC_A] = 4;
    world.list[HEURISTIC_B][0] = (struct offered){.engine = 5, .compiled = true};
    world.counts[HEURISTIC_B] = 1;
    world.list[HEURISTIC_FALLBACK][0] = (struct offered){.engine = 6, .compiled = true};
    world.list[HEURISTIC_FALLBACK][1] = (struct offered){.engine = 7};
    world.counts[HEURISTIC_FALLBACK] = 2;
}

static struct cudnn *opened(const char *builder, bool only_described)
{
    struct cudnn *h = xcalloc(1, sizeof *h);
    world = (struct world){0};
    offers();
    described = only_described;
    h->api = &api;
    h->builder = builder ? xstrdup(builder) : NULL;
    h->place = xstrdup("of GPU 1");
    if (described) {
        h->properties = &gpu;
    } else {
        h->handle = &a_handle;
        h->dev = fake_device();
    }
    return h;
}

static void closed(struct cudnn *h)
{
    h->properties = NULL;
    cudnn_close(h);
    assert_int_equal(world.alive, 0);
}

/* How many of the six plans that are not refused the handle compiles; closes it. */
static int compiled_by(struct cudnn *h, const struct cudnn_conv *conv)
{
    static const int engines[] = {1, 5, 6, 2, 7, 4};
    struct error err = {0};
    struct cudnn_plan **plans;
    int count = cudnn_plans(h, conv, 24, &plans, &err);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++) {
        assert_int_equal(cudnn_plan_facts(plans[i])->engine, engines[i]);
        cudnn_plan_free(plans[i]);
    }
    free(plans);
    closed(h);
    return world.compiled;
}

/* So many of the six plans are compiled and read. */
static void makes(const char *builder, const struct cudnn_conv *conv, int compiled, int read)
{
    assert_int_equal(compiled_by(opened(builder, false), conv), compiled);
    assert_int_equal(world.read, read);
}

static void once_for_all(void **state)
{
    struct cudnn_conv other = body;
    clear();
    makes(MAKER, &body, 3, 0);
    makes(MAKER, &body, 0, 3);
    other.k = 32; /* another kernel */
    makes(MAKER, &other, 3, 0);
    makes("cudnn 92800 | nvrtc 13.0 | an H200", &body, 3, 0);
    makes(NULL, &body, 3, 0); /* nobody knows what made it: it is not kept */
    makes(NULL, &body, 3, 0);
    makes(MAKER, &body, 0, 3);
}

/* Several processes without a device, each a part: together all, none twice, and who has the device compiles nothing. */
static void in_parts(void **state)
{
    int compiled = 0;
    clear();
    for (int round = 0; round < 2; round++)
        for (int part = 0; part < 4; part++) {
            struct cudnn *h = opened(MAKER, true);
            cudnn_compile(h, &body, 24, part, 4);
            assert_true(world.compiled <= 1 && world.read == 0);
            compiled += world.compiled;
            closed(h);
        }
    assert_int_equal(compiled, 3);
    makes(MAKER, &body, 0, 3);
}

/* What is prefetched without compiling: nothing before the cache has all parts, and everything where nothing can be kept. */
static void known_before_it_is_made(void **state)
{
    clear();
    for (int part = 0; part < 3; part++) {
        struct cudnn *h = opened(MAKER, false);
        cudnn_prefetch(h, &body, 24, false);
        assert_true(world.compiled == 0 && h->prefetched_count == 0);
        closed(h);
        h = opened(MAKER, true);
        world.list[HEURISTIC_A][2].compiled = false; /* what is refused is never there */
        cudnn_compile(h, &body, 24, part, 3);
        closed(h);
    }
    struct cudnn *h = opened(MAKER, false);
    world.list[HEURISTIC_A][2].compiled = false;
    cudnn_prefetch(h, &body, 24, false);
    assert_true(world.compiled == 0 && world.read == 3 && h->prefetched_count == 1);
    closed(h);
    h = opened(NULL, false);
    cudnn_prefetch(h, &body, 24, false);
    assert_true(world.compiled == 3 && h->prefetched_count == 1);
    closed(h);
}

/* Of so many plans those that are going to be asked for. */
static void not_too_many(void **state)
{
    clear();
    struct cudnn *h = opened(MAKER, true);
    cudnn_compile(h, &body, 2, 0, 1); /* engines 1 and 5 */
    assert_int_equal(world.compiled, 1);
    closed(h);
    makes(MAKER, &body, 2, 1);
}

/* What cannot be read, or is not what was written, is compiled again and replaced. */
static void damaged(void **state)
{
    clear();
    makes(MAKER, &body, 3, 0);
    DIR *dir = opendir(folder);
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            char *path = text_format("%s/%s", folder, e->d_name);
            FILE *f = fopen(path, "r+");
            assert_true(f && !fseek(f, -3, SEEK_END) && fputc('9', f) == '9' && !fclose(f));
            free(path);
        }
    closedir(dir);
    makes(MAKER, &body, 3, 0);
    makes(MAKER, &body, 0, 3);
    struct cudnn *h = opened(MAKER, false);
    world.reads_nothing = true; /* whole, but not to the library's taste */
    assert_int_equal(compiled_by(h, &body), 3);
}

static size_t version(void)
{
    return 91900;
}

static struct cudnn_api api_there;
/* A handle on a GPU of that kind at that place, whose compiler is in that folder. */
static struct cudnn *placed(const char *kind, int place, const char *compilers)
{
    struct cudnn *h = opened(NULL, false);
    SCOPED char *device = text_format("{\"pciDeviceId\":%d,\"cudaDeviceId\":%d,\"deviceName\":\"%s\"}", place + 6, place, kind),
                *compiler = text_format("%s/libnvrtc.so", compilers), *make = text_format("mkdir -p %s; echo 1 >%s", compilers, compiler);
    assert_int_equal(system(make), 0);
    free(h->place);
    h->place = NULL;
    api_there = api;
    api_there.cudnnGetVersion = version;
    snprintf(api_there.compiler.path, sizeof api_there.compiler.path, "%s", compiler);
    h->api = &api_there;
    cudnn_set_builder(h, device);
    return h;
}

/* GPUs of one kind share what they compile, wherever they and the compiler are; a GPU that cuDNN lets load only its own keeps its own. */
static void on_any_gpu(void **state)
{
    SCOPED char *here = text_format("%s.here", folder), *there = text_format("%s.there", folder),
                *command = text_format("rm -r %s.*", folder);
    clear();
    assert_int_equal(compiled_by(placed("H200", 0, here), &body), 3);
    assert_int_equal(compiled_by(placed("H200", 1, there), &body), 0);
    assert_int_equal(compiled_by(placed("H100", 0, here), &body), 3);
    clear();
    for (int round = 0; round < 2; round++)
        for (int maker = 1; maker <= 2; maker++) {
            struct cudnn *h = placed("H200", maker, here);
            world.maker = maker;
            assert_int_equal(compiled_by(h, &body), round ? 0 : 3);
        }
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_for_all), cmocka_unit_test(in_parts), cmocka_unit_test(known_before_it_is_made),
        cmocka_unit_test(not_too_many), cmocka_unit_test(damaged),  cmocka_unit_test(on_any_gpu)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
