/* report/source/disassemble: see disassemble.h. The instructions of all rows go into one file without headers, one after the other;
 * targets of relative branches are then corrected to their real addresses. */
#include "report/source/disassemble.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTRUCTION_BYTES 16
#define LIMIT_S 60.0
#define OUTPUT_MAX_BYTES (256u << 20)
#define BYTES_TEXT 34 /* 0x and 32 digits */

bool disassembled(const struct row_code *code)
{
    const char *bytes = strlen(code->text) >= BYTES_TEXT ? code->text + strlen(code->text) - BYTES_TEXT : "";
    return strcmp(code->language, "sass") || strncmp(bytes, "0x", 2) || strspn(bytes + 2, "0123456789abcdef") != BYTES_TEXT - 2;
}

static bool is_bytes(const struct row_code *c)
{
    return strlen(c->text) == BYTES_TEXT && !disassembled(c);
}

static void words_of(const struct row_code *c, uint64_t words[2])
{
    char high[17];
    snprintf(high, sizeof high, "%.16s", c->text + 2);
    words[1] = strtoull(high, NULL, 16);
    words[0] = strtoull(c->text + 18, NULL, 16);
}

/* ---- without nvdisasm ---- */

/* Operations by their low 9 bits, which are the same from sm_75 to sm_120; as nvdisasm names them in the code of shipped kernels. */
static const char *operation(unsigned code)
{
    static const struct {
        unsigned code;
        const char *name;
    } known[] = {{0x2, "MOV"},          {0x3, "P2R"},         {0x5, "CS2R"},        {0x6, "VOTE"},
                 {0x7, "SEL"},          {0x8, "FSEL"},        {0x9, "FMNMX"},       {0xb, "FSETP"},
                 {0xc, "ISETP"},        {0x10, "IADD3"},      {0x11, "LEA"},        {0x12, "LOP3"},
                 {0x13, "IABS"},        {0x15, "VABSDIFF4"},  {0x16, "PRMT"},       {0x17, "IMNMX"},
                 {0x19, "SHF"},         {0x1a, "SGXT"},       {0x1b, "BMSK"},       {0x1c, "PLOP3"},
                 {0x20, "FMUL"},        {0x21, "FADD"},       {0x23, "FFMA"},       {0x24, "IMAD"},
                 {0x25, "IMAD"},        {0x26, "IDP"},        {0x27, "IMAD"},       {0x28, "DMUL"},
                 {0x2a, "DSETP"},       {0x2b, "DFMA"},       {0x2f, "ELECT"},      {0x30, "HADD2"},
                 {0x32, "HMUL2"},       {0x35, "HFMA2"},      {0x36, "VIADD"},      {0x37, "IMMA"},
                 {0x39, "I2IP"},        {0x3b, "LDSM"},       {0x3c, "HMMA"},       {0x3e, "F2FP"},
                 {0x40, "HMNMX2"},      {0x44, "STSM"},       {0x45, "I2FP"},       {0x46, "VIADDMNMX"},
                 {0x48, "VIMNMX"},      {0x82, "UMOV"},       {0x86, "VOTEU"},      {0x87, "USEL"},
                 {0x8c, "UISETP"},      {0x90, "UIADD3"},     {0x91, "ULEA"},       {0x92, "ULOP3"},
                 {0x96, "UPRMT"},       {0x97, "UIADD3"},     {0x99, "USHF"},       {0xa4, "UIMAD"},
                 {0xa5, "UIMAD"},       {0xb9, "ULDC"},       {0xbb, "ULDC"},       {0xbf, "UPOPC"},
                 {0xca, "R2UR"},        {0x100, "FLO"},       {0x101, "BREV"},      {0x102, "FCHK"},
                 {0x104, "F2F"},        {0x105, "F2I"},       {0x106, "I2F"},       {0x108, "MUFU"},
                 {0x109, "POPC"},       {0x110, "F2F"},       {0x111, "F2I"},       {0x112, "I2F"},
                 {0x118, "NOP"},        {0x119, "S2R"},       {0x11a, "DEPBAR"},    {0x11b, "ENDCOLLECTIVE"},
                 {0x11c, "B2R"},        {0x11d, "BAR"},       {0x141, "BSYNC"},     {0x142, "BREAK"},
                 {0x143, "CALL"},       {0x144, "CALL"},      {0x145, "BSSY"},      {0x146, "YIELD"},
                 {0x147, "BRA"},        {0x148, "WARPSYNC"},  {0x149, "BRX"},       {0x14d, "EXIT"},
                 {0x14e, "LEPC"},       {0x150, "RET"},       {0x155, "BMOV"},      {0x156, "BMOV"},
                 {0x15c, "BPT"},        {0x15d, "NANOSLEEP"}, {0x180, "LD"},        {0x181, "LDG"},
                 {0x182, "LDC"},        {0x183, "LDL"},       {0x184, "LDS"},       {0x185, "ST"},
                 {0x186, "STG"},        {0x187, "STL"},       {0x188, "STS"},       {0x189, "SHFL"},
                 {0x18a, "ATOM"},       {0x18c, "ATOMS"},     {0x18d, "ATOMS"},     {0x18f, "CCTL"},
                 {0x192, "MEMBAR"},     {0x1a1, "MATCH"},     {0x1a6, "REDG"},      {0x1a7, "SYNCS"},
                 {0x1a8, "ATOMG"},      {0x1aa, "QSPC"},      {0x1ae, "LDGSTS"},    {0x1af, "LDGDEPBAR"},
                 {0x1b2, "SYNCS"},      {0x1b4, "UTMALDG"},   {0x1b5, "UTMASTG"},   {0x1b7, "UTMACMDFLUSH"},
                 {0x1b9, "UTMACCTL"},   {0x1ba, "UBLKCP"},    {0x1bc, "UBLKPF"},    {0x1c2, "R2UR"},
                 {0x1c3, "S2UR"},       {0x1c4, "REDUX"},     {0x1c5, "WARPGROUP"}, {0x1c6, "FENCE"},
                 {0x1c8, "USETMAXREG"}, {0x1f0, "HGMMA"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].code == code)
            return known[i].name;
    return NULL;
}

