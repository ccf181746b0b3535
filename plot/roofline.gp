# Roofline of one case: useful operations a second over operations a byte, log-log. Slanted: bytes a second of DRAM (a copy) and L2; level: the pipes.
# data: name, rate, intensity at the least traffic, at DRAM, at L2, at L1 (NaN: not counted), numbers, where they stand
# label_chars, band_dram, band_l2 (TB/s, 0: not known), pipe, pipe_f32 (TFLOP/s, 0: not known), pipe_name, measured (1: ceilings of this machine), counted (1: a row has counters), left, right, bottom, top
load "style.gp"
set lmargin 9
set rmargin 3 + label_chars
set tmargin 1.2
set bmargin 6.5
set logscale xy 10
set xrange [left:right]
set yrange [bottom:top]
set format x "%g"
set format y "%g"
if (right / left < 3000) {
    set xtics (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
} else {
    set xtics 10
}
if (top / bottom < 300) { set ytics (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) }
set xlabel "FLOP a byte" offset 0,0.4
set ylabel "TFLOP/s" offset 1,0
set key at screen 0.98,screen 0.02 right bottom horizontal maxcols 4 samplen 1 width 0
roof = pipe > 0 ? pipe : pipe_f32
first(band) = bottom / band > left ? bottom / band : left
if (band_l2 > 0) {
    set arrow 1 from first(band_l2),first(band_l2) * band_l2 to roof / band_l2,roof nohead linecolor rgb teal linewidth 1.2 dashtype (6,4)
}
set arrow 2 from first(band_dram),first(band_dram) * band_dram to roof / band_dram,roof nohead linecolor rgb blue linewidth 1.8
set arrow 3 from roof / (band_l2 > band_dram ? band_l2 : band_dram),roof to right,roof nohead linecolor rgb blue linewidth 1.8
if (pipe > 0 && pipe_f32 > 0) { set arrow 4 from left,pipe_f32 to right,pipe_f32 nohead linecolor rgb grey linewidth 1.2 dashtype (2,3) }
set samples 2
set label 1 pipe_name at right,(pipe > 0 ? pipe : NaN) right offset -0.5,0.6 textcolor rgb blue
set label 2 "f32" at right,(pipe_f32 > 0 ? pipe_f32 : NaN) right offset -0.5,0.6 textcolor rgb grey
plot NaN with lines linecolor rgb blue linewidth 1.8 title (measured ? "DRAM, measured" : "DRAM, data sheet"), \
     NaN with lines linecolor rgb teal linewidth 1.2 dashtype (6,4) title (band_l2 > 0 ? "L2, measured" : ""), \
     data using 6:2 with points pointtype 11 pointsize 0.7 linecolor rgb pink title (counted ? "at L1" : ""), \
     data using 5:2 with points pointtype 9 pointsize 0.7 linecolor rgb teal title (counted ? "at L2" : ""), \
     data using 4:2 with points pointtype 7 pointsize 0.8 linecolor rgb blue title (counted ? "at DRAM" : ""), \
     data using 3:2 with points pointtype 6 pointsize 1 linecolor rgb "black" title "at the least traffic", \
     data using 8:2:7 with labels left offset 0.8,0 notitle
