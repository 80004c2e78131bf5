/* A disk that fails on demand. Loaded before libc, it sees every call by which a program changes files, counts those
 * below one directory, and lets the n-th fail, tear or be the last thing the program does. For tests on Linux only.
 *
 * Told by the environment; `testkit::faults` is the one that tells it:
 *   FAULTS_DIR        the directory that counts
 *   FAULTS_LOG        a file that gets one line per call: number (`-` where it does not count), call, path, detail
 *   FAULTS_ABORT_AT   killed before the n-th call does anything
 *   FAULTS_SIGNAL     a signal that comes before the FAULTS_SIGNAL_AT-th call, which is then done
 *   FAULTS_TORN_AT    killed after the n-th call did half of its bytes; any other call is not done at all
 *   FAULTS_ERRNO      ENOSPC, EIO: what calls fail with, from the FAULTS_FROM-th to the FAULTS_TO-th
 *   FAULTS_READ_OF    a path: before its FAULTS_READ_AT-th read, FAULTS_READ_DO happens to it:
 *                     unlink, truncate:BYTES, rename:OTHER, overwrite:OTHER, append:OTHER, link:OTHER, EIO
 *
 * It knows nothing of the program. What it does itself goes to the kernel directly and is not seen by it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char directory[PATH_MAX];
static char read_of[PATH_MAX];
static const char *read_do = "";
static int log_file = -1, fails_with;
static long abort_at, signal_at, signal_number, torn_at, from, to = LONG_MAX, read_at;
static atomic_long calls, reads;

static long number(const char *name, long otherwise) {
  const char *told = getenv(name);
  return told ? atol(told) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
  const char *told = getenv("FAULTS_DIR");
  if (told) snprintf(directory, sizeof directory, "%s/", told);
  if ((told = getenv("FAULTS_READ_OF"))) snprintf(read_of, sizeof read_of, "%s", told);
  if ((told = getenv("FAULTS_READ_DO"))) read_do = told;
  if ((told = getenv("FAULTS_ERRNO"))) fails_with = strcmp(told, "EIO") == 0 ? EIO : ENOSPC;
  abort_at = number("FAULTS_ABORT_AT", 0);
  signal_at = number("FAULTS_SIGNAL_AT", 0);
  signal_number = number("FAULTS_SIGNAL", 0);
  torn_at = number("FAULTS_TORN_AT", 0);
  from = number("FAULTS_FROM", 1);
  to = number("FAULTS_TO", LONG_MAX);
  read_at = number("FAULTS_READ_AT", 1);
  if ((told = getenv("FAULTS_LOG")))
    log_file = (int)syscall(SYS_openat, AT_FDCWD, told, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  /* What the program starts is not ours to break. */
  unsetenv("LD_PRELOAD");
}

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
#define NEXT(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))next(#name)

