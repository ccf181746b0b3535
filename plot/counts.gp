# What emu counted: bytes moved over compulsory bytes, and sectors of 32 bytes that a store and a load request touch (tick: the ideal).
#: of: case
#: rows: verified
#: numbers: [moved_over_compulsory, st_sect_req, ld_sect_req, emu.global_sectors_ideal_st, emu.global_requests_st, emu.global_sectors_ideal_ld, emu.global_requests_ld]
#: height: 92
#: row_height: 32
#: caption: >-
#:   What moved: bytes through 32-byte sectors over the bytes that must move (1 is the least), and sectors that one warp-wide store or load touches;
#:   the thin tick is what its bytes need.
most_moved = 1.05 * (most_moved_over_compulsory > 1.2 ? most_moved_over_compulsory : 1.2)
most_sectors = 8 * ceil((most_st_sect_req > most_ld_sect_req ? most_st_sect_req : most_ld_sect_req) / 8.0)
most_sectors = most_sectors > 8 ? most_sectors : 8
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
moves = most_moved_over_compulsory > 0
panel = (1 - left - 0.03) / 2
if (moves) {
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
}
set lmargin at screen moves ? left + panel + 0.03 : left
set rmargin at screen 0.97
set xrange [0:most_sectors]
set xtics 8
set xlabel "sectors a request" offset 0,0.5
set key at screen 0.985,screen 0.995 right top horizontal maxrows 1 samplen 0.6 width -1
plot data using (moves ? NaN : 0):0:1 with labels right offset -1,0 notitle, \
     data using (0):0:(0):3:($0 - 0.28):($0 - 0.02) with boxxyerror linecolor rgb orange title "store", \
     data using (0):0:(0):4:($0 + 0.02):($0 + 0.28) with boxxyerror linecolor rgb teal title "load", \
     data using ($5 / $6):($0 - 0.15):(0):(0.14) with vectors nohead linecolor rgb "black" linewidth 2 title "ideal", \
     data using ($5 / $6):($0 - 0.15):(0):(-0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle, \
     data using ($7 / $8):($0 + 0.15):(0):(0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle, \
     data using ($7 / $8):($0 + 0.15):(0):(-0.14) with vectors nohead linecolor rgb "black" linewidth 2 notitle
unset multiplot
