/* fuzz driver: feeds mutated copies of the seed files to fuzz_one() for some seconds; repeatable by its seed.
 *
 * usage: fuzz_NAME SECONDS SEED CRASH_FILE [SEED_FILE...]
 * Each input is in CRASH_FILE (mapped, so that it survives any crash) before it is tried: replay it with SECONDS 0. */
#include "fuzz/fuzz.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct seed {
    uint8_t *data;
    size_t bytes;
};
/* The input that is being tried: its length, then its bytes, in a file of its own. */
struct attempt {
    uint64_t bytes;
    uint8_t data[FUZZ_MAX_BYTES];
};

static uint64_t next(uint64_t *state)
{
    return fuzz_next(state);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool seed_read(const char *path, int times, struct seed *s)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    s->data = malloc(FUZZ_MAX_BYTES);
    s->bytes = s->data && fuzz_read_seed ? fuzz_read_seed(path, times, s->data, FUZZ_MAX_BYTES) : 0;
    if (s->data && !s->bytes)
        s->bytes = fread(s->data, 1, FUZZ_MAX_BYTES, f);
    fclose(f);
    return s->data != NULL;
}

static int times_before(char **names, int at)
{
    int n = 0;
    for (int i = 0; i < at; i++)
        n += !strcmp(names[i], names[at]);
    return n;
}

/* Makes room for, or removes, `bytes` at `at`. */
static void replace_piece(struct attempt *a, size_t at, size_t removed, const uint8_t *with, size_t added)
{
    if (a->bytes - removed + added > FUZZ_MAX_BYTES)
        return;
    memmove(a->data + at + added, a->data + at + removed, a->bytes - at - removed);
    memmove(a->data + at, with, added);
    a->bytes += added - removed;
}

/* One small damage: a flipped bit, a changed byte, a word with a value at the edge of its type, a piece cut, doubled or taken from another
 * seed, a run of digits.
 */
static void mutate(struct attempt *a, const struct seed *seeds, int count, uint64_t *rng)
{
    static const uint64_t edges[] = {0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, UINT64_MAX};
    static const char *const words[] = {"-1",    "0",    "99999999999999999999",
                                        "1e999", "nan",  "%s%n",
                                        "*x",    "&x ",  "<<: ",
                                        "[",     "]",    "{",
                                        "}",     ":",    "\n",
                                        "\t",    "\xff", "(",
                                        ")",     " / 0", "- "};
    uint8_t piece[256] = {0};
    size_t at = a->bytes ? next(rng) % a->bytes : 0, left = a->bytes - at;
    switch (next(rng) % 8) {
    case 0:
        if (a->bytes)
            a->data[at] ^= (uint8_t)(1u << (next(rng) % 8));
        break;
    case 1:
        if (a->bytes)
            a->data[at] = (uint8_t)next(rng);
        break;
    case 2: {
        uint64_t v = edges[next(rng) % (sizeof edges / sizeof *edges)];
        size_t width = (size_t)1 << (next(rng) % 4);
        if (left >= width)
            memcpy(a->data + at, &v, width);
        break;
    }
    case 3: replace_piece(a, at, left ? next(rng) % (left < 64 ? left : 64) + 1 : 0, piece, 0); break;
    case 4: { /* double a piece */
        size_t n = left < sizeof piece ? left : sizeof piece;
        n = n ? next(rng) % n + 1 : 0;
        memcpy(piece, a->data + at, n);
        replace_piece(a, at, 0, piece, n);
        break;
    }
    case 5: { /* a piece of another seed */
        const struct seed *s = &seeds[next(rng) % (uint64_t)count];
        size_t from = s->bytes ? next(rng) % s->bytes : 0, n = s->bytes - from;
        n = n > sizeof piece ? sizeof piece : n;
        replace_piece(a, at, 0, s->data + from, n);
        break;
    }
    case 6: {
        const char *w = words[next(rng) % (sizeof words / sizeof *words)];
        replace_piece(a, at, 0, (const uint8_t *)w, strlen(w));
        break;
    }
    default: /* cut the end off */
        if (next(rng) % 8 == 0)
            a->bytes = at;
        break;
    }
}

static struct attempt *map_attempt(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct attempt)))
        return NULL;
    void *p = mmap(NULL, sizeof(struct attempt), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

/* The parser gets an exact-size heap copy, so that the sanitizer sees a read one past the end. */
static void try_once(const struct attempt *a)
{
    uint8_t *copy = malloc(a->bytes ? a->bytes : 1);
    if (!copy)
        abort();
    memcpy(copy, a->data, a->bytes);
    fuzz_one(copy, a->bytes);
    free(copy);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s SECONDS SEED CRASH_FILE [SEED_FILE...]\n", argv[0]);
        return 2;
    }
    double seconds = atof(argv[1]);
    uint64_t rng = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    struct attempt *attempt = map_attempt(argv[3]);
    if (!attempt) {
        fprintf(stderr, "cannot map %s\n", argv[3]);
        return 2;
    }
    if (seconds <= 0) {
        try_once(attempt);
        printf("replayed %llu bytes of %s\n", (unsigned long long)attempt->bytes, argv[3]);
        return 0;
    }
    int count = argc - 4;
    struct seed *seeds = calloc((size_t)count + 1, sizeof *seeds);
    if (!seeds)
        return 2;
    for (int i = 0; i < count; i++)
        if (!seed_read(argv[4 + i], times_before(argv + 4, i), &seeds[i])) {
            fprintf(stderr, "cannot read %s\n", argv[4 + i]);
            return 2;
        }
    if (!count)
        seeds[count++] = (struct seed){.data = calloc(1, 1), .bytes = 0};
    uint64_t tries = 0;
    double slowest_s = 0;
    for (double end_s = now_s() + seconds; now_s() < end_s; tries++) {
        const struct seed *s = &seeds[tries % (uint64_t)count];
        attempt->bytes = s->bytes;
        memcpy(attempt->data, s->data, s->bytes);
        bool by_format = fuzz_mutate && next(&rng) % 8; /* the format's own damage alone, mostly */
        if (tries >= (uint64_t)count && fuzz_mutate)
            attempt->bytes = fuzz_mutate(attempt->data, attempt->bytes, FUZZ_MAX_BYTES, &rng);
        if (tries >= (uint64_t)count && !by_format) /* the seeds themselves first */
            for (uint64_t n = next(&rng) % 6 + 1; n; n--)
                mutate(attempt, seeds, count, &rng);
        /* An input that computes longer is a hang, also on a busy machine: SIGPROF ends the program, and the input stays in the file.
         * SIGALRM ends one that waits for ever. */
        setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = 10}}, NULL);
        alarm(300);
        double begun_s = now_s();
        try_once(attempt);
        if (now_s() - begun_s > slowest_s)
            slowest_s = now_s() - begun_s;
    }
    alarm(0);
    printf("%llu inputs, slowest %.0f ms\n", (unsigned long long)tries, slowest_s * 1e3);
    for (int i = 0; i < count; i++)
        free(seeds[i].data);
    free(seeds);
    munmap(attempt, sizeof *attempt);
    unlink(argv[3]);
    return tries ? 0 : 1;
}
