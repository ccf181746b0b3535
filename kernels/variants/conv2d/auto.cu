/* bench 1
op: conv2d
what: the variant for this shape, by rule - no timing, no search
dtype: {input: [f32, f16, bf16, i8], filter: same, output: [same, f32], bias: f32, accumulate: [f32, i32]}
math: [f32, tf32, f16_acc32, bf16_acc32, i8_acc32]
epilogue: [bias, residual, relu, leaky_relu, depth_to_space]
let:
  half: (dtype == f16 or dtype == bf16) and layout == NHWC
  plain: stride == 1 and dilation == 1 and groups == 1
  nchw: layout == NCHW and dtype != i8
  d2s: has(depth_to_space)
  planes: groups == c and c > 1
  wide: q >= 96 and n * p * q * c >= 2500000 or r * s >= 25 and q >= 64 and n * p * q * c >= 1000000      # depthwise: so much that a block goes down many lines
  narrow: q <= 20                                 # depthwise NCHW: of 128 outputs side by side most are not there
  short: 4 * q < 3 * 128 * ceil(q, 128)
  strips: not short and c >= 16                   # depthwise NHWC: 128 outputs side by side
  products: n * p * q * k * c * r * s
  tiny: select(half, 50000, 100000)
  light: select(c <= 64, 520000000, 320000000)     # NCHW: for fewer two layout changes cost more than they save
  nchw16: nchw and (dtype == f16 or dtype == bf16)
  small: half and (r * s >= 25 and n * p * q <= 4096 and c <= 128 and k <= 128 or n * p * q <= 2048 and (c * r * s <= 2600 or r * s >= 25) and products <= 200000000)
  many: n * p * q >= select(layout == NHWC, 4096, 16384)
  odd: c * size(input) % 16 != 0 or k * size(input) % 16 != 0
  odder: c * size(input) % 8 != 0 or k * size(input) % 8 != 0
  # not so: large layers of a kernel that was written for them
  grown: n * p * q >= 100000
  whole: r * s == 9 and c % 64 == 0 and k % 64 == 0 or half and r * s == 9 and n * p * q >= 500000 and c % 16 == 0 and c <= 64 and (k % 64 == 0 or k <= 4)
  open: not (plain and grown and (whole or half and (c <= 4 and k % 64 == 0 and n * p * q >= 500000 and not has(residual) or c % 64 == 0 and k <= 4)))
measured: cc == 90
select:
  # so few channels that nothing is shared: what matters is that a value stays in registers for all its taps
  - {variant: vector_rows, when: c * k <= 4 and r <= 3 and s <= 3 and layout == NCHW}      # wider filters were not measured
  - {variant: cudnn, when: c * k == 1 and r * s > 25 and layout == NHWC and (math == f32 or math == tf32)}
  - {variant: reg_tiled, when: groups == 1 and (c * k <= 4 or r * s == 1 and c <= 4 and k <= 4 and nchw and math == f32)}
  - {variant: cudnn_residual, when: (dtype == f16 or dtype == bf16) and groups > 1 and has(residual) and n * p * q * k <= 200000}      # nobody below adds one
  - {variant: depthwise, when: planes and n * p * q * c <= tiny and c <= 128 and r * s <= 9 and dtype != i8 and math != tf32}      # so little that nobody goes down many lines
  - {variant: depthwise_rows, when: half and planes and r * s <= 9 and n * p * q * c <= 200000}
  - {variant: depthwise_strips, when: planes and half and wide and strips and s >= 5}
  - {variant: depthwise_bulk, when: planes and half and wide and c >= 16}      # a block has 16 channels
  - {variant: depthwise_mma, when: planes and half}
  - {variant: depthwise_bulk_nchw, when: planes and wide}
  - {variant: depthwise_mma_nchw, when: planes and nchw and math != f32 and math != tf32 and not narrow}
  - {variant: reg_tiled, when: planes and nchw and math == f32 and r * s <= 9 and n * p * q * c <= 1000000 and c <= 128}
  - {variant: depthwise_strips_tf32, when: planes and math == tf32 and layout == NHWC and wide and strips and s >= 7}
  - {variant: depthwise_bulk_f32, when: planes and wide and c >= 24}      # a block has 32 channels
  - {variant: depthwise_bulk_tf32_nchw, when: planes and wide and math == tf32 and r * s >= 25}
  - {variant: depthwise_bulk_f32_nchw, when: planes and wide}
  - {variant: depthwise_strips_s8, when: planes and layout == NHWC and wide and strips and s >= 5}
  - {variant: depthwise_bulk_s8, when: planes and wide}
  - {variant: depthwise_bulk_s8_nchw, when: planes and wide}
  - {variant: depthwise_rows, when: planes or half and c == 1 and k > 8 and k <= 128 and r * s <= 9 and r * s > 1 and stride == 1 and n * p * q >= 2048 and n * p * q < 8192 or c == 1 and k > 4 and nchw and (math == f32 or math == tf32) and (r * s >= 25 or k >= 64 and r * s > 1)}
  - {variant: depthwise, when: planes}
  - {variant: depthwise_rows, when: c == 1 and k > 8 and math == f32 and r * s == 1}      # its bytes are the outputs
  - {variant: reg_tiled, when: half and groups > 1 and c <= 12 * groups}
  # 16-bit tensor cores, NHWC: the ends of a network have designs of their own
  - {variant: wgmma_ragged, when: half and plain and c == 4 and r * s == 1 and k % 8 == 0 and n * p * q >= 1000000}
  - {variant: mma_few_in, when: half and c <= 4 and (n * p * q >= 65536 or c == 1 and n * p * q >= 8192) and not d2s}
  - {variant: wgmma_ragged, when: half and plain and k <= 16 and c >= 64 and c % 2 == 0 and c % 8 != 0 and r * s > 1 and r * s <= 9 and n * p * q >= 4096}
  - {variant: mma_any, when: half and not d2s and (c >= 2 and c <= 4 or k <= 8 and r * s == 1 and stride > 1)}
  - {variant: mma_few_out, when: half and k <= 8 and c == 16 and stride == 1 and r * s > 1 and n * p * q <= 262144}
  - {variant: stream_few_out, when: half and k <= 8 and (k <= 4 or r * s * c <= 480)}
  - {variant: mma_few_out, when: half and k <= 8}
  - {variant: mma_any, when: half and k <= 8 and not d2s and r * s > 1 and (stride == 1 or c <= 64)}      # more channels than a block of those two holds
  # a store that is the depth_to_space
  - {variant: wgmma_rs_d2s, when: half and plain and c <= 64 and d2s}
  - {variant: wgmma_rs, when: half and plain and c <= 64 and d2s}
  - {variant: wgmma_pixels, when: half and plain and d2s and short and products > 50000000}      # rows of 128 pixels would be a quarter empty
  - {variant: wgmma_wide_d2s, when: half and plain and d2s}
  - {variant: wgmma_blocks_d2s, when: half and plain and d2s}
  - {variant: mma_sync_d2s, when: half and plain and d2s and cc != 90}    # no wgmma; saves the library's pass of the shuffle, whatever its own pace
  # small layers, and channels that the library's engines do not take as they lie; a depth_to_space that nobody above fuses is one more step
  - {variant: padded, when: half and odd and r * s > 1 and stride > 1 and (c % 8 == 0 and c >= 128 or c >= 256) and k > 8 and products > 50000000}
  - {variant: mma_any, when: nchw16 and groups == 1 and c > 2 and (r * s == 1 and c <= 64 or r * s <= 16 and c <= 8) and not (c <= 4 and k % 8 == 0 and r * s > 1 and n * p * q >= 65536)}
  - {variant: mma_any, when: nchw16 and groups == 1 and c > 2 and n * p * q < 16384 and products <= light}
  - {variant: through_nhwc, when: nchw16 and groups == 1 and c > 2 and k >= 128 and n * p * q < 2048}
  - {variant: mma_any, when: nchw16 and groups == 1 and c > 2 and (n * p * q < 2048 or has(residual) and k <= 8 and c <= 32)}
  - {variant: reg_tiled, when: nchw and math != f32 and groups == 1 and (k <= 2 and c <= 16 or k == 1 and c <= 64 and stride == 1) and r * s > 1 and r * s <= 9}
  - {variant: cudnn_plain, when: nchw and math != f32 and groups == 1 and k <= 2 and c > 16 and r * s == 1}
  - {variant: wgmma_rs_nchw, when: nchw and (dtype == f16 or dtype == bf16) and plain and c >= 24 and c <= 64 and r * s > 1 and n * p * q >= 65536}
  - {variant: through_nhwc, when: nchw and math != f32 and math != tf32 and (odd or stride > 1 and c >= 24) and c >= 12 and (n * p * q >= 131072 or (k >= 256 or r * s >= 25 or c * r * s >= 1200) and n * p * q >= 32768) and r * s > 1}
  - {variant: mma_any, when: nchw and math == tf32 and groups == 1 and c > 2 and n * p * q < 2048 and products <= 100000000}
  - {variant: mma_any, when: nchw and math != f32 and k <= 4 and c > 16 and c <= 128 and r * s > 1 and r * s <= 9}
  - {variant: through_nhwc, when: nchw16 and stride > 1 and c >= 32 and r * s > 1 and n * h * w * c >= 2000000}
  - {variant: mma_any, when: nchw and math != f32 and stride > 1 and c > 4 and c <= 64 and (k <= 64 or r * s == 1 and k <= 128)}
  - {variant: mma_any, when: small or math == tf32 and r * s >= 25 and (c <= 32 and k <= 64 or k <= 32) and (layout == NHWC or n * p * q < 65536)}
  - {variant: wgmma_rs_tf32, when: math == tf32 and layout == NHWC and plain and c >= 36 and k > 64 and r * s > 1 and n * p * q >= 16384}
  - {variant: mma_any, when: half and groups == 1 and r * s > 1 and c * r * s <= 100 and k > 128}      # few products for each result
  - {variant: wgmma_ragged, when: half and plain and c >= 16 and c <= 32 and c % 8 == 0 and k > 4 * c and k % 8 == 0 and r * s > 1 and r * s <= 16 and n * p * q >= 8192}
  - {variant: mma_any, when: half and plain and has(residual) and k % 8 != 0 and c <= 32 and r * s > 1}      # ragged lines of a residual are slow to add
  - {variant: wgmma_ragged, when: half and plain and r * s >= 49 and c >= 40 and c % 2 == 0 and k > 128 and n * p * q >= 2048}
  - {variant: mma_any, when: half and groups == 1 and (c > 4 and c <= 8 and k > 8 or r * s == 25 and stride > 1 and k <= 16 or plain and r * s == 1 and c % 8 == 0 and c <= 48 and k <= 48)}
  - {variant: padded, when: half and groups == 1 and c % 2 == 1 and c > 64 and k > 8 and r * s > 1 and n * p * q >= 4096}      # mma_any would copy 2 bytes at a time
  - {variant: mma_any, when: half and groups == 1 and r * s == 1 and stride > 1 and c <= 128 and k <= 128}
  - {variant: wgmma_ragged, claimed: yes, when: half}
  - {variant: wgmma_ragged, when: half and d2s and c % 2 == 0 and c >= 16 and odd and r * s > 1 and n * p * q >= 4096}      # claims are for layers without another step
  - {variant: mma_any, when: d2s and groups == 1 and math != f32 and (products <= 50000000 or (c <= 64 or k <= 64) and (products <= 250000000 or odd and products <= 4000000000))}
  - {variant: fma_any, when: d2s and groups == 1 and math == f32 and products <= 100000000}
  - {variant: wgmma_pixels, when: d2s and math == tf32 and layout == NHWC and groups == 1 and stride == 1 and c % 4 == 0 and k % 4 == 0 and k <= 3 * c and r * s > 1}
  - {variant: padded, when: half and groups == 1 and r * s == 1 and stride == 1 and c > 8 and c % 2 == 1 and k >= 128 and k % 8 == 0 and n * p * q >= 262144}
  - {variant: wgmma_ragged, when: half and plain and r * s >= 16 and r * s < 49 and c >= 16 and c <= 48 and c % 8 == 0 and k % 8 == 0 and k >= 16 and k <= 64 and n * p * q >= 65536}
  - {variant: wgmma_ragged, when: half and plain and r * s > 1 and r * s <= 9 and c >= 96 and c <= 256 and k > 16 and k <= 32 and n * p * q >= 4096 and n * p * q <= 32768}
  - {variant: wgmma_ragged, when: half and plain and r * s == 1 and c >= 16 and c <= 64 and c % 8 == 4 and k >= 16 and k <= 128 and k % 8 == 0 and n * p * q >= 131072}
  - {variant: cudnn, when: half and groups == 1 and r * s == 1 and c % 8 == 0 and k % 2 == 1 and k > 64 and cc >= 80}
  - {variant: mma_any, claimed: yes, when: math != f32 and not (nchw and c > 2 and c <= 4 and k % 8 == 0 and n * p * q >= 65536)}
  - {variant: padded, when: (half or math == tf32) and odd and r * s > 1 and (c > 64 and k > 64 or math == tf32 and c > 64 and k > 8 or half and c > 8 and k > 32)}
  - {variant: wgmma_ragged, when: half and plain and odder and r * s == 1 and c >= 128 and c % 2 == 0 and k > 64 and n * p * q >= 8192}
  - {variant: mma_any, when: half and plain and odder and r * s == 1 and c > 64 and c < 128 and k > 64 and n * p * q >= 8192}
  - {variant: cudnn_padded, when: (half or math == tf32) and odder and r * s == 1 and c > 64 and k > 64}
  # so few channels, or so many taps, that wgmma's 64 rows are mostly empty
  - {variant: mma_sync, when: half and plain and (k <= 32 and (c <= 16 or c <= 32 and r * s > 9) or c <= 16 and r * s >= 25)}
  - {variant: mma_sync, when: half and groups == 1 and stride > 1 and c <= 16 and k <= 32 and r * s > 1 and n * p * q >= 65536}
  - {variant: cudnn_plain, when: half and groups == 1 and r * s >= 49 and stride > 1 and c >= 32 and c % 8 == 0 and k >= 32 and n * p * q >= 4096}
  - {variant: mma_any, when: half and groups == 1 and r * s >= 25 and (c <= 48 and k <= 128 or c <= 64 and k <= 24 or k <= 32 and n * p * q <= 4096)}
  # of those that claim the shape the one whose tiles leave least empty; the library where nobody does
  - {variant: wgmma_pixels, claimed: yes, when: half and (c <= 32 and (k <= 32 or r * s > 9) or r * s == 1 and (c <= 48 or c <= 64 and k > 64))}
  - {variant: wgmma_rs, claimed: yes, when: half and (k <= 64 or k % 128 == 0 or k % 128 > 112)}
  - {variant: wgmma_pixels, claimed: yes, when: half}
  - {variant: wgmma_rs, claimed: yes, when: half}
  - {variant: cudnn_plain, when: half and r * s >= 49 and c > 4}      # of 7x7 the library has no good engine that fuses
  - {variant: cudnn_plain, when: half and p * q == 1 and r * s >= 25 and n >= 16 and k >= 512}
  - {variant: cudnn_residual, when: half}
  - {variant: cudnn, when: half and cc >= 80}
  - {variant: wgmma_rs_nchw, when: layout == NCHW and plain and c <= 64}
  - {variant: cudnn_plain, when: nchw and math != f32 and groups > 1 and (dtype == f16 or dtype == bf16)}
  - {variant: mma_any, when: nchw and (dtype == f16 or dtype == bf16) and r * s == 1 and stride == 1 and k <= 128 and n * p * q >= 2048 and n * p * q <= 8192}
  - {variant: cudnn_plain, when: nchw and math != f32 and (n * p * q < 2048 or r * s == 1 and stride == 1 and (n * p * q < 65536 or math != tf32 and (c <= 64 and k <= 64 or h * w % 8 == 0)) and (math != tf32 or n * p * q < 32768))}
  - {variant: through_nhwc, when: layout == NCHW and math != f32 and (math != tf32 or c > 8)}      # any width
  - {variant: wgmma_rs_tf32, claimed: yes, when: math == tf32 and c > 48}
  - {variant: cudnn, when: math == tf32 and layout == NHWC and groups == 1 and n * p * q < 8192 and c * r * s >= 2000 and k <= 128}      # few blocks: the library divides the sums
  - {variant: wgmma_pixels, when: math == tf32 and layout == NHWC and plain and r * s >= 25 and c % 4 == 0 and k % 4 == 0 and k > 64}      # where the library is slow
  - {variant: mma_any, when: math == tf32 and layout == NHWC and groups == 1 and stride > 1 and r * s >= 25 and c <= 64}
  - {variant: wgmma_pixels, claimed: yes, when: math == tf32}
  - {variant: wgmma_pixels, when: math == tf32 and layout == NHWC and c % 4 == 0 and k % 4 == 0 and c <= 48 and r * s >= 25}
  # a fully connected layer is its weights' bytes: a block for few channels reads them in one piece
  - {variant: ipconv, when: math == f32 and nchw and p * q == 1 and c * h * w >= 2048 and k >= 512 and n <= 20}
  # strict f32: two thirds of the multiplications of 3x3 can be saved, where pixels are many
  - {variant: reg_tiled, when: math == f32 and layout == NHWC and groups == 1 and stride == 1 and r * s == 25 and c >= 16 and c <= 64 and k == 8 and n * p * q >= 65536}
  - {variant: cudnn_plain, when: math == f32 and layout == NHWC and groups == 1 and (r * s >= 25 and c >= 16 and k < 8 or r * s >= 49 and (k > 192 or c >= 20 and k > 32 and n * p * q >= 8192))}
  - {variant: fma_any, when: math == f32 and groups == 1 and c >= 8 and k >= 8 and (r * s >= 49 or r * s >= 25 and (k <= 32 or n * p * q <= 1024) or layout == NHWC and (k <= 16 or r * s == 1 or c % 4 != 0 and k <= 32))}
  - {variant: cudnn_plain, when: nchw and math == f32 and groups == 1 and r * s == 25 and c >= 16 and n * p * q >= 4096 and (stride > 1 or n * p * q >= 16384)}
  - {variant: cudnn, when: nchw and math == f32 and groups == 1 and c <= 4 and stride > 1 and r * s > 1 and r * s != 49 and k >= 64}
  - {variant: fma_any, when: math == f32 and plain and c >= 8 and k >= 8 and (products <= 200000000 or nchw and (products <= 300000000 or n * p * q <= 1024 and (products <= 380000000 or r * s >= 25 and products <= 500000000)))}
  - {variant: winograd, when: math == f32 and nchw and plain and c >= 64 and k >= 96 and p * q >= 49}
  - {variant: fma_any, when: math == f32 and nchw and groups == 1 and c <= 4 and r * s == 49 and stride == 2 and k <= 64}
  - {variant: fma_any, claimed: yes, when: math == f32 and groups == 1}
  - {variant: fma_any, when: nchw and math == f32 and groups == 1 and stride > 1 and c >= 64 and k >= 64 and r * s > 1}
  - {variant: fma_any, when: math == f32 and plain and k <= 4 and c > 96 and r * s <= 9 and layout == NHWC}
  - {variant: tiled_halo, when: math == f32 and plain and k <= 4 and c >= 16 and c <= 96 and r * s <= 9 and layout == NHWC}
  - {variant: halo_regs, when: math == f32 and plain and c >= 8 and k >= 8 and k <= 32 and many}      # winograd's 64 channels a block would be half empty
  - {variant: winograd, when: math == f32 and plain and c >= 16 and (layout == NHWC or k > 32 and n * p * q >= 65536)}
  - {variant: halo_regs, when: math == f32 and plain and c >= 8 and (layout == NHWC or k > 32 and n * p * q >= 65536) and many}
  - {variant: general_tiled, when: math == f32 and layout == NHWC and c <= 4 and k <= 16 and r * s > 1}
  # 8-bit whole numbers
  - {variant: wgmma_rs_s8, when: dtype == i8 and c > 16 and k > 16 and (c <= 64 or k > 64) and r * s > 4 and n * p * q >= 16384}
  - {variant: wgmma_ragged, when: dtype == i8 and (n * p * q <= 131072 or c % 16 != 0 or c <= 64 and (k <= 64 or r * s == 1 and k <= 128) or r * s >= 25 and k > 16)}
  - {variant: wgmma_pixels, claimed: yes, when: dtype == i8}
  - {variant: cudnn_s8, when: dtype == i8 and c % 16 == 0}
  - {variant: dp4a, when: dtype == i8}
  - {variant: cudnn, when: cc >= 80}
  - variant: reg_tiled
  - variant: naive
# who may be faster than the rule's choice: whatever was the fastest of some random layer of that type, layout and kind
race:
  - {variant: wgmma_ragged, when: open and groups == 1 and (half or dtype == i8)}
  - {variant: wgmma_taps, when: open and plain and c <= 64 and (half or dtype == i8)}
  - {variant: mma_any, when: open and groups == 1 and math != f32 and dtype != i8}
  - {variant: wgmma_pixels, when: open and groups == 1 and (half or math == tf32 or dtype == i8)}
  - {variant: wgmma_rs, when: open and half and plain and c <= 64 and n * p * q >= 16384}
  - {variant: mma_sync, when: open and half and groups == 1 and c <= 32}
  - {variant: padded, when: open and groups == 1 and (half or math == tf32) and odd}
  - {variant: mma_few_in, when: open and half and c <= 4 and r * s > 1}
  - {variant: mma_few_out, when: open and half and k <= 8}
  - {variant: stream_few_out, when: open and half and k <= 8 and r * s > 1}
  - {variant: through_nhwc, when: open and nchw and groups == 1 and math != f32}
  - {variant: fma_any, when: open and groups == 1 and math == f32}
  - {variant: halo_regs, when: open and math == f32 and plain and c >= 8 and k >= 8}
  - {variant: winograd, when: open and math == f32 and plain and r * s == 9 and c >= 16 and k >= 32}
  - {variant: reg_tiled, when: not planes and (math == f32 and (k <= 8 or groups > 1) or dtype != i8 and (c * k <= 16 or nchw and k <= 4 or groups > 1))}
  - {variant: wgmma_rs_s8, when: dtype == i8 and groups == 1}
  - {variant: depthwise, when: planes and c <= 16 and dtype != i8}
  - {variant: depthwise_rows, when: planes or c == 1}
  - {variant: depthwise_bulk, when: planes and half}
  - {variant: depthwise_strips, when: planes and half}
  - {variant: depthwise_mma, when: planes and half}
  - {variant: depthwise_bulk_nchw, when: planes and nchw16}
  - {variant: depthwise_mma_nchw, when: (planes or c == 1) and nchw16}
  - {variant: depthwise_bulk_f32, when: planes and (math == f32 or math == tf32)}
  - {variant: depthwise_strips_tf32, when: planes and math == tf32}
  - {variant: depthwise_bulk_f32_nchw, when: planes and (math == f32 or math == tf32)}
  - {variant: depthwise_bulk_tf32_nchw, when: planes and math == tf32}
  - {variant: depthwise_bulk_s8, when: planes and dtype == i8}
  - {variant: depthwise_strips_s8, when: planes and dtype == i8}
  - {variant: depthwise_bulk_s8_nchw, when: planes and dtype == i8}
  - {variant: cudnn, when: open and dtype != i8 and cc >= 80}
  - {variant: cudnn_plain, when: open and dtype != i8 and cc >= 80 and (nchw or math == f32 or math == tf32 or groups > 1 or r * s >= 25)}
  - {variant: cudnn_padded, when: open and groups == 1 and half and odd and cc >= 80}
  - {variant: cudnn_residual, when: open and has(residual) and cc >= 80}
  - {variant: cudnn_s8, when: dtype == i8 and groups == 1 and cc >= 80}
*/

/* No kernel but a rule. Where it is known to err, it is a race: on a layer that is new to a GPU, bench times its choice and those of `race:` in a few launches, and
 * stores the fastest. The report shows which variant it took; the distance to the best row is the cost of the rule, and after a run over many layers the line
 * `selector` counts the cases in which it was not the best. scenarios/auto_grid.yaml and auto_unseen.yaml are such runs, the second over shapes for which no kernel
 * was tuned (reports/gallery; random-h200.md there covers randomly drawn layers: ci/random-layers). Their results became conditions here or, better, the `claims:`
 * of variants: a variant that claims a shape is at par with the library there, and if none claims it the rule takes the library.
 *
 * The other variants are steps of the tutorial, or for older chips: each states what it costs, and none claims what it does not reach. */
