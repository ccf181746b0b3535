#include "device/chip/chip.h"
#include "base/dtype.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where the figures come from
 *
 * Limits: "Technical Specifications per Compute Capability" of the CUDA C++ programming guide 13.0; they agree with cuda_occupancy.h
 * (tests/unit/ test_occupancy.c). 64 Ki registers of 32 bits per SM and per block, 255 per thread, given to a warp in units of 256 (8 per
 * thread), warps in fours; 32 banks; 1,024 bytes of a block's shared memory are the system's from cc 8.0 on.
 *
 * SM counts, clocks, caches, bandwidths: NVIDIA's architecture white papers and product data sheets. Each line was checked against the
 * headline rates of those sheets, which it reproduces (FLOP per SM and clock x SMs x clock in GHz; tests/unit/test_chip.c):
 *   TU102  Turing white paper, T. 3:   68 x 128 x 1.545 GHz = 13.4 fp32 TFLOP/s;   68 x 1024 x 1.545 = 107.6 fp16 tensor (reference board)
 *   TU104  T4 data sheet:              40 x 128 x 1.59 = 8.1;      40 x 1024 x 1.59 = 65
 *   GA100  A100 80GB SXM data sheet:   108 x 128 x 1.41 = 19.5;    108 x 2048 x 1.41 = 312;   tf32 156, int8 624, fp64 9.7
 *   GA102  RTX A6000 data sheet:       84 x 256 x 1.80 = 38.7;     84 x 1024 x 1.80 = 154.8;  GeForce: fp32 accumulation at half of it
 *   AD102  L40S data sheet:            142 x 256 x 2.52 = 91.6;    142 x 1024 x 2.52 = 366
 *   GH100  H100/H200 SXM data sheet:   132 x 256 x 1.98 = 66.9;    132 x 4096 x 1.83 = 989;   tf32 495, int8 1979, fp64 34
 *   GB100  B200 data sheet:            148 x 256 x 1.965 = 74.5;   148 x 8192 x 1.85 = 2243 (2.25 P); tf32 1.1 P, int8 4.5 P, fp64 37
 *   GB202  RTX Blackwell white paper:  170 x 256 x 2.407 = 104.8;  170 x 1024 x 2.407 = 419 (GeForce: as above)
 *   GA10B  Jetson AGX Orin 64GB:       16 x 256 x 1.30 = 5.3;      16 x 4096 x 1.30 = 85 int8 (170 with sparsity)
 *   GB103  HGX B300 data sheet:        148 x 256 x 1.965 = 74.5;   148 x 8192 x 1.85 = 2243; tf32 1.1 P, int8 0.15 P, fp64 1.2
 *   GB10B  Jetson T5000 data sheet:    20 x 256 x 1.575 = 8.06;    20 x 8192 x 1.575 = 258 (a quarter of 1,035 FP8 with sparsity)
 *   GB10   DGX Spark (Hot Chips 2025): 48 x 256 x 2.52 = 31;       48 x 1024 x 2.52 = 124 (an eighth of 1 P FP4 with sparsity)
 *
 * sm_88 and sm_107, which NVRTC compiles for, are no product that NVIDIA names. Their limits are the "arch traits" of CCCL 13.3; the shared
 * memory of sm_107 is what ptxas 13.5 takes with --enable-extended-smem, which for every other chip is the driver's limit of a block. SMs,
 * clocks, caches and rates are unknown: 0.
 *
 * The clock is the highest at which the SM can run, not the "boost" clock behind a data sheet's tensor rate: 989 TFLOP/s of an H200 is 132
 * SMs x 4096 at 1.83 GHz, but with enough power it runs at up to 1.98 GHz, so only 1,070 TFLOP/s is a rate that nothing can exceed. Boards
 * sold with other clocks report their own to the driver. For the same reason a rate that is halved on GeForce (fp32 accumulation) has the
 * silicon's full value. L2 bandwidth: no figure is published; 0. */

#define SM_COMMON \
    .warp_size = 32, .threads_per_block = 1024, .registers_per_sm = 65536, .registers_per_block = 65536, .registers_per_thread = 255, \
    .smem_banks = 32, .smem_per_block = 48 * 1024
#define SM_75 \
    .arch = "sm_75", .cc = 75, .threads_per_sm = 1024, .warps_per_sm = 32, .blocks_per_sm = 16, .smem_per_sm = 64 * 1024, \
    .smem_per_block_optin = 64 * 1024, .smem_reserved = 0, .flop_f32 = 128, .flop_f16_simt = 256, .flop_f16_tensor = 1024, \
    .flop_i8_tensor = 2048, .flop_f64 = 4, SM_COMMON
