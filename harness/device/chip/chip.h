/* device/chip/chip: the GPU chips bench knows without having one: limits, rates and cache sizes, sm_75 to sm_121. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Limits of one chip as sold, or as the driver reports them. A rate or size that is not known is 0 = absent. Sources stand beside the table
 * in chip.c. */
struct chip {
    char name[64];  /* "GH100", or the device's own name */
    char board[64]; /* the product whose SM count and clocks these are: "H200 SXM" */
    char arch[16];  /* what to compile for: "sm_90a" where the chip has an `a` target, else "sm_89" */
    int cc;         /* compute capability x 10: 90 */
    int sm_count;
    int warp_size;
    int threads_per_block, threads_per_sm, warps_per_sm, blocks_per_sm;
    int registers_per_sm, registers_per_block, registers_per_thread;
    size_t smem_per_sm, smem_per_block, smem_per_block_optin, smem_reserved; /* bytes */
    int smem_banks;
    size_t l2_bytes;
    double clock_max_hz; /* SM boost clock, maximum */
    double dram_bytes_s; /* peak, datasheet: 10^12 units -> B/s */
    double l2_bytes_s;   /* architectural peak at clock_max_hz, 0 when not known */
    /* architectural FLOP per SM and clock, dense (2 per multiply-add); 0 = the chip has no such pipe */
    double flop_f32, flop_f16_simt, flop_f16_tensor, flop_bf16_tensor, flop_tf32_tensor, flop_i8_tensor, flop_f64;
    size_t dram_bytes; /* of this GPU's memory, as its driver says; 0: not known */
};

/* By chip name (GH100), board (H200), or arch (sm_90, sm_90a, 90); case does not matter. NULL when unknown. */
const struct chip *chip_find(const char *name);
/* The table, NULL-terminated list of names for suggestions. */
const struct chip *chip_table(int *count);
const char *const *chip_names(void);
/* FLOP/s of the pipe that runs `math` (a base/dtype.h enum math) on this chip at clock_max_hz. 0 = none. */
double chip_flop_s(const struct chip *chip, int math);
