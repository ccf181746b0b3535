/* device/chip/roof: what a machine was measured to do at the most; a list that the store keeps by GPU and the model reads. */
#pragma once

#define ROOFS_MAX 24
struct ceiling {
    char name[24]; /* roof_names of measure/time/roofs.h: "copy", "l2", "f16_acc32", "launch" ... */
    char unit[12]; /* B/s, FLOP/s, ns */
    char how[96];  /* what reached it, and how far its median burst lay from its best: "cublasLt 8192, median 0.8 % off" */
    double value;
};
struct ceiling_list {
    char measured[32]; /* UTC, ISO 8601; "" = never */
    struct ceiling items[ROOFS_MAX];
    int count;
};
