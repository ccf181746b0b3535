/* The words of --on and of system files, the scripts, what a task takes along, and what may come back: whole, twice, damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "run/engine/turn.h"

/* In place of the program's clock. */
static double now_s = 1000;
double clock_s(void)
{
    return now_s;
}

static char folder[64];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/test_engine.XXXXXX");
    return mkdtemp(folder) && !chdir(folder) && !setenv("HOME", folder, 1) && !unsetenv("XDG_CONFIG_HOME") ? 0 : -1;
}

static int remove_folder(void **state)
{
    SCOPED char *line = text_format("rm -rf '%s'", folder);
    return chdir("/") || system(line);
}

static void put(const char *path, const char *text)
{
    SCOPED char *above = file_dir(path);
    struct error err = {0};
    assert_true(file_make_dirs(above, &err) && file_write(path, text, strlen(text), &err));
}

/* A job of an engine for 7 shards; `device` cuda:0 unless the words say emu. */
static void job_of(struct job *job, const char *on, const char *device)
{
    const struct engine *engine;
    json_t *keys;
    struct error err = {0};
    if (!engine_keys(on, &engine, &keys, &err) || !job_make(job, engine, keys, "jobs", "net", &err))
        fail_msg("%s", err.text);
    json_object_set_new(job->facts, "device", json_string(device));
    json_object_set_new(job->facts, "shards", json_integer(7));
    job_shards(job, 7);
    if (!engine->check(job, &err) || !job_dirs(job, "jobs", &err) || !job_write(job, &err))
        fail_msg("%s", err.text);
}

static void is_key(const char *on, const char *key, const char *value)
{
    const struct engine *engine;
    struct job job = {0};
    struct error err = {0};
    if (!engine_keys(on, &engine, &job.keys, &err))
        fail_msg("%s: %s", on, err.text);
    if (!text_same(job_key(&job, key), value))
        fail_msg("%s: %s is %s, not %s", on, key, job_key(&job, key), value);
    json_decref(job.keys);
}

static void refused(const char *on, const char *text, const char *hint)
{
    const struct engine *engine;
    json_t *keys;
    struct error err = {0};
    assert_false(engine_keys(on, &engine, &keys, &err));
    assert_null(keys);
    if (!strstr(err.text, text) || !strstr(err.hint, hint))
        fail_msg("%s: '%s' (%s) does not say '%s' (%s)", on, err.text, err.hint, text, hint);
}

static void words_of_on(void **state)
{
    is_key("slurm", "partition", NULL);
    is_key("slurm:partition=gpu", "partition", "gpu");
    is_key("slurm:exclude=n1,n[2-3],time=01:00:00", "exclude", "n1,n[2-3]");
    is_key("slurm:exclude=n1,n[2-3],time=01:00:00", "time", "01:00:00");
    is_key("slurm:gres=gpu:h100:1,shard:2", "gres", "gpu:h100:1,shard:2");
    is_key("slurm:setup=export A=b,C=d,qos=x", "setup", "export A=b,C=d"); /* C is no key */
    is_key("slurm:container=apptainer:/a/b.sif", "container", "apptainer:/a/b.sif");
    refused("slrum", "neither an engine nor a system file", "slurm");
    refused("slurm:partion=gpu", "no key 'partion'", "partition?");
    refused("ssh:partition=gpu", "of the engine ssh", "hosts");
    refused("slurm:gpu", "no key 'gpu'", "gpus?");
    refused("slurm:partition=", "has no value", "");
    refused("slurm:shards=0", "from 1 on", "");
    refused("slurm:shards=1e3", "from 1 on", "");
    refused("ssh:handover=mail", "folder or output", "");
    refused("slurm:setup=a\nb", "more than one line", "");
}

