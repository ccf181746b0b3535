/* contexts KERNELS.cubin [CONTEXTS]: by how much does a launch of one kernel take longer in one CUDA context than in another, and what of a
 * context does it? Needs a GPU.
 *
 *     nvcc -arch=sm_90 -cubin tests/gpu/turns.cu -o turns.cubin
 *     gcc -std=gnu17 -O2 -Iharness -I/usr/local/cuda/include tests/gpu/contexts.c harness/base/stats/quantile.c -lm \
 *         -L/usr/local/cuda/lib64/stubs -lcuda -o contexts && ./contexts turns.cubin
 *
 * Times one kernel of 2000 cycles on every SM between two events, in one context after another, the stream held until all of it is queued;
 * on four streams, between four pairs of events that lie 10,000 events apart, with the code loaded four times, behind a flush of L2 in two
 * buffers, or behind none (then they stand for what matters nothing). Each launch has one of eight turns (measure/time/sample_slot.c),
 * which is drawn and taken out. Prints the mean of each context, ns, and the standard deviation of what contexts, streams, events, code and
 * buffers make, beside what chance alone would (the launches' own, over the root of their number). */
#include "base/stats/quantile.h"
#include <cuda.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STREAMS = 4, PAIRS = 4, CODES = 4, BUFFERS = 2, TURNS = 8, APART = 10000, WARMUP = 64, SAMPLES = 1024, MOST = 64, REST_NS = 100000 };
#define FLUSHED_BYTES ((size_t)120 << 20)

struct sample {
    int stream, pair, code, buffer, turn;
    double ns;
};
struct place {
    CUcontext context;
    CUstream streams[STREAMS];
    CUevent from[PAIRS], to[PAIRS];
    CUfunction codes[CODES];
    CUdeviceptr buffers[BUFFERS], memory, word;
    unsigned *held, holds, launches[STREAMS];
};

static void must(CUresult got, const char *what)
{
    const char *said = "";
    if (got == CUDA_SUCCESS)
        return;
    cuGetErrorString(got, &said);
    printf("contexts: %s: %s\n", what, said);
    exit(1);
}

static void open_place(struct place *p, const char *cubin, CUdevice device)
{
    CUctxCreateParams plain = {0};
    CUmodule module;
    void *word;
    *p = (struct place){0};
    must(cuCtxCreate(&p->context, &plain, 0, device), "making a context");
    for (int i = 0; i < STREAMS; i++)
        must(cuStreamCreate(&p->streams[i], CU_STREAM_NON_BLOCKING), "making a stream");
    for (int i = 0; i < PAIRS; i++) {
        CUevent between;
        must(cuEventCreate(&p->from[i], 0), "making an event");
        must(cuEventCreate(&p->to[i], 0), "making an event");
        for (int k = 0; k < APART; k++)
            must(cuEventCreate(&between, 0), "making an event");
    }
    for (int i = 0; i < CODES; i++) {
        must(cuModuleLoad(&module, cubin), cubin);
        must(cuModuleGetFunction(&p->codes[i], module, "waits"), "finding the kernel");
    }
    for (int i = 0; i < BUFFERS; i++)
        must(cuMemAlloc(&p->buffers[i], 2 * FLUSHED_BYTES), "what is flushed with");
    must(cuMemAlloc(&p->memory, 4096), "the kernel's memory");
    must(cuMemHostAlloc(&word, 4096, CU_MEMHOSTALLOC_DEVICEMAP), "the word that holds");
    must(cuMemHostGetDevicePointer(&p->word, word, 0), "the word that holds");
    p->held = word;
    *p->held = 0;
}

static void launch(struct place *p, int stream, int code, unsigned blocks, unsigned cycles)
{
    struct {
        unsigned long long word[64];
    } large = {{0}};
    void *params[] = {&large, &p->memory, &cycles};
    must(cuLaunchKernel(p->codes[code], blocks, 1, 1, 384, 1, 1, 0, p->streams[stream], params, NULL), "launching");
    p->launches[stream]++;
}

static struct sample take(struct place *p, bool flushed)
{
    struct sample s = {rand() % STREAMS, rand() % PAIRS, rand() % CODES, rand() % BUFFERS, rand() % TURNS, 0};
    CUstream stream = p->streams[s.stream];
    float ms;
    must(cuStreamSynchronize(stream), "waiting");
    nanosleep(&(struct timespec){.tv_nsec = REST_NS}, NULL);
    while ((p->launches[s.stream] + (flushed ? 2 : 0)) % TURNS != (unsigned)s.turn)
        launch(p, s.stream, s.code, 1, 0);
    if (flushed) {
        CUdeviceptr buffer = p->buffers[s.buffer];
        must(cuMemsetD32Async(buffer, (unsigned)rand(), FLUSHED_BYTES / 4, stream), "flushing");
        must(cuMemcpyDtoDAsync(buffer + FLUSHED_BYTES, buffer, FLUSHED_BYTES, stream), "flushing");
        p->launches[s.stream] += 2;
    }
    must(cuStreamWaitValue32(stream, p->word, ++p->holds, CU_STREAM_WAIT_VALUE_EQ), "holding");
    must(cuEventRecord(p->from[s.pair], stream), "an event");
    launch(p, s.stream, s.code, 132, 2000);
    must(cuEventRecord(p->to[s.pair], stream), "an event");
    __atomic_store_n(p->held, p->holds, __ATOMIC_RELEASE);
    must(cuStreamSynchronize(stream), "waiting");
    must(cuEventElapsedTime(&ms, p->from[s.pair], p->to[s.pair]), "reading the time");
    s.ns = (double)ms * 1e6;
    return s;
}

