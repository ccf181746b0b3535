# Accuracy over speed, a mark a row: the error over what is allowed (below the limit passes) over the speed-up, or that of frames over
# their time.
# data: one block a variant: its name, then x, error
# lines, left, right, bottom, top, limit (of the error; 0: none), across, up (what the axes say)
load "style.gp"
set lmargin 9
set rmargin 3
set tmargin 1
set bmargin 4.2 + 1.2 * ceil(lines / 2.0)
set logscale xy 10
set xrange [left:right]
set yrange [bottom:top]
set format x "%g"
set format y "%g"
if (right / left < 300) {
    set xtics (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
    set xtics add (1000, 2000, 5000, 10000, 20000, 50000)
}
if (top / bottom < 300) { set ytics (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1) }
set xlabel across offset 0,0.4
set ylabel up offset 1,0
set key below horizontal left Left reverse maxcols 2 samplen 1 width 2
if (limit > 0) {
    set arrow 1 from left,limit to right,limit nohead linecolor rgb red linewidth 1.4 dashtype (6,4)
    set arrow 2 from 1,bottom to 1,top nohead linecolor rgb "black" linewidth 1
}
plot for [i=0:lines - 1] data index i using 1:2 with points linecolor rgb line_colour[i % 8 + 1] pointtype line_point[i % 8 + 1] pointsize 0.8 title columnheader(1)