static void system_files(void **state)
{
    put("site.yaml", "engine: slurm\npartition: h100\nexclude: [n17, n23]\ncontainer: {apptainer: a.sif}\nshards: 12\n");
    put(".config/bench/site2.yaml", "engine: ssh\nhosts: h.txt\n");
    put("bad.yaml", "engine: slurm\npartion: h100\n");
    put("none.yaml", "partition: h100\n");
    put("both.yaml", "engine: ssh\npartition: h100\n");
    is_key("site.yaml", "exclude", "n17,n23");
    is_key("site.yaml", "container", "apptainer:a.sif");
    is_key("site.yaml", "shards", "12");
    is_key("site.yaml:partition=a100", "partition", "a100"); /* the command line wins */
    is_key("site2", "hosts", "h.txt");
    refused("bad.yaml", "bad.yaml:2:1", "partition?");
    refused("none.yaml", "names no engine", "");
    refused("both.yaml", "of the engine ssh", "hosts");
    refused("gone.yaml", "gone.yaml", "");
}

static void the_script_of_slurm(void **state)
{
    SCOPED_BY(job_free) struct job job = {0}, plain = {0};
    SCOPED_TEXT t = {0}, u = {0};
    struct error err = {0};
    job_of(&job, "slurm:partition=gpu,modules=cuda/13,gcc,container=apptainer:/x/it's.sif,options=--exclusive --nice=5,setup=ulimit -c 0",
           "cuda:0");
    assert_true(job.engine->script(&job, 1000, &t, &err));
    const char *const lines[] = {"#!/bin/bash -l\n",
                                 "#SBATCH --array=1-",
                                 "#SBATCH --partition=gpu\n",
                                 "#SBATCH --gres=gpu:1\n",
                                 "#SBATCH --exclusive\n#SBATCH --nice=5\n",
                                 "#SBATCH --open-mode=append\n",
                                 "module load cuda/13\nmodule load gcc\nulimit -c 0\nexec apptainer exec --nv --bind ",
                                 " '/x/it'\\''s.sif' ",
                                 " $((SLURM_ARRAY_TASK_ID + 1000))\n"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text_get(&t), lines[i]))
            fail_msg("no '%s' in %s", lines[i], text_get(&t));
    job_of(&plain, "slurm", "emu");
    assert_true(plain.engine->script(&plain, 0, &u, &err));
    assert_null(strstr(text_get(&u), "gres"));
    assert_non_null(strstr(text_get(&u), " $SLURM_ARRAY_TASK_ID\n"));
    put("s.sh", text_get(&t));
    assert_int_equal(system("bash -n s.sh"), 0);
}

