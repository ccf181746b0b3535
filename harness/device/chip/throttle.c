#include "device/chip/throttle.h"

void throttle_text(int64_t throttle, struct text *t)
{
    static const struct {
        int64_t bit;
        const char *name;
    } reasons[] = {
        {0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x10, "sync boost"},
        {0x20, "thermal"},  {0x40, "hardware thermal"}, {0x80, "power brake"},
    }; /* idle (1), application clocks (2) and display (0x100) slow nothing that was asked for */
    const char *comma = "";
    for (size_t i = 0; throttle > 0 && i < sizeof reasons / sizeof *reasons; i++)
        if (throttle & reasons[i].bit) {
            text_addf(t, "%s%s", comma, reasons[i].name);
            comma = ", ";
        }
}