#define SM_80 \
    .arch = "sm_80", .cc = 80, .threads_per_sm = 2048, .warps_per_sm = 64, .blocks_per_sm = 32, .smem_per_sm = 164 * 1024, \
    .smem_per_block_optin = 163 * 1024, .smem_reserved = 1024, .flop_f32 = 128, .flop_f16_simt = 512, .flop_f16_tensor = 2048, \
    .flop_bf16_tensor = 2048, .flop_tf32_tensor = 1024, .flop_i8_tensor = 4096, .flop_f64 = 64, SM_COMMON
#define SM_8X /* cc 8.6 and 8.9 */ \
    .threads_per_sm = 1536, .warps_per_sm = 48, .smem_per_sm = 100 * 1024, .smem_per_block_optin = 99 * 1024, .smem_reserved = 1024, \
    .flop_f32 = 256, .flop_f16_simt = 256, .flop_f16_tensor = 1024, .flop_bf16_tensor = 1024, .flop_tf32_tensor = 512, \
    .flop_i8_tensor = 2048, .flop_f64 = 4, SM_COMMON
#define SM_87 /* an SM of GA100 with the threads of GA102 */ \
    .arch = "sm_87", .cc = 87, .threads_per_sm = 1536, .warps_per_sm = 48, .blocks_per_sm = 16, .smem_per_sm = 164 * 1024, \
    .smem_per_block_optin = 163 * 1024, .smem_reserved = 1024, .flop_f32 = 256, .flop_f16_simt = 512, .flop_f16_tensor = 2048, \
    .flop_bf16_tensor = 2048, .flop_tf32_tensor = 1024, .flop_i8_tensor = 4096, .flop_f64 = 4, SM_COMMON
#define SM_86 .arch = "sm_86", .cc = 86, .blocks_per_sm = 16, SM_8X
#define SM_89 .arch = "sm_89", .cc = 89, .blocks_per_sm = 24, SM_8X
#define SM_90 \
    .arch = "sm_90a", .cc = 90, .threads_per_sm = 2048, .warps_per_sm = 64, .blocks_per_sm = 32, .smem_per_sm = 228 * 1024, \
    .smem_per_block_optin = 227 * 1024, .smem_reserved = 1024, .flop_f32 = 256, .flop_f16_simt = 512, .flop_f16_tensor = 4096, \
    .flop_bf16_tensor = 4096, .flop_tf32_tensor = 2048, .flop_i8_tensor = 8192, .flop_f64 = 128, SM_COMMON
#define SM_10X /* cc 10 and 11 */ \
    .smem_per_sm = 228 * 1024, .smem_per_block_optin = 227 * 1024, .smem_reserved = 1024, .flop_f32 = 256, .flop_f16_simt = 512, \
    .flop_f16_tensor = 8192, .flop_bf16_tensor = 8192, .flop_tf32_tensor = 4096, SM_COMMON
#define SM_100 \
    .arch = "sm_100a", .cc = 100, .threads_per_sm = 2048, .warps_per_sm = 64, .blocks_per_sm = 32, .flop_i8_tensor = 16384, \
    .flop_f64 = 128, SM_10X
#define SM_103 \
    .arch = "sm_103a", .cc = 103, .threads_per_sm = 2048, .warps_per_sm = 64, .blocks_per_sm = 32, .flop_i8_tensor = 512, .flop_f64 = 4, \
    SM_10X
#define SM_110 \
    .arch = "sm_110a", .cc = 110, .threads_per_sm = 1536, .warps_per_sm = 48, .blocks_per_sm = 24, .flop_i8_tensor = 16384, .flop_f64 = 4, \
    SM_10X
#define SM_120 .arch = "sm_120a", .cc = 120, .blocks_per_sm = 24, SM_8X
#define SM_121 .arch = "sm_121a", .cc = 121, .blocks_per_sm = 24, SM_8X
#define SM_88 \
    .arch = "sm_88", .cc = 88, .threads_per_sm = 1536, .warps_per_sm = 48, .blocks_per_sm = 16, .smem_per_sm = 100 * 1024, \
    .smem_per_block_optin = 99 * 1024, .smem_reserved = 1024, SM_COMMON
#define SM_107 \
    .arch = "sm_107a", .cc = 107, .threads_per_sm = 1024, .warps_per_sm = 32, .blocks_per_sm = 16, .smem_per_sm = 328 * 1024, \
    .smem_per_block_optin = 327 * 1024, .smem_reserved = 1024, SM_COMMON
#define BOARD(chip_name, product, sms, l2_mib, clock_hz, dram) \
    .name = chip_name, .board = product, .sm_count = sms, .l2_bytes = (size_t)(l2_mib * 1048576.0), .clock_max_hz = clock_hz, \
    .dram_bytes_s = dram