/* Of those on this stream with this turn: their median; NAN without any. */
static double median_of(const struct sample *all, int stream, int turn)
{
    static double ns[SAMPLES];
    int count = 0;
    for (int i = 0; i < SAMPLES; i++)
        if (all[i].stream == stream && all[i].turn == turn)
            ns[count++] = all[i].ns;
    return count ? quantile_median(ns, count) : NAN;
}

/* Squares of what lies apart, summed up over the contexts. */
struct tally {
    double square, chance;
    int count;
};
/* Of values whose sums and numbers are given: how far their means lie from that of all. */
static void tally_add(struct tally *t, const double *sum, const int *n, int values, double own)
{
    double all = 0;
    int count = 0;
    for (int v = 0; v < values; v++) {
        all += sum[v];
        count += n[v];
    }
    for (int v = 0; v < values; v++)
        if (n[v]) {
            t->square += pow(sum[v] / n[v] - all / count, 2);
            t->chance += own * own / n[v];
            t->count++;
        }
}
static void tally_say(const struct tally *t, const char *what)
{
    printf("  %-8s %6.1f ns (by chance %.1f)\n", what, sqrt(t->square / t->count), sqrt(t->chance / t->count));
}

struct effects {
    struct tally streams, pairs, codes, buffers;
    double mean[MOST];
    int contexts;
};

static void learn(struct effects *e, const struct sample *all)
{
    double of[STREAMS][TURNS], stream[STREAMS] = {0}, mean = 0, square = 0;
    int each[STREAMS], count = 0;
    double pair[PAIRS] = {0}, code[CODES] = {0}, buffer[BUFFERS] = {0};
    int pairs[PAIRS] = {0}, codes[CODES] = {0}, buffers[BUFFERS] = {0};
    for (int s = 0; s < STREAMS; s++) {
        each[s] = 1;
        for (int t = 0; t < TURNS; t++)
            stream[s] += (of[s][t] = median_of(all, s, t)) / TURNS;
        mean += stream[s] / STREAMS;
    }
    for (int i = 0; i < SAMPLES; i++) {
        double left = all[i].ns - of[all[i].stream][all[i].turn];
        if (fabs(left) > 1000) /* the machine's doing */
            continue;
        pair[all[i].pair] += left, pairs[all[i].pair]++;
        code[all[i].code] += left, codes[all[i].code]++;
        buffer[all[i].buffer] += left, buffers[all[i].buffer]++;
        square += left * left;
        count++;
    }
    double own = sqrt(square / count);
    tally_add(&e->streams, stream, each, STREAMS, own / sqrt((double)count / STREAMS));
    tally_add(&e->pairs, pair, pairs, PAIRS, own);
    tally_add(&e->codes, code, codes, CODES, own);
    tally_add(&e->buffers, buffer, buffers, BUFFERS, own);
    e->mean[e->contexts++] = mean;
}

static void say(const struct effects *e, const char *how)
{
    double mean = 0, square = 0, least = INFINITY, most = -INFINITY;
    for (int i = 0; i < e->contexts; i++)
        mean += e->mean[i] / e->contexts;
    printf("%s: %.0f ns in the mean; each context:", how, mean);
    for (int i = 0; i < e->contexts; i++) {
        double off = e->mean[i] - mean;
        square += off * off;
        least = fmin(least, off);
        most = fmax(most, off);
        printf(" %+.0f", off);
    }
    printf("\n  contexts %6.1f ns (%+.0f to %+.0f)\n", sqrt(square / e->contexts), least, most);
    tally_say(&e->streams, "streams");
    tally_say(&e->pairs, "events");
    tally_say(&e->codes, "code");
    tally_say(&e->buffers, "buffers");
}

int main(int argc, char **argv)
{
    static struct sample all[SAMPLES];
    struct effects flushed = {0}, warm = {0};
    int contexts = argc > 2 ? atoi(argv[2]) : 12;
    char name[128];
    CUdevice device;
    if (argc < 2 || contexts < 2 || contexts > MOST) {
        printf("contexts: a cubin of tests/gpu/turns.cu and a number of contexts from 2 to %d, please\n", MOST);
        return 2;
    }
    must(cuInit(0), "beginning");
    must(cuDeviceGet(&device, 0), "the GPU");
    must(cuDeviceGetName(name, sizeof name, device), "its name");
    srand((unsigned)time(NULL));
    for (int c = 0; c < contexts; c++) {
        struct place p;
        open_place(&p, argv[1], device);
        for (int f = 0; f < 2; f++) {
            for (int i = -WARMUP; i < SAMPLES; i++) {
                struct sample s = take(&p, f);
                if (i >= 0)
                    all[i] = s;
            }
            learn(f ? &flushed : &warm, all);
        }
        must(cuCtxDestroy(p.context), "ending a context");
    }
    printf("%s: what a launch takes in %d contexts of one process, %d launches in each, standard deviations\n", name, contexts, SAMPLES);
    say(&flushed, "behind a flush");
    say(&warm, "behind none");
    return 0;
}