/* Folders and scenarios with blanks, and with what Slurm replaces in the name of a task's log. */
static void odd_names_in_scripts(void **state)
{
    const char *const on[] = {"slurm:folder=a b%j,container=apptainer:x.sif", "slurm:folder=a b%j,container=pyxis:x"};
    for (int i = 0; i < 2; i++) {
        SCOPED_BY(job_free) struct job job = {0};
        SCOPED_TEXT t = {0};
        struct error err = {0};
        const struct engine *engine;
        json_t *keys;
        assert_true(engine_keys(on[i], &engine, &keys, &err) && job_make(&job, engine, keys, "jobs", "my net; true|", &err));
        assert_null(job.id[strspn(job.id, "abcdefghijklmnopqrstuvwxyz0123456789-")] ? job.id : NULL);
        job_shards(&job, 7);
        assert_true(engine->script(&job, 0, &t, &err));
        put("s.sh", text_get(&t));
        put("bin/apptainer", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
        assert_int_equal(system("cp bin/apptainer bin/srun; chmod +x bin/*; PATH=$PWD/bin:$PATH sh s.sh >words"), 0);
        SCOPED char *words = file_read("words", 1 << 16, NULL, &err), *bound = text_format("\n%s\n", job.folder),
                    *mount = text_format("--container-mounts=%s:%s\n", job.folder, job.folder),
                    *log = text_format("--output=\"%s/jobs", folder), *task = text_format("\njobs\ntask\n%s\n", job.folder);
        assert_non_null(strstr(words, i ? mount : bound));
        assert_non_null(strstr(words, task));
        assert_null(strstr(text_get(&t), log));
        assert_non_null(strstr(text_get(&t), "/a b%%j/"));
    }
}

static void put_program(const char *name, const char *text)
{
    SCOPED char *path = text_format("bin/%s", name);
    put(path, text);
    assert_int_equal(chmod(path, 0755), 0);
}

static void queue(struct job *job, const char *lines)
{
    struct error err = {0};
    put("queue", lines);
    if (!job->engine->poll(job, &err))
        fail_msg("%s", err.text);
}

/* Ids of a forgotten job, which Slurm gives to another; and a task that Slurm holds because its start failed: nothing of another is taken
 * or cancelled, and the held task is replaced. */
static void the_queue_of_slurm(void **state)
{
    SCOPED_BY(job_free) struct job job = {0};
    SCOPED char *path = text_format("%s/bin:%s", folder, getenv("PATH")), *before = xstrdup(getenv("PATH"));
    struct error err = {0};
    bool wanted[7] = {[1] = true, [2] = true};
    put_program("squeue", "#!/bin/sh\ncat queue\n");
    put_program("scancel", "#!/bin/sh\necho \"$*\" >>cancelled\n");
    put_program("sbatch", "#!/bin/sh\necho \"$*\" >>submitted\necho 18\n");
    put_program("scontrol", "#!/bin/sh\necho; echo 'MaxArraySize = 1001'\n");
    setenv("PATH", path, 1);
    job_of(&job, "slurm", "emu");
    assert_true(job_add_id(&job, "17+0", &err));
    SCOPED char *lines = text_format("17|1|RUNNING|n1|bench-%s|None\n17|2|PENDING||bench-%s|launch failed requeued held\n"
                                     "17|3|PENDING||bench-%s|launch_failed_requeued_held\n17|4|RUNNING|n2|theirs|None\n"
                                     "17|5|PENDING||bench-%s|Nodes required for job are DOWN, DRAINED or reserved\n",
                                     job.id, job.id, job.id, job.id);
    queue(&job, lines);
    const enum engine_state states[] = {ENGINE_RUNNING, ENGINE_NONE, ENGINE_NONE, ENGINE_NONE, ENGINE_PENDING};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        assert_int_equal(job.shard[i].task, states[i]);
    assert_non_null(strstr(job.shard[4].why, "down, drained"));
    assert_true(job.engine->submit(&job, wanted, &err) && job.engine->cancel(&job, -1, &err));
    SCOPED char *cancelled = file_read("cancelled", 4096, NULL, &err), *submitted = file_read("submitted", 4096, NULL, &err),
                *expected = text_format("--name=bench-%s 17_2\n--name=bench-%s 17_3\n--name=bench-%s 17 18\n", job.id, job.id, job.id);
    assert_string_equal(cancelled, expected);
    assert_non_null(strstr(submitted, "--array=2-3 "));
    queue(&job, "");
    assert_true(job.engine->submit(&job, wanted, &err)); /* that task is gone */
    SCOPED char *again = file_read("cancelled", 4096, NULL, &err);
    assert_string_equal(again, expected);
    setenv("PATH", before, 1);
}

static void takes_the_files_that_a_scenario_names(void **state)
{
    SCOPED_BY(job_free) struct job job = {0};
    struct error err = {0};
    job_of(&job, "local", "emu");
    put("jobs/x", "");
    SCOPED char *input = file_join(job.folder, "input");
    assert_true(file_make_dirs(input, &err));
    put("s/net.yaml",
        "scenario: net\nmask: [{pattern: file, path: masks/a.pgm}, 'file:b.pgm', {path: f/i_%03d.png}, gone.png, masks, /etc/passwd]\n");
    const char *const files[] = {"masks/a.pgm", "b.pgm", "f/i_001.png", "f/i_002.png", "f/other.png", "masks/other.pgm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        SCOPED char *path = file_join("s", files[i]);
        put(path, files[i]);
    }
    SCOPED char *taken = job_take(&job, "s/net.yaml", &err);
    assert_string_equal(taken, "0/net.yaml");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        SCOPED char *path = text_format("%s/0/%s", input, files[i]);
        assert_int_equal(file_exists(path), i < 4);
    }
    put("s/far.yaml", "path: ../out.png\n");
    put("out.png", "");
    assert_null(job_take(&job, "s/far.yaml", &err));
    assert_non_null(strstr(err.text, "s/far.yaml:1:7"));
    put("k/a.cu", "code");
    put("k/a.h", "header");
    SCOPED char *variant = job_take(&job, "k/a.cu", &err), *header = text_format("%s/2/a.h", input);
    assert_string_equal(variant, "2/a.cu");
    assert_true(file_exists(header));
}

