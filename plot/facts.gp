# What the compiler made: registers a thread, spilled bytes a thread, theoretical occupancy.
# data: name, registers, spill bytes, occupancy %
# rows, margin (characters), most_spill (0: nothing spills, and that panel is left out)
load "style.gp"
set multiplot
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics
left = (margin * 8.0 + 12) / width
panels = most_spill > 0 ? 3 : 2
panel = (1 - left - 0.03) / panels
set tmargin 0.6
set bmargin 2.6
set lmargin at screen left
set rmargin at screen left + panel - 0.04
set xrange [0:256]
set xtics 128
set xlabel "registers" offset 0,0.5
plot data using (0):0:(0):2:($0 - 0.3):($0 + 0.3) with boxxyerror linecolor rgb blue, \
     data using (0):0:1 with labels right offset -1,0
if (most_spill > 0) {
    set lmargin at screen left + panel + 0.01
    set rmargin at screen left + 2 * panel - 0.03
    set xrange [0:most_spill]
    set xtics most_spill / 2
    set xlabel "spill, B" offset 0,0.5
    plot data using (0):0:(0):3:($0 - 0.3):($0 + 0.3) with boxxyerror linecolor rgb red
}
set lmargin at screen left + (panels - 1) * panel + 0.02
set rmargin at screen 0.97
set xrange [0:100]
set xtics 50
set xlabel "occupancy, %" offset 0,0.5
plot data using (0):0:(0):4:($0 - 0.3):($0 + 0.3) with boxxyerror linecolor rgb green
unset multiplot
