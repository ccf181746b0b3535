# A map of two parameters: the least of each pair by colour and number, dark is less; the colours keep their order for every eye and in grey.
# data: x, y, value, label
# across, across_count, up, up_count, axes (words), best_x, best_y, least, most
load "style.gp"
set lmargin 12
set rmargin 2
set tmargin 1
set bmargin 3.4
set grid noxtics noytics
set xrange [-0.5:across_count - 0.5]
set yrange [-0.5:up_count - 0.5]
set xtics ("" 0)
set ytics ("" 0)
set for [i=1:across_count] xtics add (word(across, i) i - 1)
set for [i=1:up_count] ytics add (word(up, i) i - 1)
set xlabel word(axes, 1) offset 0,0.3
set ylabel word(axes, 2)
# From blue over light blue to sand: darker is less.
mix(a, b, f) = int(a + (b - a) * f)
part(f, a, b, c) = f < 0.5 ? mix(a, b, 2 * f) : mix(b, c, 2 * f - 1)
colour(f) = 65536 * part(f, 47, 143, 241) + 256 * part(f, 111, 179, 227) + part(f, 196, 221, 180)
at(v) = (v - least) / (most - least)
set object 1 rectangle from best_x - 0.46,best_y - 0.44 to best_x + 0.46,best_y + 0.44 front fillstyle empty border linecolor rgb orange linewidth 3
plot data using 1:2:($1 - 0.49):($1 + 0.49):($2 - 0.48):($2 + 0.48):(colour(at($3))) with boxxyerror linecolor rgb variable, \
     data using 1:2:4:(at($3) < 0.3 ? 0xffffff : 0x1b1f24) with labels textcolor rgb variable
