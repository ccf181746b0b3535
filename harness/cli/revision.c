/* The revision of a folder, from git. */
#include "base/text.h"
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The folder is passed in the environment, so that no shell parses it. */
char *cli_git_line(const char *folder, const char *command)
{
    SCOPED char *line = NULL;
    size_t room = 0;
    SCOPED char *whole = text_format("cd \"$BENCH_SIDE\" 2>/dev/null && %s", command);
    FILE *git = setenv("BENCH_SIDE", folder, 1) == 0 ? popen(whole, "r") : NULL;
    bool answered = git && getline(&line, &room, git) > 0;
    if (git)
        pclose(git);
    unsetenv("BENCH_SIDE");
    return answered && strcspn(line, "\n") ? xstrndup(line, strcspn(line, "\n")) : NULL;
}

char *cli_revision(const char *folder, const char *below)
{
    SCOPED char *command =
        text_format("%s%s%scommit=$(git rev-parse --short=10 HEAD 2>/dev/null) && echo "
                    "\"$commit$([ -z \"$(git status --porcelain --untracked-files=no -- %s 2>/dev/null)\" ] || echo +dirty)\"",
                    below ? "git ls-files --error-unmatch " : "", below ? below : "", below ? " >/dev/null 2>&1 && " : "", ".");
    return cli_git_line(folder, command);
}
