# What emu counted: bytes moved over compulsory bytes, and sectors of 32 bytes that a store and a load request touch (tick: the ideal).
# data: name, moved / compulsory, store sectors, store ideal, load sectors, load ideal
# rows, margin (characters), most_moved, most_sectors
load "style.gp"
set multiplot
set yrange [rows - 0.4:-0.6]
unset ytics
set grid noytics
set tmargin 2
set bmargin 2.6
set lmargin 0
set rmargin 0
left = (margin * 8.0 + 12) / width
panel = (1 - left - 0.03) / 2
set lmargin at screen left
set rmargin at screen left + panel - 0.05
set xrange [0:most_moved]
quarter = most_moved / 4
power = 10 ** floor(log10(quarter))
set xtics power * (quarter / power < 2 ? 2 : quarter / power < 5 ? 5 : 10)
set xlabel "moved / compulsory bytes" offset 0,0.5
set arrow 1 from 1,graph 0 to 1,graph 1 nohead linecolor rgb "black" linewidth 1.2
plot data using (0):0:(0):2:($0 - 0.28):($0 + 0.28) with boxxyerror linecolor rgb blue, \
     data using (0):0:1 with labels right offset -1,0
unset arrow 1
set lmargin at screen left + panel + 0.03
set rmargin at screen 0.97
set xrange [0:most_sectors]
set xtics 8
set xlabel "sectors a request" offset 0,0.5
set label 11 "store" at screen 0.97,screen 1 right offset -13,-1 textcolor rgb orange
set label 12 "load" at screen 0.97,screen 1 right offset -8,-1 textcolor rgb teal
set label 13 "| least" at screen 0.97,screen 1 right offset 0,-1
plot data using (0):0:(0):3:($0 - 0.28):($0 - 0.02) with boxxyerror linecolor rgb orange notitle, \
     data using (0):0:(0):5:($0 + 0.02):($0 + 0.28) with boxxyerror linecolor rgb teal notitle, \
     data using 4:($0 - 0.15):(0):(0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle, \
     data using 4:($0 - 0.15):(0):(-0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle, \
     data using 6:($0 + 0.15):(0):(0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle, \
     data using 6:($0 + 0.15):(0):(-0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle
unset multiplot