/* A task for a GPU counts with this installation's CUPTI, finds its cuDNN by a link, and compiles nothing. */
static void packs_what_a_task_reads(void **state)
{
    static const char *const data[] = {"kernels/variants/a.cu", "harness/counter/groups/g.yaml", "harness/counter/rules/r.yaml",
                                       "harness/counter/limits.yaml", "harness/device/chip/model/m.yaml"};
    static const char *const libraries[] = {"libcheckpoint.so",  "libcudnn.so.9",  "libcupti.so.13",
                                            "libnvperf_host.so", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"};
    struct error err = {0};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        SCOPED char *path = file_join("home", data[i]);
        put(path, data[i]);
    }
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        SCOPED char *path = file_join("home/.deps/nvidia/cu13/lib", libraries[i]);
        put(path, libraries[i]);
    }
    setenv("BENCH_HOME", "home", 1);
    for (int gpu = 0; gpu < 2; gpu++) {
        SCOPED_BY(job_free) struct job job = {0};
        job_of(&job, "local", gpu ? "cuda:0" : "emu");
        if (!job_pack(&job, &err))
            fail_msg("%s", err.text);
        SCOPED char *self = text_format("%s/bin/bench", job.folder), *any = text_format("%s/share/nvidia", job.folder);
        assert_int_equal(access(self, X_OK), 0);
        for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
            SCOPED char *path = text_format("%s/share/%s", job.folder, data[i]), *text = file_read(path, 100, NULL, &err);
            assert_string_equal(text, data[i]);
        }
        assert_int_equal(file_exists(any), gpu);
        for (size_t i = 0; gpu && i < sizeof libraries / sizeof *libraries; i++) {
            struct stat st;
            SCOPED char *path = text_format("%s/share/nvidia/cu13/lib/%s", job.folder, libraries[i]);
            bool nvrtc = strstr(libraries[i], "nvrtc"), there = !lstat(path, &st);
            assert_int_equal(there, !nvrtc);
            assert_true(nvrtc || !!S_ISLNK(st.st_mode) == !!strstr(libraries[i], "cudnn"));
            assert_true(nvrtc || file_exists(path));
        }
    }
    unlink("home/harness/counter/limits.yaml"); /* an installation that is not whole */
    SCOPED_BY(job_free) struct job job = {0};
    job_of(&job, "local", "emu");
    assert_false(job_pack(&job, &err));
    assert_non_null(strstr(err.text, "limits.yaml"));
    unsetenv("BENCH_HOME");
}

static void status(const struct job *job, const char *name, const char *text)
{
    SCOPED char *path = text_format("%s/parts/%s.json", job->folder, name);
    put(path, text);
}

