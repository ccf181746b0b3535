# One line a variant over a numeric axis: time with its interval, or a count.
# data: one block a variant: its name, then x, y, low, high
# places (of x, 0: too many), the_places, lines, columns (of names below), axis, measure, tall (1: log scale), least, most
load "style.gp"
set lmargin 8
set tmargin 0.6
set rmargin 2
set bmargin 3 + 1.2 * ceil(lines / (columns + 0.0))
set xlabel axis offset 0,0.3
if (places > 0) { set xtics (0); set for [i=1:places] xtics add (word(the_places, i) word(the_places, i) + 0) }
set ylabel measure offset 0.5,0
if (tall) {
    set logscale y 10
    set yrange [least / 1.3:most * 1.3]
    set format y "%g"
    set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000)
} else {
    set yrange [0:*]
}
set offsets graph 0.03, graph 0.03, graph 0.05, 0
set key below horizontal left Left reverse maxcols columns samplen 2.5 width 2
plot for [i=0:lines - 1] data index i using 1:2 with lines linecolor rgb line_colour[i % 8 + 1] dashtype line_dash[i % 8 + 1] linewidth 1.6 notitle, \
     for [i=0:lines - 1] data index i using 1:2:3:4 with yerrorbars linecolor rgb line_colour[i % 8 + 1] pointtype line_point[i % 8 + 1] pointsize 0.6 title columnheader(1)
