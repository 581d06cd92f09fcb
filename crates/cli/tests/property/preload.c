/* A slow disk, a failing disk and a clock that is set, for one process alone.
 *
 * Preloaded into the runner by `preload.rs`, which writes what is to happen into a small file that is mapped here, so
 * that it can change while the program runs. Only files below the state directory are concerned. What the program
 * starts knows nothing of it: both variables are gone from the environment before `main`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SYNCS = 1, WRITES = 2, NAMES = 4 };

/* The same fields in the same order as in `preload.rs`. */
static struct control {
    int64_t is_loaded;        /* set here: preloading works */
    int64_t clock;            /* seconds that the wall clock is wrong by */
    int64_t delay;            /* most microseconds that a sync takes longer; other calls a tenth of it */
    int64_t stall_at, stall;  /* the call that takes so many microseconds longer */
    int64_t kinds;            /* what fails: SYNCS, WRITES, NAMES */
    int64_t fail_at, times;   /* from which of these calls on, and how many of them */
    int64_t error;            /* with which errno */
    int64_t failed_syncs;     /* counted here */
} *control;
static char disk[4096];
static atomic_long calls, candidates;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("PRELOAD_CONTROL"), *home = getenv("RECIPE_RUNNER_HOME");
    int fd = file && home ? (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    unsetenv("LD_PRELOAD");
    unsetenv("PRELOAD_CONTROL");
    if (map == MAP_FAILED || strlen(home) >= sizeof disk) return;
    strcpy(disk, home);
    control = map;
    control->is_loaded = 1;
}

static int is_ours(const char *path) { return control && !strncmp(path, disk, strlen(disk)); }

static int is_our_file(int fd) {
    char link[32] = "/proc/self/fd/", digits[12], path[4096];
    int at = 11;
    if (!control || fd < 0) return 0;
    digits[at] = 0;
    do digits[--at] = (char)('0' + fd % 10); while ((fd /= 10) > 0);
    strcat(link, digits + at);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return is_ours(path);
}

static void pause_for(int64_t micros) {
    struct timespec rest = {micros / 1000000, micros % 1000000 * 1000};
    while (micros > 0 && nanosleep(&rest, &rest) && errno == EINTR) {}
}

/* Takes the time that such a call takes; says whether it fails. */
static int fails(int kind) {
    long call = atomic_fetch_add(&calls, 1) + 1;
    int64_t most = kind == SYNCS ? control->delay : control->delay / 10;
    pause_for((call * 2654435761u >> 8 & 1023) * most / 1023);
    if (call == control->stall_at) pause_for(control->stall);
    if (!(control->kinds & kind)) return 0;
    long candidate = atomic_fetch_add(&candidates, 1) + 1;
    if (candidate < control->fail_at || candidate >= control->fail_at + control->times) return 0;
    if (kind == SYNCS) __atomic_fetch_add(&control->failed_syncs, 1, __ATOMIC_SEQ_CST);
    errno = (int)control->error;
    return 1;
}

int fsync(int fd) { return is_our_file(fd) && fails(SYNCS) ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return is_our_file(fd) && fails(SYNCS) ? -1 : (int)syscall(SYS_fdatasync, fd); }

/* The first write that fails is a short one, as on a disk that has become full. */
ssize_t write(int fd, const void *bytes, size_t count) {
    if (!is_our_file(fd) || !fails(WRITES)) return syscall(SYS_write, fd, bytes, count);
    int is_first = atomic_load(&candidates) == control->fail_at && count > 1;
    return is_first ? syscall(SYS_write, fd, bytes, count / 2) : -1;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && is_ours(path) && fails(NAMES)) return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int rename(const char *from, const char *to) {
    if (is_ours(to) && fails(NAMES)) return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* The only call for the wall clock that the program makes. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (!result && control && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += control->clock;
    return result;
}