static void name_operation(struct row_code *c)
{
    uint64_t words[2];
    words_of(c, words);
    const char *name = operation(words[0] & 0x1ff);
    if (name) {
        SCOPED char *text = text_format("%s %s", name, c->text);
        row_set(&c->text, text);
    }
}

/* ---- with it ---- */

static char *find_tool(void)
{
    const char *named = getenv("BENCH_NVDISASM");
    SCOPED char *own = file_share(".deps/nvidia/cu13/bin/nvdisasm"), *installed = file_share("nvidia/cu13/bin/nvdisasm");
    const char *const places[] = {named && *named ? named : NULL, file_exists(own) ? own : NULL, file_exists(installed) ? installed : NULL};
    char *tool = NULL;
    for (int i = 0; i < 3 && !tool; i++)
        tool = places[i] ? xstrdup(places[i]) : NULL;
    return tool;
}

/* Corrects "BRA 0x50" of an instruction at `packed` in the file and at `real` in its kernel. */
static char *put_back(const char *text, size_t bytes, uint64_t packed, uint64_t real)
{
    static const char *const jumps[] = {"BRA", "BSSY", "CALL", "JMP", "RET", "BRX", "WARPSYNC"};
    char *all = xstrndup(text, bytes), *name = all[0] == '@' ? strchr(all, ' ') : all, *target = strrchr(all, ' ');
    bool jumps_there = false;
    name += name && *name == ' ';
    for (size_t i = 0; name && i < sizeof jumps / sizeof *jumps; i++)
        jumps_there |= !strncmp(name, jumps[i], strlen(jumps[i]));
    if (!jumps_there || !target || strncmp(target, " 0x", 3))
        return all;
    uint64_t to = strtoull(target + 1, NULL, 16) - packed + real;
    char *moved = text_format("%.*s 0x%llx", (int)(target - all), all, (unsigned long long)to);
    free(all);
    return moved;
}

/* Parses its output, lines such as "LDC R1, c[0x0][0x28] ;" after an address in a comment, into the instructions' texts. */
static void take(const char *output, struct row_code *const *code, int count)
{
    for (const char *p = output; p; p = strchr(p, '\n')) {
        char *end;
        p += *p == '\n';
        const char *at = p + strspn(p, " \t");
        if (strncmp(at, "/*", 2))
            continue;
        uint64_t packed = strtoull(at + 2, &end, 16), i = packed / INSTRUCTION_BYTES;
        if (strncmp(end, "*/", 2) || packed % INSTRUCTION_BYTES || i >= (uint64_t)count)
            continue;
        at = end + 2 + strspn(end + 2, " \t");
        size_t n = strcspn(at, ";\n");
        while (n && at[n - 1] == ' ')
            n--;
        SCOPED char *text = n ? put_back(at, n, packed, (uint64_t)code[i]->address) : NULL;
        if (text)
            row_set(&code[i]->text, text);
    }
}

/* nvdisasm calls "sm_90a" SM90a. False: it failed. */
static bool run_tool(const char *tool, const char *arch, struct row_code *const *code, int count)
{
    const char *tmp = getenv("TMPDIR");
    SCOPED char *dir = text_format("%s/bench-sass.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    SCOPED char *output = NULL;
    SCOPED uint64_t *words = xcalloc((size_t)count, INSTRUCTION_BYTES);
    struct error ignored = {0};
    for (int i = 0; i < count; i++)
        words_of(code[i], words + 2 * i);
    if (mkdtemp(dir)) {
        SCOPED char *raw = file_join(dir, "raw"), *text = file_join(dir, "text"), *chip = text_format("SM%s", arch + 3);
        const char *const argv[] = {tool, "--binary", chip, "raw", NULL};
        if (file_write(raw, words, (size_t)count * INSTRUCTION_BYTES, &ignored) &&
            process_run(argv, &(struct process){dir, "text", true, true, LIMIT_S}) == 0)
            output = file_read(text, OUTPUT_MAX_BYTES, NULL, &ignored);
        file_remove_flat(dir);
    }
    bool done = output != NULL;
    if (done)
        take(output, code, count);
    return done;
}

void disassemble(struct row *const *rows, int count)
{
    static const char *const elsewhere[] = {"nvdisasm", "/usr/local/cuda/bin/nvdisasm"};
    SCOPED char *tool = NULL;
    for (int i = 0; i < count; i++) {
        SCOPED struct row_code **code = NULL;
        const char *arch = rows[i]->arch ? rows[i]->arch : "";
        int found = 0;
        for (int n = 0; n < rows[i]->code_count && !found; n++)
            found = is_bytes(&rows[i]->code[n]);
        if (!found)
            continue;
        found = 0;
        for (int k = i; k < count; k++)
            for (int n = 0; rows[k]->arch && !strcmp(rows[k]->arch, arch) && n < rows[k]->code_count; n++)
                if (is_bytes(&rows[k]->code[n]))
                    *APPEND(code, found) = &rows[k]->code[n];
        tool = tool ? tool : find_tool();
        bool done = strncmp(arch, "sm_", 3) || (tool && run_tool(tool, arch, code, found));
        for (int k = 0; k < 2 && !done && !tool; k++)
            done = run_tool(elsewhere[k], arch, code, found);
        for (int n = 0; n < found; n++)
            if (is_bytes(code[n]))
                name_operation(code[n]);
    }
}
