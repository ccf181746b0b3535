/* A network of four layers, as EDSR is in small. */
#ifndef BENCH_TESTS_SMALL_NETWORK_H
#define BENCH_TESTS_SMALL_NETWORK_H

static const char small[] = "scenario: t\n"
                            "defaults: {n: 2, h: 6, w: 5, kernel: 3, pad: 1, op: conv2d}\n"
                            "layers:\n"
                            "  head: {c: 3, k: 8, epilogue: [bias]}\n"
                            "  b1: {c: 8, k: 8, epilogue: [bias, relu]}\n"
                            "  b2: {c: 8, k: 8, epilogue: [bias, residual]}\n"
                            "  up: {c: 8, k: 8, epilogue: [bias, {depth_to_space: {block: 2, mode: CRD}}]}\n"
                            "axes: {layout: [NHWC, NCHW]}\n"
                            "network: {order: [head, {repeat: 2, of: [b1, b2]}, b2, up], layout: [given, NCHW, NHWC, per_op, ends]}\n"
                            "variants: [cudnn, conv2d/naive, conv2d/tiled_halo]\n";

#endif
