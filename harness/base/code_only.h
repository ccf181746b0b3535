/* base/code_only: what a compiler sees of a .cu. */
#pragma once

/* A copy of the text in which comments, literals and the branches of `#if 0` and `#if 1` that are left out are blanks. Same length. The
 * caller frees it. */
char *code_only(const char *text);
/* The text without comments, blanks at the ends of lines and empty lines; other runs of blanks are one blank. Literals stay. Two texts with
 * equal results compile to the same machine code, but for the line numbers. The caller frees it. */
char *code_words(const char *text);
