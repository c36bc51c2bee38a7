/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into a process: appends a line to $RECORDED_WRITES for everything that it, or what it
 * starts, does to files and folders, in order: `write PATH`, `sync PATH`, `remove PATH`,
 * `mkdir PATH`, `rename FROM<TAB>TO`.
 * A file that is opened to be written counts as written: the C library's own streams write where
 * nobody can look on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LONGEST 4096

static void
put(const char *what, const char *first, const char *second)
{
	static int file = -1;
	const char *place = getenv("RECORDED_WRITES");
	char line[2 * LONGEST + 16];
	int length;

	if (place == NULL)
		return;
	if (file < 0)
		file = syscall(SYS_openat, AT_FDCWD, place,
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	length = snprintf(line, sizeof(line), "%s %s%s%s\n", what, first, *second ? "\t" : "",
			  second);
	syscall(SYS_write, file, line, length);
}

static void
absolute(char *path, int folder, const char *name)
{
	char link[64];
	ssize_t length = 0;

	path[0] = '\0';
	if (name[0] != '/') {
		snprintf(link, sizeof(link),
			 folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
		length = readlink(link, path, LONGEST - 1);
		path[length < 0 ? 0 : length] = '\0';
		strncat(path, "/", LONGEST - strlen(path) - 1);
	}
	strncat(path, name, LONGEST - strlen(path) - 1);
}

static void
put_file(const char *what, int file)
{
	char link[64], path[LONGEST];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0 || path[0] != '/')
		return;
	path[length] = '\0';
	put(what, path, "");
}

static void
put_rename(int from_folder, const char *from, int to_folder, const char *to)
{
	char paths[2][LONGEST];

	absolute(paths[0], from_folder, from);
	absolute(paths[1], to_folder, to);
	put("rename", paths[0], paths[1]);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPENS(name)                                                                                \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list more;                                                                      \
		va_start(more, flags);                                                             \
		int mode = va_arg(more, int);                                                      \
		va_end(more);                                                                      \
		int file = REAL(name)(path, flags, mode);                                          \
		if (file >= 0 && (flags & O_ACCMODE) != O_RDONLY)                                  \
			put_file("write", file);                                                   \
		return file;                                                                       \
	}
OPENS(open)
OPENS(open64)

#define OPENS_AT(name)                                                                             \
	int name(int folder, const char *path, int flags, ...)                                     \
	{                                                                                          \
		va_list more;                                                                      \
		va_start(more, flags);                                                             \
		int mode = va_arg(more, int);                                                      \
		va_end(more);                                                                      \
		int file = REAL(name)(folder, path, flags, mode);                                  \
		if (file >= 0 && (flags & O_ACCMODE) != O_RDONLY)                                  \
			put_file("write", file);                                                   \
		return file;                                                                       \
	}
OPENS_AT(openat)
OPENS_AT(openat64)

#define STREAMS(name)                                                                              \
	FILE *name(const char *path, const char *mode)                                             \
	{                                                                                          \
		FILE *stream = REAL(name)(path, mode);                                             \
		if (stream != NULL && strpbrk(mode, "wa+") != NULL)                                \
			put_file("write", fileno(stream));                                         \
		return stream;                                                                     \
	}
STREAMS(fopen)
STREAMS(fopen64)

#define WRITES(name, parameters, arguments)                                                        \
	ssize_t name parameters                                                                    \
	{                                                                                          \
		put_file("write", file);                                                           \
		return REAL(name) arguments;                                                       \
	}
WRITES(write, (int file, const void *from, size_t size), (file, from, size))
WRITES(pwrite, (int file, const void *from, size_t size, off_t at), (file, from, size, at))
WRITES(pwrite64, (int file, const void *from, size_t size, off64_t at), (file, from, size, at))
WRITES(writev, (int file, const struct iovec *from, int count), (file, from, count))
WRITES(sendfile, (int file, int from, off_t *at, size_t size), (file, from, at, size))
WRITES(sendfile64, (int file, int from, off64_t *at, size_t size), (file, from, at, size))

ssize_t
copy_file_range(int from, off64_t *from_at, int file, off64_t *at, size_t size, unsigned int flags)
{
	put_file("write", file);
	return REAL(copy_file_range)(from, from_at, file, at, size, flags);
}

int
ftruncate(int file, off_t size)
{
	put_file("write", file);
	return REAL(ftruncate)(file, size);
}

#define SYNCS(name)                                                                                \
	int name(int file)                                                                         \
	{                                                                                          \
		int result = REAL(name)(file);                                                     \
		put_file(result == 0 ? "sync" : "not-synced", file);                               \
		return result;                                                                     \
	}
SYNCS(fsync)
SYNCS(fdatasync)

int
rename(const char *from, const char *to)
{
	put_rename(AT_FDCWD, from, AT_FDCWD, to);
	return REAL(rename)(from, to);
}

int
renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	put_rename(from_folder, from, to_folder, to);
	return REAL(renameat)(from_folder, from, to_folder, to);
}

int
renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned int flags)
{
	put_rename(from_folder, from, to_folder, to);
	return REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

static void
put_at(const char *what, int folder, const char *path)
{
	char whole[LONGEST];

	absolute(whole, folder, path);
	put(what, whole, "");
}

int
unlink(const char *path)
{
	put_at("remove", AT_FDCWD, path);
	return REAL(unlink)(path);
}

int
unlinkat(int folder, const char *path, int flags)
{
	put_at("remove", folder, path);
	return REAL(unlinkat)(folder, path, flags);
}

int
rmdir(const char *path)
{
	put_at("remove", AT_FDCWD, path);
	return REAL(rmdir)(path);
}

int
mkdir(const char *path, mode_t mode)
{
	put_at("mkdir", AT_FDCWD, path);
	return REAL(mkdir)(path, mode);
}