static void what_landed(void **state)
{
    SCOPED_BY(job_free) struct job job = {0};
    struct error err = {0};
    job_of(&job, "slurm", "emu");
    status(&job, "0002.n1.1-a",
           "{\"shard\":2,\"state\":\"running\",\"exit\":-1,\"rows\":5,\"of\":9,\"host\":\"n1\",\"part\":\"0002.n1.1-a.db\"}");
    status(&job, "0002.n2.7-b",
           "{\"shard\":2,\"state\":\"stopped\",\"exit\":130,\"rows\":3,\"of\":9,\"host\":\"n2\",\"part\":\"0002.n2.7-b.db\"}");
    status(&job, "0003.n1.2-a",
           "{\"shard\":3,\"state\":\"done\",\"exit\":4,\"rows\":9,\"of\":9,\"host\":\"n1\",\"part\":\"0003.n1.2-a.db\"}");
    status(&job, "0003.n9.9-z",
           "{\"shard\":3,\"state\":\"running\",\"exit\":-1,\"rows\":1,\"of\":9,\"host\":\"n9\",\"part\":\"0003.n9.9-z.db\"}");
    status(&job, "0004.n1.3-a", "{\"shard\":4,\"state\":\"done\",\"rows");            /* a file that is being written */
    status(&job, "0005.n1.3-a", "{\"shard\":99,\"state\":\"done\",\"host\":\"n1\"}"); /* of no shard */
    status(&job, "0006.n1.3-a", "{\"shard\":6,\"state\":\"done\",\"host\":\"n1\",\"part\":\"../../etc/passwd\"}"); /* no file of ours */
    for (int again = 0; again < 2; again++) {
        assert_true(job_scan(&job, &err));
        const struct job_shard *s = job.shard;
        assert_true(!s[0].done && !s[0].state && s[0].of < 0);
        assert_true(!s[1].done && s[1].rows == 5 && s[1].of == 9);
        assert_string_equal(s[1].part, "0002.n1.1-a.db"); /* the copy with the most rows */
        assert_true(s[2].done && s[2].rows == 9 && s[2].code == 4);
        assert_true(!s[3].done && !s[4].done);
        assert_string_equal(s[5].part, "");
    }
}

static void a_part_in_an_output(void **state)
{
    SCOPED_BY(job_free) struct job job = {0};
    struct error err = {0};
    char hash[HASH_TEXT];
    size_t bytes;
    put("hosts", "# two\na 2\nb\n");
    job_of(&job, "ssh:hosts=hosts", "emu");
    assert_string_equal(job_key(&job, "handover"), "output");
    hash_bytes("the database\n", 13, hash);
    SCOPED char
        *head = text_format(
            "\nbench-part "
            "{\"shard\":2,\"state\":\"done\",\"exit\":0,\"rows\":1,\"of\":1,\"host\":\"h\",\"part\":\"0002.h.1.db\",\"sha256\":\"%s\"}\n",
            hash),
        *whole = text_format("Loading module\n%sdGhlIGRhdGFiYXNlCg==\n\nbench-part-end\n", head),
        *damaged = text_format("%sdGhlIGRhdGFiYXNkCg==\n\nbench-part-end\n", head), *cut = text_format("%sdGhlIGRhdGF", head),
        *path = text_format("%s/parts/0002.h.1.db", job.folder);
    assert_false(job_unwrap(&job, 2, "no part here", &err));
    assert_false(job_unwrap(&job, 2, cut, &err));
    assert_int_equal(err.kind, ERROR_NONE);
    assert_false(job_unwrap(&job, 2, damaged, &err));
    assert_non_null(strstr(err.text, "damaged"));
    assert_false(job_unwrap(&job, 1, whole, &err)); /* another shard's */
    assert_false(file_exists(path));
    if (!job_unwrap(&job, 2, whole, &err))
        fail_msg("%s", err.text);
    SCOPED char *data = file_read(path, 100, &bytes, &err);
    assert_string_equal(data, "the database\n");
    assert_true(job_scan(&job, &err) && job.shard[1].done);
}

static void a_job_is_opened_again(void **state)
{
    SCOPED_BY(job_free) struct job job = {0}, again = {0}, none = {0}, other = {0}, newer = {0};
    struct error err = {0};
    job_of(&job, "slurm:partition=gpu,folder=far/away", "emu");
    assert_true(job_add_id(&job, "17+0", &err));
    SCOPED char *link = file_join("jobs", job.id); /* `bench jobs` looks there */
    if (!job_open(link, &again, &err))
        fail_msg("%s", err.text);
    assert_string_equal(again.id, job.id);
    assert_string_equal(again.folder, job.folder);
    assert_string_equal(job_key(&again, "partition"), "gpu");
    assert_int_equal(again.shards, 7);
    assert_int_equal(job_number(&again, "none"), -1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(again.facts, "ids"), 0)), "17+0");
    assert_ptr_equal(again.engine, &engine_slurm);
    assert_false(job_open("nowhere", &none, &err));
    put("other/job.json", "{\"format\": 1}");
    assert_false(job_open("other", &other, &err));
    put("newer/job.json", "{\"format\": 2, \"id\": \"x\", \"engine\": \"slurm\", \"keys\": {}, \"shards\": 1}");
    assert_false(job_open("newer", &newer, &err));
    assert_non_null(strstr(err.text, "not a job of this bench"));
    put("jobs/logs.txt", "");
    SCOPED char *a = text_format("%s/logs/x.2.log", job.folder), *b = text_format("%s/logs/y.2.log", job.folder),
                *c = text_format("%s/logs/x.12.log", job.folder);
    put(a, "one\n"), put(b, "two\n"), put(c, "three\n");
    SCOPED_TEXT t = {0};
    assert_true(job_logs(&job, 2, &t, &err));
    assert_string_equal(text_get(&t), "one\ntwo\n");
}

