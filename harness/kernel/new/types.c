/* What a C++ type of a kernel's parameter is to bench. */
#include "base/text.h"
#include "kernel/new/signature.h"
#include <ctype.h>
#include <string.h>

/* Element types and the C++ types that hold them, also several of them. */
static const struct {
    const char *element, *types;
} elements[] = {
    {"f32", " float float2 float3 float4 "},
    {"f16", " half __half half2 __half2 half_t Half float16_t "},
    {"bf16", " __nv_bfloat16 nv_bfloat16 __nv_bfloat162 nv_bfloat162 bfloat16_t BFloat16 "},
    {"f64", " double double2 double4 "},
    {"i8", " int8_t char signed_char char2 char3 char4 "},
    {"u8", " uint8_t uchar unsigned_char uchar2 uchar3 uchar4 "},
    {"u16", " uint16_t ushort unsigned_short ushort2 ushort3 ushort4 "},
    {"i32", " int32_t int signed int2 int3 int4 "},
    {"u32", " uint32_t uint unsigned unsigned_int uint2 uint3 uint4 "},
    {"i64", " int64_t long longlong long2 longlong2 longlong4 "},
    {"u64", " uint64_t ulong unsigned_long size_t ulonglong ulong2 ulonglong2 ulonglong4 "},
    {"e4m3", " __nv_fp8_e4m3 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3 float_e4m3_t Float8_e4m3fn "},
    {"e5m2", " __nv_fp8_e5m2 __nv_fp8x2_e5m2 __nv_fp8x4_e5m2 float_e5m2_t Float8_e5m2 "},
    {"bool", " bool "},
};
/* Other types that CUDA's headers or C++ have: none of them is a macro. */
static const char others[] = " void size_t short long longlong ulong ulonglong int16_t int64_t uint64_t ptrdiff_t intptr_t uintptr_t dim3 "
                             "short2 short4 ushort2 ushort4 long2 long4 longlong2 longlong4 ulong2 ulong4 ulonglong2 ulonglong4 "
                             "CUtensorMap cudaTextureObject_t cudaSurfaceObject_t cuComplex cuFloatComplex cuDoubleComplex ";

static bool in_list(const char *list, const char *word)
{
    SCOPED char *spaced = text_format(" %s ", word);
    return strstr(list, spaced) != NULL;
}

const char *type_element(const struct signature_param *p)
{
    SCOPED char *unsigned_type = text_format("unsigned_%s", p->type);
    const char *type = p->no_sign && p->type[0] != 'u' ? unsigned_type : p->type;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (in_list(elements[i].types, type))
            return elements[i].element;
    return NULL;
}

/* Does the file declare the type? */
static bool declares(const char *code, const char *type)
{
    static const char before[] = " struct class union enum typename typedef using define ";
    size_t n = strlen(type);
    for (const char *p = code; (p = strstr(p, type)); p += n) {
        if ((p > code && (isalnum((unsigned char)p[-1]) || p[-1] == '_')) || isalnum((unsigned char)p[n]) || p[n] == '_')
            continue;
        const char *end = p, *start, *statement = p;
        while (end > code && isspace((unsigned char)end[-1]))
            end--;
        for (start = end; start > code && isalpha((unsigned char)start[-1]);)
            start--;
        SCOPED char *word = xstrndup(start, (size_t)(end - start));
        if (*word && in_list(before, word))
            return true;
        while (statement > code && !strchr(";{}\n", statement[-1]))
            statement--;
        statement += strspn(statement, " \t");
        if (p[n + strspn(p + n, " \t")] == ';' && !strncmp(statement, "typedef ", 8))
            return true;
    }
    return false;
}

bool type_is_macro(const struct signature_param *p, const char *code)
{
    bool capitals = true;
    for (const char *c = p->type; *c; c++)
        capitals = capitals && !islower((unsigned char)*c);
    if (type_element(p) || p->qualified || in_list(others, p->type) || !strncmp(p->type, "__", 2) || !strncmp(p->type, "nv_", 3))
        return false;
    /* a header of the author's may declare it */
    return !declares(code, p->type) && (capitals || !strstr(code, "#include \""));
}
