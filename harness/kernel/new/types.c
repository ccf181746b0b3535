/* What a C++ type of a kernel's parameter is to bench. */
#include "base/dtype.h"
#include "base/text.h"
#include "kernel/new/new.h"
#include <ctype.h>
#include <string.h>

/* Other types that CUDA's headers or C++ have: none of them is a macro. */
static const char others[] = " void short int16_t ptrdiff_t intptr_t uintptr_t dim3 short2 short4 long4 ulong4 CUtensorMap "
                             "cudaTextureObject_t cudaSurfaceObject_t cuComplex cuFloatComplex cuDoubleComplex ";

static bool in_list(const char *list, const char *word)
{
    SCOPED char *spaced = text_format(" %s ", word);
    return strstr(list, spaced) != NULL;
}

const char *type_element(const struct signature_param *p)
{
    enum dtype t = dtype_of_c(p->type, p->no_sign);
    return t == DTYPE_NONE ? NULL : dtype_name(t);
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
