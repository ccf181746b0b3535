# Each layer's share of a network's time: by the baseline, and what the fastest row leaves of it.
# data: name, share by the baseline in per cent, what is left of it in per cent of the whole
# rows, margin (characters), most
load "style.gp"
set lmargin at screen (margin * 8.0 + 12) / width
set rmargin 2
set tmargin 2.4
set bmargin 2.6
set xrange [0:most]
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics
set xlabel "share of the baseline's time, %" offset 0,0.5
set key at screen 0.98,screen 0.995 right top horizontal samplen 1 width 1
plot data using (0):0:(0):2:($0 - 0.34):($0 - 0.02) with boxxyerror linecolor rgb grey title "baseline", \
     data using (0):0:(0):3:($0 + 0.02):($0 + 0.34) with boxxyerror linecolor rgb green title "fastest of each", \
     data using (0):0:1 with labels right offset -1,0 notitle
