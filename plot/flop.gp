# Time over useful operations, log-log: a mark a case for the baseline and one for the fastest of the others; the dashed line is the pipe's rate, the thin
# lines are equal rates.
# data: GFLOP, baseline us, fastest us
# left, right, bottom, top, peak (TFLOP/s, 0: not one for all)
load "style.gp"
set lmargin 9
set rmargin 3
set tmargin 2.4
set bmargin 3
set logscale xy 10
set xrange [left:right]
set yrange [bottom:top]
set format x "%g"
set format y "%g"
if (right / left < 300) { set xtics (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) }
if (top / bottom < 300) { set ytics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000) }
set xlabel "GFLOP" offset 0,0.4
set ylabel "time, us" offset 1,0
set key at screen 0.98,screen 0.995 right top horizontal samplen 1 width 1
rates = "1 10 100 1000 10000 100000 1000000"
do for [rate in rates] {
    at = left / rate * 1e6
    if (at > bottom && at < top) { set label sprintf("%s GFLOP/s", rate) at graph 0.01, first at left offset 0,0.9 font ",9" textcolor rgb grey }
    at = bottom * rate / 1e6
    if (at > left && at < right) { set label sprintf("%s GFLOP/s", rate) at first at, graph 0.03 left offset 1.5,0 font ",9" textcolor rgb grey }
}
plot for [rate in rates] x / rate * 1e6 with lines linecolor rgb grey linewidth 0.6 notitle, \
     data using 1:2 with points pointtype 6 pointsize 1 linewidth 1.6 linecolor rgb "black" title "baseline", \
     data using 1:3 with points pointtype 7 pointsize 0.8 linecolor rgb blue title "fastest of the others", \
     (peak > 0 ? x / peak * 1000 : NaN) with lines linecolor rgb grey linewidth 1.4 dashtype (6,4) title (peak > 0 ? sprintf("%.3g TFLOP/s", peak) : "")
