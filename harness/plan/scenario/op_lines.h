/* plan/scenario/op_lines: Boda's lists of operations, one to a line, as a scenario.
 *
 *   (str_vals=(type=Convolution),nda_vals=(filts=(dims=(out_chan=96,in_chan=3,y=11,x=11)),in=(dims=(img=20,chan=3,y=227,x=227)),
 *    in_pad=(dims=(y=0,x=0)),stride=(dims=(y=4,x=4)),out=(dims=(...)),...))
 *
 * A value is a word or a list of KEY=VALUE in parentheses. The keys read are type, in, filts, stride (1), in_pad (0), kern_sz, out, biases,
 * out_chans and conv_has_relu. Values given twice must agree, and the output's size must follow from the rest. Other keys, blank lines and
 * lines that begin with # are ignored. */
#pragma once

#include "base/error.h"
#include "base/text.h"

#define OP_LINES_MAX_BYTES (4u << 20)
/* Appends a scenario called `name` with a layer for each operation (repeat: how often it stood there). `file` is for messages; an error
 * names FILE:LINE:COLUMN. */
bool op_lines_scenario(const char *file, const char *text, size_t bytes, const char *name, struct text *out, struct error *err);
