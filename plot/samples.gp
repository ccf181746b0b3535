# How the rounds of each row are distributed around its median: an outline as thick as there are rounds, and the median with its 95 % interval.
# data: one block a row of per cent from the median, lower and upper edge; then one block of name, median (0), low, high, its time
# rows, margin (characters), least, most
load "style.gp"
left = least - 0.04 * (most - least)
right = most + 0.04 * (most - least)
set lmargin at screen (margin * 8.0 + 12) / width
set rmargin 10
set tmargin 0.6
set bmargin 2.8
set xrange [left:right]
quarter = (right - left) / 5
power = 10 ** floor(log10(quarter))
set xtics power * (quarter / power < 2 ? 2 : quarter / power < 5 ? 5 : 10)
set format x "%+g"
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics
set xlabel "round over the row's median, %" offset 0,0.5
plot for [i=0:rows - 1] data index i using 1:2:3 with filledcurves linecolor rgb blue notitle, \
     data index rows using 2:0:3:4 with xerrorbars pointtype 13 pointsize 0.8 linecolor rgb "black" linewidth 1.2, \
     data index rows using (right):0:5 with labels left offset 0.6,0, \
     data index rows using (left):0:1 with labels right offset -1,0