__attribute__((noreturn)) static void die(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static void note(long n, const char *call, const char *path, const char *detail) {
  char line[2 * PATH_MAX];
  if (log_file < 0) return;
  int length = n ? snprintf(line, sizeof line, "%ld %s %s %s\n", n, call, path, detail)
                 : snprintf(line, sizeof line, "- %s %s %s\n", call, path, detail);
  if (length > 0) (void)!syscall(SYS_write, log_file, line, (size_t)length);
}

/* Where an open file really lies. */
static void path_of(int file, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
  path[length > 0 ? length : 0] = 0;
}

/* A name as an absolute path; links stay as they are. */
static void path_at(int base, const char *name, char *path) {
  if (name[0] == '/') {
    snprintf(path, PATH_MAX, "%s", name);
    return;
  }
  char folder[PATH_MAX];
  if (base == AT_FDCWD) {
    if (!getcwd(folder, sizeof folder)) folder[0] = 0;
  } else {
    path_of(base, folder);
  }
  snprintf(path, PATH_MAX, "%.2000s/%.2000s", folder, name);
}

static int counts(const char *path) {
  size_t length = strlen(directory);
  return length && (strncmp(path, directory, length) == 0 ||
                    (strncmp(path, directory, length - 1) == 0 && path[length - 1] == 0));
}

enum fate { GO_ON, TEAR, FAIL };

/* What becomes of a call on `path`. A full disk refuses only what needs room. */
static enum fate fate(const char *call, const char *path, const char *detail, int needs_room) {
  if (!counts(path)) {
    note(0, call, path, detail);
    return GO_ON;
  }
  long n = atomic_fetch_add(&calls, 1) + 1;
  note(n, call, path, detail);
  if (n == abort_at) die();
  if (n == signal_at) {
    syscall(SYS_kill, getpid(), (int)signal_number);
    /* Lets the thread that handles it run. */
    usleep(20000);
  }
  if (n == torn_at) return TEAR;
  if (fails_with && n >= from && n <= to && (needs_room || fails_with == EIO)) {
    errno = fails_with;
    return FAIL;
  }
  return GO_ON;
}

static enum fate fate_of(const char *call, int file, long amount, int needs_room) {
  char path[PATH_MAX], detail[32];
  if (file < 3 || file == log_file) return GO_ON;
  path_of(file, path);
  snprintf(detail, sizeof detail, "%ld", amount);
  return fate(call, path, detail, needs_room);
}

/* ---- writing ---- */

ssize_t write(int file, const void *bytes, size_t length) {
  NEXT(write);
  switch (fate_of("write", file, (long)length, 1)) {
    case TEAR: real(file, bytes, length / 2); die();
    case FAIL: return -1;
    default: return real(file, bytes, length);
  }
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  NEXT(writev);
  switch (fate_of("writev", file, count, 1)) {
    case TEAR: real(file, parts, count / 2); die();
    case FAIL: return -1;
    default: return real(file, parts, count);
  }
}

#define PWRITE(name, offset_type) \
  ssize_t name(int file, const void *bytes, size_t length, offset_type at) { \
    NEXT(name); \
    switch (fate_of("pwrite", file, (long)length, 1)) { \
      case TEAR: real(file, bytes, length / 2, at); die(); \
      case FAIL: return -1; \
      default: return real(file, bytes, length, at); \
    } \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define ON_FILE(name, parameters, arguments, amount, needs_room) \
  int name parameters { \
    NEXT(name); \
    switch (fate_of(#name, file, (long)(amount), needs_room)) { \
      case TEAR: die(); \
      case FAIL: return -1; \
      default: return real arguments; \
    } \
  }
ON_FILE(fsync, (int file), (file), 0, 0)
ON_FILE(fdatasync, (int file), (file), 0, 0)
ON_FILE(ftruncate, (int file, off_t length), (file, length), length, 0)
ON_FILE(ftruncate64, (int file, off64_t length), (file, length), length, 0)
ON_FILE(fchmod, (int file, mode_t mode), (file, mode), mode, 0)
/* What is not offered has to be done by what is: SQLite and Rust's library then write. */
int fallocate(int file, int mode, off_t at, off_t length) { (void)file, (void)mode, (void)at, (void)length; errno = EOPNOTSUPP; return -1; }

/* ---- names ---- */

#define ON_NAME(name, parameters, arguments, base, path_name, needs_room) \
  int name parameters { \
    NEXT(name); \
    char path[PATH_MAX]; \
    path_at(base, path_name, path); \
    switch (fate(#name, path, "", needs_room)) { \
      case TEAR: die(); \
      case FAIL: return -1; \
      default: return real arguments; \
    } \
  }
ON_NAME(unlink, (const char *name), (name), AT_FDCWD, name, 0)
ON_NAME(unlinkat, (int base, const char *name, int flags), (base, name, flags), base, name, 0)
ON_NAME(rmdir, (const char *name), (name), AT_FDCWD, name, 0)
ON_NAME(mkdir, (const char *name, mode_t mode), (name, mode), AT_FDCWD, name, 1)
ON_NAME(mkdirat, (int base, const char *name, mode_t mode), (base, name, mode), base, name, 1)
ON_NAME(chmod, (const char *name, mode_t mode), (name, mode), AT_FDCWD, name, 0)
ON_NAME(fchmodat, (int base, const char *name, mode_t mode, int flags), (base, name, mode, flags), base, name, 0)
ON_NAME(truncate, (const char *name, off_t length), (name, length), AT_FDCWD, name, 0)
ON_NAME(rename, (const char *old, const char *name), (old, name), AT_FDCWD, name, 1)
ON_NAME(renameat, (int base, const char *old, int target, const char *name), (base, old, target, name), target, name, 1)
ON_NAME(renameat2, (int base, const char *old, int target, const char *name, unsigned flags), (base, old, target, name, flags), target, name, 1)
ON_NAME(link, (const char *old, const char *name), (old, name), AT_FDCWD, name, 1)
ON_NAME(linkat, (int base, const char *old, int target, const char *name, int flags), (base, old, target, name, flags), target, name, 1)
ON_NAME(symlink, (const char *old, const char *name), (old, name), AT_FDCWD, name, 1)

/* ---- opening: counts where it makes or empties a file; is told in any case, with the place it led to ---- */

static int open_any(int base, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX], detail[64];
  path_at(base, name, path);
  int is_there = syscall(SYS_faccessat, base, name, F_OK, 0) == 0;
  if (((flags & O_CREAT) && !is_there) || ((flags & O_TRUNC) && is_there)) {
    switch (fate("create", path, "", 1)) {
      case TEAR: die();
      case FAIL: return -1;
      default: break;
    }
  }
  /* Told before it is done: to open a pipe is to wait. */
  snprintf(detail, sizeof detail, "%s", (flags & O_ACCMODE) == O_RDONLY ? "reads" : "writes");
  note(0, "opens", path, detail);
  int file = (int)syscall(SYS_openat, base, name, flags, mode);
  if (file >= 0) {
    int kept = errno;
    path_of(file, path);
    note(0, "opened", path, detail);
    errno = kept;
  }
  return file;
}

#define MODE \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }
int open(const char *name, int flags, ...) { MODE return open_any(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE return open_any(AT_FDCWD, name, flags, mode); }
int openat(int base, const char *name, int flags, ...) { MODE return open_any(base, name, flags, mode); }
int openat64(int base, const char *name, int flags, ...) { MODE return open_any(base, name, flags, mode); }
int creat(const char *name, mode_t mode) { return open_any(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* ---- reading one file while something happens to it ---- */

static void copy_into(const char *other, int flags) {
  char bytes[1 << 16];
  int source = (int)syscall(SYS_openat, AT_FDCWD, other, O_RDONLY, 0);
  int target = (int)syscall(SYS_openat, AT_FDCWD, read_of, O_WRONLY | flags, 0);
  for (ssize_t length; (length = syscall(SYS_read, source, bytes, sizeof bytes)) > 0;)
    (void)!syscall(SYS_write, target, bytes, (size_t)length);
  syscall(SYS_close, source);
  syscall(SYS_close, target);
}

static const char *told(const char *what) {
  size_t length = strlen(what);
  return strncmp(read_do, what, length) == 0 ? read_do + length : NULL;
}

static void happen(void) {
  const char *rest;
  note(0, "happens", read_of, read_do);
  if (told("unlink")) syscall(SYS_unlinkat, AT_FDCWD, read_of, 0);
  if ((rest = told("truncate:"))) syscall(SYS_truncate, read_of, atol(rest));
  if ((rest = told("rename:"))) syscall(SYS_renameat2, AT_FDCWD, rest, AT_FDCWD, read_of, 0);
  if ((rest = told("overwrite:"))) copy_into(rest, O_TRUNC);
  if ((rest = told("append:"))) copy_into(rest, O_APPEND);
  if ((rest = told("link:"))) {
    syscall(SYS_unlinkat, AT_FDCWD, read_of, 0);
    syscall(SYS_symlinkat, rest, AT_FDCWD, read_of);
  }
}

/* Whether the read fails. */
static int meets(int file) {
  char path[PATH_MAX];
  if (!read_of[0] || file < 3) return 0;
  path_of(file, path);
  if (strcmp(path, read_of) != 0) return 0;
  long n = atomic_fetch_add(&reads, 1) + 1;
  note(0, "reads", path, "");
  if (n == read_at) happen();
  if (n >= read_at && told("EIO")) {
    errno = EIO;
    return 1;
  }
  return 0;
}

ssize_t read(int file, void *bytes, size_t length) {
  NEXT(read);
  return meets(file) ? -1 : real(file, bytes, length);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t at) {
  NEXT(pread64);
  return meets(file) ? -1 : real(file, bytes, length, at);
}
