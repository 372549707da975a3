/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names a process by what /proc says about it, and finds out by a pidfd whether it runs. */
#include "kube/leader/holder_process.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	FILE_MAX_BYTES = 4096,
	READ_MS = 1000,
	LINK_MAX_BYTES = 64,
	/* Field 22 of /proc/PID/stat, counted from the one behind the name, which is field 3. */
	START_TIME_FIELD = 22 - 3,
};

static const char boot_id_file[] = "/proc/sys/kernel/random/boot_id";

static bool read_boot_id(struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (readfile_path(boot_id_file, FILE_MAX_BYTES, READ_MS, &text) < 0)
		return false;
	strbuf_add_slice(out, slice_trim(strbuf_slice(&text)));
	return true;
}

/* "pid:[4026531836]", and a space */
static bool read_namespace(const char *path, struct strbuf *out)
{
	char link[LINK_MAX_BYTES];
	ssize_t n = readlink(path, link, sizeof(link));
	if (n <= 0 || (size_t)n == sizeof(link))
		return false;
	strbuf_add(out, link, (size_t)n);
	strbuf_addc(out, ' ');
	return true;
}

/* In clock ticks since the boot; the name before it may have any character but ')' behind its end. */
static int read_start_time(long pid, uint64_t *ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	int r = readfile_path(path, FILE_MAX_BYTES, READ_MS, &text);
	if (r < 0)
		return r;
	const char *name_end = strrchr(text.s, ')');
	if (name_end == NULL || name_end[1] != ' ')
		return ERR_PARSE;
	struct slice rest = slice_of(name_end + 2), field = { NULL, 0 };
	for (int i = 0; i <= START_TIME_FIELD; i++)
		field = slice_cut(&rest, ' ');
	return slice_u64(field, ret);
}

/* Boot and namespaces of this process. Times since the boot differ between time namespaces, as PIDs do
 * between PID namespaces. */
static bool add_place(struct strbuf *out)
{
	if (!read_boot_id(out))
		return false;
	strbuf_addc(out, ' ');
	return read_namespace("/proc/self/ns/pid", out) &&
	       read_namespace("/proc/self/ns/time", out);
}

char *holder_process_self(void)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	uint64_t started;
	if (!add_place(&text) || read_start_time(getpid(), &started) < 0)
		return NULL;
	strbuf_addf(&text, "%ld %" PRIu64, (long)getpid(), started);
	return strbuf_take(&text);
}

/* True also for a process that its parent has not waited for yet: all of its threads have ended. */
static bool process_is_gone(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno == ESRCH;
	struct pollfd ended = { .fd = fd, .events = POLLIN };
	bool gone = poll(&ended, 1, 0) == 1 && (ended.revents & POLLIN) != 0;
	close(fd);
	return gone;
}

bool holder_process_has_ended(const char *text)
{
	CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
	uint64_t pid, started, its;
	if (!add_place(&place) || strncmp(text, place.s, place.n) != 0)
		return false;
	struct slice rest = slice_of(text + place.n), number = slice_cut(&rest, ' ');
	if (slice_u64(number, &pid) < 0 || pid == 0 || pid > INT32_MAX ||
	    slice_u64(rest, &started) < 0)
		return false;
	if (process_is_gone((int)pid))
		return true;
	/* Another process may have its number by now. */
	return read_start_time((long)pid, &its) == 0 && its != started;
}
