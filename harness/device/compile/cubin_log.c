/* What ptxas -v says, from nvcc's standard error or NVRTC's program log. Lines are matched by their phrases: the two put different things
 * before them. */
#include "base/text.h"
#include "device/compile/cubin.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The number right before `phrase` in the line, or -1. */
static int number_before(const char *line, const char *phrase)
{
    const char *p = strstr(line, phrase);
    if (!p)
        return -1;
    while (p > line && p[-1] == ' ')
        p--;
    const char *end = p;
    while (p > line && isdigit((unsigned char)p[-1]))
        p--;
    if (p == end || end - p > 9)
        return -1;
    return atoi(p);
}

/* The number right behind `phrase` ("Used 32 registers"), or -1. */
static int number_behind(const char *line, const char *phrase)
{
    const char *p = strstr(line, phrase);
    if (!p)
        return -1;
    p += strlen(phrase);
    char *end;
    long v = isdigit((unsigned char)*p) ? strtol(p, &end, 10) : -1;
    return v >= 0 && v < 1000000000 ? (int)v : -1;
}

/* The facts of the kernel whose name starts at p and ends at `stop`; NULL for device functions. */
static struct kernel_facts *named(const char *p, char stop, struct kernel_facts *facts, int count)
{
    size_t n = stop ? strcspn(p, "'") : strcspn(p, " \r\n");
    if (n >= sizeof facts->name)
        n = sizeof facts->name - 1;
    return FIRST_IN(facts, i, count, strncmp(facts[i].name, p, n) == 0 && facts[i].name[n] == 0);
}

static bool same(const struct kernel_facts *f, const char *what, int log, int elf, struct error *err)
{
    if (log < 0 || elf < 0 || log == elf)
        return true;
    error_set(err, ERROR_INTERNAL, "kernel %s: the compiler's log says %d %s, its cubin %d", f->name, log, what, elf);
    return error_hint(err, "bench cannot read the log or the cubin of this compiler; use the pinned one (bench doctor)");
}

static bool add_line(const char *line, struct kernel_facts *entry, struct kernel_facts *function, struct error *err)
{
    if (function && strstr(line, "bytes stack frame")) {
        function->spill_store_bytes = number_before(line, "bytes spill stores");
        function->spill_load_bytes = number_before(line, "bytes spill loads");
        return same(function, "bytes of stack", number_before(line, "bytes stack frame"), function->stack_bytes, err);
    }
    if (entry && strstr(line, "registers") && number_behind(line, "Used ") >= 0) {
        /* The log leaves a part out when it is zero, but never does so for registers. */
        int barriers = number_before(line, "barriers"), smem = number_before(line, "bytes smem");
        if (entry->barriers < 0)
            entry->barriers = barriers;
        return same(entry, "registers", number_behind(line, "Used "), entry->registers, err) &&
               same(entry, "barriers", barriers, entry->barriers, err) &&
               same(entry, "bytes of static shared memory", smem < 0 ? 0 : smem, entry->static_smem, err);
    }
    return true;
}

bool cubin_add_log(const char *log, struct kernel_facts *facts, int count, struct error *err)
{
    static const char compiling[] = "Compiling entry function '", properties[] = "Function properties for ";
    struct kernel_facts *entry = NULL, *function = NULL;
    char *copy = xstrdup(log ? log : ""), *rest = copy, *line;
    bool ok = true;
    while (ok && (line = strsep(&rest, "\n"))) {
        const char *p;
        if ((p = strstr(line, compiling)))
            entry = function = named(p + strlen(compiling), '\'', facts, count);
        else if ((p = strstr(line, properties)))
            function = named(p + strlen(properties), 0, facts, count);
        else
            ok = add_line(line, entry, function, err);
    }
    free(copy);
    return ok;
}
