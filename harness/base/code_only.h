/* base/code_only: what a compiler sees of a .cu. */
#pragma once

/* A copy of the text in which comments, literals and the branches of `#if 0` and `#if 1` that are left out are blanks. Same length. The
 * caller frees it. */
char *code_only(const char *text);