/* An engine that the test sets: what it says of the tasks, and what it was asked for. */
static struct {
    enum engine_state says[7];
    bool answers, submits;
    int submitted[7], cancelled, asked;
} world;

static bool fake_check(struct job *job, struct error *err)
{
    return true;
}

static bool fake_submit(struct job *job, const bool *wanted, struct error *err)
{
    for (int i = 0; i < job->shards && world.submits; i++)
        world.submitted[i] += wanted[i];
    return world.submits || error_set(err, ERROR_ENVIRONMENT, "sbatch does not answer");
}

static bool fake_poll(struct job *job, struct error *err)
{
    world.asked++;
    for (int i = 0; i < job->shards && world.answers; i++) {
        job->shard[i].task = world.says[i];
        strcpy(job->shard[i].name, "1_1");
        strcpy(job->shard[i].why, world.says[i] == ENGINE_PENDING ? "no node is free" : "");
    }
    return world.answers || error_set(err, ERROR_ENVIRONMENT, "squeue does not answer");
}

static bool fake_cancel(struct job *job, int shard, struct error *err)
{
    world.cancelled += shard;
    return true;
}

static const struct engine fake = {"slurm", "", fake_check, NULL, fake_submit, fake_poll, NULL, NULL, fake_cancel};

static void turn_after(struct job *job, double seconds, struct job_turn *turn)
{
    struct error err = {0};
    now_s += seconds;
    if (!job_turn(job, turn, &err))
        fail_msg("%s", err.text);
}

static void nothing_is_submitted_twice(void **state)
{
    SCOPED_BY(job_free) struct job job = {0};
    struct error err = {0};
    memset(&world, 0, sizeof world); /* submits nothing: an error if it is asked to */
    job_of(&job, "slurm", "emu");
    job.engine = &fake;
    for (int i = 1; i <= 7; i++) {
        SCOPED char *name = text_format("%04d.n1.1-a", i),
                    *text = text_format("{\"shard\":%d,\"state\":\"done\",\"exit\":0,\"rows\":1,\"of\":1,\"host\":\"n1\"}", i);
        status(&job, name, text);
    }
    assert_true(job_submit(&job, &err));
}

