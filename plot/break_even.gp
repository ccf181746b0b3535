# Time over the share of inputs that changed: sparse variants, the dense one (black), the floor (dashed, grey). A ring marks where a sparse variant meets the
# dense one, with the interval of that density. Below: the share of the scheduled work that the tiles waste, (A - E) / A.
# data: blocks of name, then x, y, low, high: the dense one, the floor, then the variants; then one block of crossings (x, y, low, high); then
#       a block a variant of x and waste in %; then one of the curve through its points
# lines, least, most, left, right (percent), wasted (blocks of waste with something in them), columns (of the key: 1 where a name is long)
load "style.gp"
set multiplot
set lmargin 9
set rmargin 2
set key below horizontal left Left reverse maxcols columns samplen 2.5 width 1
under = (60.0 + 19.0 * ceil((lines + 2) / real(columns))) / height # the label of x, and the key
set logscale x 10
set xrange [left:right]
set xtics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
if (wasted) { set format x "" } else { set format x "%g" }
set tmargin at screen 1 - 8.0 / height
set bmargin at screen under + (wasted ? 100.0 / height : 0)
if (wasted) { set key off }
set logscale y 10
set yrange [least / 1.3:most * 1.3]
set format y "%g"
set ytics (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
set ylabel "time, us" offset 0.5,0
if (!wasted) { set xlabel "inputs changed, %" offset 0,0.3 }
plot data index 0 using 1:2 with lines linecolor rgb "black" linewidth 2 title columnheader(1), \
     data index 1 using 1:2 with lines linecolor rgb "#707070" linewidth 1.5 dashtype (6,4) title "floor", \
     for [i=0:lines - 1] data index 2 * lines + 3 + i using 1:2 with lines linecolor rgb line_colour[i % 8 + 1] dashtype line_dash[i % 8 + 1] linewidth 1.6 notitle, \
     for [i=0:lines - 1] data index i + 2 using 1:2:3:4 with yerrorbars linecolor rgb line_colour[i % 8 + 1] pointtype line_point[i % 8 + 1] pointsize 0.6 title columnheader(1), \
     data index lines + 2 using 1:2:3:4 with xerrorbars pointtype 6 pointsize 1.4 linecolor rgb "black" linewidth 1.4 notitle
if (wasted) {
    set tmargin at screen under + 80.0 / height
    set bmargin at screen under
    set key below horizontal left Left reverse maxcols columns samplen 2.5 width 1
    unset logscale y
    set yrange [0:100]
    set format x "%g"
    set format y "%g"
    set ytics 50
    set ylabel "wasted, %" offset 0.5,0
    set xlabel "inputs changed, %" offset 0,0.3
    plot for [i=0:lines - 1] data index lines + 3 + i using 1:2 with linespoints linecolor rgb line_colour[i % 8 + 1] pointtype line_point[i % 8 + 1] pointsize 0.6 linewidth 1.6 title columnheader(1), \
         data index 0 using (NaN):(NaN) with lines linecolor rgb "black" linewidth 2 title columnheader(1), \
         NaN with lines linecolor rgb "#707070" linewidth 1.5 dashtype (6,4) title "floor"
}
unset multiplot
