#include "device/device.h"
#include "base/dtype.h"
#include "base/expr.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void device_close(struct device *dev)
{
    if (!dev)
        return;
    dev->ops->close(dev);
    free(dev);
}

void device_sample_free(struct device_sample *sample)
{
    for (int i = 0; i < sample->count; i++) {
        free(sample->groups[i].counts);
        free(sample->groups[i].path);
    }
    free(sample->groups);
    *sample = (struct device_sample){0};
}

static bool pack_integer(const struct param *param, const char *name, const struct value *number, void *to, struct error *err)
{
    bool whole = number->kind == VALUE_INT || (fabs(number->d) < 0x1p63 && number->d == floor(number->d));
    if (!whole)
        return error_set(err, ERROR_USAGE, "argument %s is %g, but the kernel's parameter is an integer", name, number->d);
    int64_t v = number->kind == VALUE_INT ? number->i : (int64_t)number->d;
    int64_t limit = param->bytes >= 8 ? INT64_MAX : (INT64_C(1) << (8 * param->bytes)) - 1; /* signedness is not in the signature */
    int64_t least = param->bytes >= 8 ? INT64_MIN : -(INT64_C(1) << (8 * param->bytes - 1));
    if (v > limit || v < least)
        return error_set(err, ERROR_USAGE, "argument %s = %lld does not fit the kernel's %u-byte parameter", name, (long long)v,
                         param->bytes);
    memcpy(to, &v, param->bytes); /* little endian */
    return true;
}

bool device_pack_number(const struct param *param, const char *name, const struct value *number, void *to, struct error *err)
{
    bool open = param->kind == PARAM_ANY || param->untyped; /* a cubin has no types, and PTX from Mojo has .b32: the number decides */
    if (param->kind == PARAM_BYTES || param->bytes > 8)
        return error_set(err, ERROR_USAGE, "argument %s is a number, but the kernel's parameter is a structure of %u bytes", name,
                         param->bytes);
    if (param->kind != PARAM_FLOAT && !(open && number->kind == VALUE_REAL))
        return pack_integer(param, name, number, to, err);
    double v = value_number(number);
    enum dtype type = param->bytes == 8 ? DTYPE_F64 : param->bytes == 4 ? DTYPE_F32 : DTYPE_F16;
    if (!isnan(v) && !dtype_holds(type, v))
        return error_set(err, ERROR_USAGE, "argument %s: %s cannot hold %.9g", name, dtype_name(type), v);
    dtype_set(type, to, 0, v);
    return true;
}