static void lost_and_doubled_tasks(void **state)
{
    SCOPED_BY(job_free) struct job job = {0};
    struct error err = {0};
    struct job_turn turn;
    memset(&world, 0, sizeof world);
    world.answers = world.submits = true;
    job_of(&job, "slurm:retries=2", "emu");
    job.engine = &fake;
    assert_true(job_submit(&job, &err));
    for (int i = 0; i < 7; i++) {
        world.says[i] = ENGINE_RUNNING;
        assert_int_equal(world.submitted[i], 1);
    }
    turn_after(&job, 2, &turn);
    turn_after(&job, 0.5, &turn);
    assert_int_equal(world.asked, 1);
    turn_after(&job, 0.6, &turn);
    assert_int_equal(world.asked, 2);
    assert_true(turn.running == 7 && !turn.done && !turn.lost && !turn.again);

    /* Of an engine that does not answer nothing is lost, however long. */
    world.answers = false;
    memset(world.says, 0, sizeof world.says);
    for (int i = 0; i < 5; i++)
        turn_after(&job, 100, &turn);
    assert_true(!turn.lost && !turn.again && strstr(job.note, "squeue does not answer"));

    /* All tasks are gone; shard 1 is done, shard 2 has a part. The others are submitted again, not at once, twice, and then lost. */
    world.answers = true;
    for (int i = 0; i < 7; i++)
        world.says[i] = ENGINE_NONE;
    status(&job, "0001.n1.1-a",
           "{\"shard\":1,\"state\":\"done\",\"exit\":0,\"rows\":4,\"of\":4,\"host\":\"n1\",\"part\":\"0001.n1.1-a.db\"}");
    status(&job, "0002.n1.2-a",
           "{\"shard\":2,\"state\":\"stopped\",\"exit\":130,\"rows\":2,\"of\":4,\"host\":\"n1\",\"part\":\"0002.n1.2-a.db\"}");
    turn_after(&job, 20, &turn);
    assert_true(turn.done == 1 && !turn.again && !turn.lost && turn.rows == 6);
    turn_after(&job, 20, &turn);
    assert_true(turn.again == 6 && world.submitted[0] == 1 && world.submitted[1] == 2 && world.submitted[6] == 2);
    world.submits = false; /* slurmctld is gone: that is no try */
    turn_after(&job, 20, &turn);
    turn_after(&job, 20, &turn);
    assert_true(!turn.again && strstr(job.note, "sbatch does not answer"));
    world.submits = true;
    for (int i = 0; i < 20; i++) { /* shard 2 goes on each time, as under a short time limit */
        SCOPED char *name = text_format("0002.n1.%d-b", i),
                    *text = text_format(
                        "{\"shard\":2,\"state\":\"stopped\",\"exit\":130,\"rows\":%d,\"of\":99,\"host\":\"n1\",\"part\":\"%s.db\"}", 3 + i,
                        name);
        status(&job, name, text);
        turn_after(&job, 20, &turn);
    }
    assert_int_equal(world.submitted[6], 3); /* the first and two retries */
    assert_true(world.submitted[1] > 8);
    assert_int_equal(turn.lost, 5);
    assert_int_equal(world.submitted[0], 1);

    /* What waits is counted and says why. */
    world.says[3] = ENGINE_PENDING;
    turn_after(&job, 20, &turn);
    assert_true(turn.pending == 1 && turn.lost == 4 && !job.note[0]);
    assert_string_equal(turn.why, "no node is free");
    world.says[3] = ENGINE_NONE;

    /* In a long job the scheduler of the site is asked every 15 s. */
    int asked = world.asked;
    for (int i = 0; i < 30; i++)
        turn_after(&job, 1, &turn);
    assert_int_equal(world.asked - asked, 2);

    /* A requeued task of a shard whose first copy went on to its end is taken off the queue. */
    world.says[0] = ENGINE_PENDING;
    assert_int_equal(world.cancelled, 0);
    turn_after(&job, 20, &turn);
    assert_int_equal(world.cancelled, 1);

    /* So is a task that has handed over its last part and does not end, but only after minutes. */
    world.says[0] = ENGINE_NONE;
    world.says[1] = ENGINE_RUNNING;
    for (int i = 0; i < 14; i++)
        turn_after(&job, 20, &turn);
    assert_int_equal(world.cancelled, 1);
    for (int i = 0; i < 3; i++)
        turn_after(&job, 20, &turn);
    assert_int_equal(world.cancelled, 1 + 2);
    status(&job, "0002.n1.99-c",
           "{\"shard\":2,\"state\":\"running\",\"exit\":-1,\"rows\":40,\"of\":99,\"host\":\"n1\",\"part\":\"0002.n1.99-c.db\"}");
    for (int i = 0; i < 50; i++)
        turn_after(&job, 20, &turn);
    assert_int_equal(world.cancelled, 1 + 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(words_of_on),
        TEST(system_files),
        TEST(the_script_of_slurm),
        TEST(odd_names_in_scripts),
        TEST(the_queue_of_slurm),
        TEST(takes_the_files_that_a_scenario_names),
        TEST(packs_what_a_task_reads),
        TEST(what_landed),
        TEST(a_part_in_an_output),
        TEST(lost_and_doubled_tasks),
        TEST(a_job_is_opened_again),
        TEST(nothing_is_submitted_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
