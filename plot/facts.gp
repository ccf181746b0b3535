# What the compiler made: registers a thread, spilled bytes a thread, theoretical occupancy.
#: of: run
#: rows: compiled
#: numbers: [registers, spill_store_bytes, occupancy]
#: height: 60
#: row_height: 24
#: section: Registers, spills, occupancy
#: caption: >-
#:   What the compiler made of the longest step of each variant of ours: registers and spilled bytes a thread (not shown where nothing spills), theoretical
#:   occupancy. Where a variant has several codes, the case stands behind it.
most_spill = most_spill_store_bytes > 0 ? 2 ** ceil(log(most_spill_store_bytes > 16 ? most_spill_store_bytes : 16) / log(2)) : 0
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
plot data using (0):0:(0):($4 * 100):($0 - 0.3):($0 + 0.3) with boxxyerror linecolor rgb green
unset multiplot