/* The first of a chip or an arch is what its name alone means. */
static const struct chip table[] = {
    {BOARD("TU102", "RTX 2080 Ti", 68, 5.5, 1.545e9, 616e9), SM_75},  {BOARD("TU104", "T4", 40, 4, 1.59e9, 320e9), SM_75},
    {BOARD("GA100", "A100 SXM", 108, 40, 1.41e9, 2.039e12), SM_80},   {BOARD("GA102", "RTX A6000", 84, 6, 1.80e9, 768e9), SM_86},
    {BOARD("GA102", "RTX 3090", 82, 6, 1.695e9, 936e9), SM_86},       {BOARD("AD102", "L40S", 142, 96, 2.52e9, 864e9), SM_89},
    {BOARD("AD102", "RTX 4090", 128, 72, 2.52e9, 1008e9), SM_89},     {BOARD("GH100", "H200 SXM", 132, 60, 1.98e9, 4.8e12), SM_90},
    {BOARD("GH100", "H100 SXM", 132, 50, 1.98e9, 3.35e12), SM_90},    {BOARD("GB100", "B200 SXM", 148, 126, 1.965e9, 8e12), SM_100},
    {BOARD("GB202", "RTX 5090", 170, 96, 2.407e9, 1.792e12), SM_120}, {BOARD("GA10B", "Jetson AGX Orin", 16, 4, 1.3e9, 204.8e9), SM_87},
    {BOARD("GB103", "B300 SXM", 148, 126, 1.965e9, 8e12), SM_103},    {BOARD("GB10B", "Jetson T5000", 20, 32, 1.575e9, 273e9), SM_110},
    {BOARD("GB10", "DGX Spark", 48, 24, 2.52e9, 273e9), SM_121},      {.name = "sm_88", .board = "unknown product", SM_88},
    {.name = "sm_107", .board = "unknown product", SM_107},
};
#define TABLE_COUNT ((int)(sizeof table / sizeof table[0]))

const struct chip *chip_table(int *count)
{
    *count = TABLE_COUNT;
    return table;
}

const char *const *chip_names(void)
{
    static const char *names[TABLE_COUNT + 1];
    int count = 0;
    for (int i = 0; i < TABLE_COUNT; i++)
        if (i == 0 || strcmp(table[i].name, table[i - 1].name)) /* boards of a chip stand together */
            names[count++] = table[i].name;
    names[count] = NULL;
    return names;
}

/* "90", "sm_90", "sm_90a", "compute_90" -> 90; 0 for anything else. */
static int arch_number(const char *name)
{
    const char *digits = !strncasecmp(name, "sm_", 3) ? name + 3 : !strncasecmp(name, "compute_", 8) ? name + 8 : name;
    char *end;
    if (!isdigit((unsigned char)*digits))
        return 0;
    long n = strtol(digits, &end, 10);
    if (*end == 'a' || *end == 'f')
        end++;
    return *end || n > 999 ? 0 : (int)n;
}

/* Does `name` start with `word`, ending at a space or at its own end? */
static bool starts_with(const char *name, const char *word)
{
    size_t n = strlen(word);
    return n && !strncasecmp(name, word, n) && (!name[n] || name[n] == ' ' || name[n] == '-');
}

const struct chip *chip_find(const char *name)
{
    if (!name || !*name)
        return NULL;
    static const char *const makers[] = {"NVIDIA ", "GeForce ", "Tesla ", "Quadro "};
    const char *product = name;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (!strncasecmp(product, makers[i], strlen(makers[i])))
            product += strlen(makers[i]);
    int arch = arch_number(name);
    for (int i = 0; i < TABLE_COUNT; i++)
        if (!strcasecmp(table[i].name, name) || (arch && table[i].cc == arch))
            return &table[i];
    for (int i = 0; i < TABLE_COUNT; i++) { /* "H200", "H200 SXM", "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090" */
        char board[sizeof table[i].board];
        snprintf(board, sizeof board, "%s", table[i].board);
        char *form = strstr(board, " SXM");
        if (form)
            *form = 0;
        /* a suffix that makes it another product, such as "RTX 4090 Laptop GPU" or "H100 PCIe", is not it */
        if (starts_with(product, board) && !strcasestr(product, "laptop") && !strcasestr(product, "pcie") && !strcasestr(product, "nvl") &&
            !strcasestr(product, "max-q"))
            return &table[i];
    }
    return NULL;
}

double chip_flop_s(const struct chip *chip, int math)
{
    double per_sm = 0;
    switch ((enum math)math) {
    case MATH_F32: per_sm = chip->flop_f32; break;
    case MATH_TF32: per_sm = chip->flop_tf32_tensor; break;
    case MATH_F16_ACC32:
    case MATH_F16_ACC16: per_sm = chip->flop_f16_tensor; break;
    case MATH_BF16_ACC32: per_sm = chip->flop_bf16_tensor; break;
    case MATH_I8_ACC32: per_sm = chip->flop_i8_tensor; break;
    case MATH_NONE:
    case MATH_COUNT: break;
    }
    return per_sm * chip->sm_count * chip->clock_max_hz;
}
