# One number of a row over the runs: each run with its interval, the level between two changes, a ring on the first run behind a change.
# data: run (of every so many, so that they do not touch), value, low, high, level, value where it changed
# measure
load "style.gp"
set lmargin 9
set tmargin 0.6
set rmargin 2
set bmargin 3
set xlabel "run" offset 0,0.3
set ylabel measure offset 0.5,0
set offsets graph 0.03, graph 0.03, graph 0.08, graph 0.08
plot data using 0:2:3:4:xtic(1) with yerrorbars linecolor rgb grey pointtype 7 pointsize 0.5 linewidth 1, \
     data using 0:5 with steps linecolor rgb blue linewidth 1.8, \
     data using 0:6 with points linecolor rgb red pointtype 6 pointsize 1.4 linewidth 1.8
