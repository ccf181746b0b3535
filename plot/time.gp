# How many times faster than the baseline each variant is, with 95 % intervals: right of 1 is faster. The dashed line is what the physical floor allows.
# data: name, baseline / time, low, high, class (0 the baseline, 1 faster, 2 slower, 3 within the interval), label, place in the table
# rows, margin (characters), floor_ratio (0: not known), least, most
load "style.gp"
set lmargin at screen ((margin + 3) * 8.0 + 8) / width
set rmargin 8
set tmargin 1.6
set bmargin 2.6
set logscale x 10
set xrange [least:most]
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics
if (most / least < 300) {
    set xtics (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
} else {
    set xtics (0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10000)
}
set format x "%g"
set xlabel "x baseline (log): right is faster" offset 0,0.5
set arrow 1 from 1,graph 0 to 1,graph 1 nohead linecolor rgb "black" linewidth 1.2
if (floor_ratio > 0) {
    set arrow 2 from floor_ratio,graph 0 to floor_ratio,graph 1 nohead linecolor rgb blue linewidth 1.5 dashtype (6,4)
    set label 2 "floor" at floor_ratio,graph 1 right offset -0.3,0.6 textcolor rgb blue
}
colour(c) = c == 1 ? green : c == 2 ? orange : grey
plot data using (1):0:(1):2:($0 - 0.3):($0 + 0.3):(colour($5)) with boxxyerror linecolor rgb variable, \
     data using 2:0:3:4 with xerrorbars pointtype 0 linecolor rgb "black" linewidth 1.2, \
     data using ($5 == 0 ? NaN : $4 > 1 ? $4 : 1):0:6 with labels left offset 0.6,0, \
     data using (least):0:7 with labels right offset -0.6,0 textcolor rgb grey, \
     data using (least):0:1 with labels right offset -3.4,0
