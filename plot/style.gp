# Fonts, colours and lines of every plot. The scripts beside this file set: out, data, width, height, and what theirs needs.
# Redraw without the tool: gnuplot NAME.gp in this folder.
# The colours read on white and on dark; the page changes only black (text, axes) and the grid in dark mode (page.css).
set encoding utf8
set terminal svg size width,height dynamic noenhanced font "sans-serif,13" linewidth 1
set output out
set datafile separator "\t"
set border 0
set tics nomirror scale 0
set grid xtics ytics linetype 1 linecolor rgb "#dadde2" linewidth 1
set style fill solid 1.0 noborder
set key off

blue = 0x2f6fc4
green = 0x27915a
orange = 0xd07a1e
red = 0xcc3d3d
grey = 0x8a919c
purple = 0x8659c0
teal = 0x1f8f9c
pink = 0xc4527f

# Lines of a sweep, in order; to an eye that takes blue and purple, or green and orange, for one, marks and dashes tell them apart.
array line_colour[8] = [blue, orange, green, purple, teal, pink, red, grey]
array line_point[8] = [7, 5, 9, 13, 11, 7, 5, 9]
array line_dash[8] = [1, 1, 1, 2, 4, 2, 4, 3]
