/* What git knows: the revision of a folder, and the files of a revision. */
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "cli/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIT_LIMIT_S 120.0
#define ANSWER_MAX_BYTES (1u << 20)

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

/* Runs git. *answer is its output without the final newline, or its error messages if it fails (malloc'd). False: it failed; err is set
 * only if git is missing or too slow. */
static bool git(const char *folder, const char *const *argv, char **answer, struct error *err)
{
    SCOPED char *log = text_format("git.%ld.log", (long)getpid()), *path = file_join(folder, log);
    size_t bytes;
    unlink(path);
    int code = process_run(argv, &(struct process){.folder = folder, .log = log, .append = true, .apart = true, .seconds = GIT_LIMIT_S});
    char *said = file_exists(path) ? file_read(path, ANSWER_MAX_BYTES, &bytes, NULL) : NULL;
    unlink(path);
    if (said)
        said[strcspn(said, "\n")] = 0;
    *answer = said ? said : xstrdup("");
    if (code == PROCESS_MISSING) /* the caller asked for a revision */
        error_set(err, ERROR_USAGE, "git is not installed, so a revision cannot be read");
    else if (code == PROCESS_LATE)
        error_set(err, ERROR_ENVIRONMENT, "git did not answer within %.0f s", GIT_LIMIT_S);
    return code == 0;
}

/* Writes the files of all submodules of commit $2 of repository $1 below $3, with the index file $4. */
#define SUBMODULES \
    "cd \"$1\" && git ls-tree -r \"$2\" | sed -n 's/^160000 commit \\([0-9a-f]*\\)[[:space:]]/\\1 /p' | while read -r sha path; do " \
    "export GIT_INDEX_FILE=\"$4\"; rm -f \"$4\"; mkdir -p \"$3/$path\"; " \
    "git -C \"$path\" read-tree \"$sha\" 2>/dev/null && git -C \"$path\" --work-tree \"$3/$path\" checkout-index -a -f 2>/dev/null || " \
    "{ echo \"submodule $path does not have commit $sha: run git submodule update --init\"; exit 1; }; done"

/* Where the files of a revision are put: once for a commit. */
static bool checkout(const char *top, const char *sha, const char *out_dir, char **tree, struct error *err)
{
    char *revisions = file_join(out_dir, "revisions"), *real = NULL, *part = NULL, *index = NULL, *said = NULL;
    bool ok = file_make_dirs(revisions, err) && (real = realpath(revisions, NULL)) != NULL;
    *tree = ok ? text_format("%s/%.12s", real, sha) : NULL;
    if (!ok || file_is_dir(*tree))
        goto done;
    part = text_format("%s.part%ld", *tree, (long)getpid());
    index = text_format("GIT_INDEX_FILE=%s.index", part);
    const char *const read[] = {"env", index, "git", "-C", top, "read-tree", sha, NULL};
    const char *const write[] = {"env", index, "git", "-C", top, "--work-tree", part, "checkout-index", "-a", "-f", NULL};
    const char *const modules[] = {"sh", "-c", SUBMODULES, "sh", top, sha, part, index + strlen("GIT_INDEX_FILE="), NULL};
    const char *const *const commands[] = {read, write, modules};
    ok = file_make_dirs(part, err);
    for (int i = 0; ok && i < 3; i++) {
        free(said);
        ok = git(real, commands[i], &said, err) || (err->kind == ERROR_NONE && error_set(err, ERROR_ENVIRONMENT, "git: %s", said));
    }
    unlink(index + strlen("GIT_INDEX_FILE="));
    if (ok && rename(part, *tree) && !file_is_dir(*tree))
        ok = error_set(err, ERROR_ENVIRONMENT, "%s: cannot be made", *tree);
done:
    FREE_ALL(said, index, part, real, revisions);
    if (!ok) {
        free(*tree);
        *tree = NULL;
    }
    return ok;
}

char *cli_revision_tree(const char *word, const char *out_dir, char **name, char short_sha[12], struct error *err)
{
    SCOPED char *spec = text_format("%s^{commit}", word), *top = NULL, *prefix = NULL, *sha = NULL, *tree = NULL;
    char *path = NULL;
    const char *const ask_top[] = {"git", "-C", ".", "rev-parse", "--show-toplevel", NULL};
    const char *const ask_prefix[] = {"git", "-C", ".", "rev-parse", "--show-prefix", NULL};
    const char *const ask_sha[] = {"git", "-C", ".", "rev-parse", "--verify", "--quiet", "--end-of-options", spec, NULL};
    SCOPED char *here = realpath(".", NULL);
    if (!here || !git(here, ask_top, &top, err) || !git(here, ask_prefix, &prefix, err) || !git(here, ask_sha, &sha, err)) {
        if (err->kind != ERROR_ENVIRONMENT) {
            bool no_git = err->kind == ERROR_USAGE;
            const char *said = top && !prefix && !strncmp(top, "fatal: ", 7) && !strstr(top, "not a git repository") ? top + 7 : NULL;
            error_set(err, ERROR_USAGE, "'%s' is not a baseline, run, database, bundle or folder%s%.300s", word,
                      no_git ? ", and git is not installed"
                      : sha  ? ", and not a revision of this repository"
                      : said ? ", and git does not read this repository: "
                             : ", and this is not a git repository",
                      said ? said : "");
            if (said && strstr(said, "dubious ownership"))
                return error_hint(err, "git config --global --add safe.directory %.400s", here), path;
            const char *number = strncmp(word, "run", 3) ? NULL : strpbrk(word, "0123456789");
            error_hint(err, "%s%.12s%ssee bench list runs, or git log --oneline; in a shallow clone run git fetch --unshallow",
                       number ? "write a run as its number, " : "", number ? number : "", number ? "; " : "");
        }
        return path;
    }
    if (checkout(top, sha, out_dir, &tree, err))
        path = file_join(tree, prefix);
    if (path && strlen(path) > 1 && path[strlen(path) - 1] == '/')
        path[strlen(path) - 1] = 0;
    snprintf(short_sha, 12, "%.10s", sha);
    *name = strncmp(sha, word, strlen(word)) ? text_format("%s (%.10s)", word, sha) : text_format("%.10s", sha);
    return path;
}
