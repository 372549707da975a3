/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading master files. What cannot be read leaves the zone that is served untouched. */
#include "plugin/file/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "dns/zone/zone.h"
#include "dns/zone/zonefile.h"
#include "dns/zone/zoneload.h"

#define AREA "plugin/file"

/* Within this time after a change another one may not show in the file's time. */
enum { SETTLE_NS = 1000000000 };

struct included {
	bool any;
};

/* Known before the memory is filled with it. */
static bool too_large(const struct stat *st)
{
	return st->st_size > (off_t)DNS_ZONEFILE_BYTES_MAX;
}

static int read_path(const char *path, struct strbuf *out)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : ERR_UNSUPPORTED;
	if (r == 0 && too_large(&st))
		r = ERR_LIMIT;
	if (r == 0)
		r = readfile_fd(fd, DNS_ZONEFILE_BYTES_MAX, out);
	close(fd);
	return r;
}

static int read_include(void *ctx, const char *path, struct strbuf *out)
{
	struct included *inc = ctx;
	inc->any = true;
	return read_path(path, out);
}

static bool is_after(struct timespec left, struct timespec right)
{
	return left.tv_sec != right.tv_sec ? left.tv_sec > right.tv_sec
					   : left.tv_nsec > right.tv_nsec;
}

static bool same_time(struct timespec left, struct timespec right)
{
	return left.tv_sec == right.tv_sec && left.tv_nsec == right.tv_nsec;
}

static void remember_file(struct file_source *source, const struct stat *st)
{
	uint64_t changed_ns =
		(uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	source->read_mtime = st->st_mtim;
	source->read_size = st->st_size;
	source->read_inode = st->st_ino;
	source->read_settled = changed_ns + SETTLE_NS < clock_wall_ns();
}

static int load_text(struct file_source *source, const uint32_t *serial, struct strbuf *text,
		     struct srcerr *err, struct dns_zone **ret)
{
	struct included inc = { 0 };
	size_t outside = 0;
	struct dns_zoneload l = {
		.path = source->path,
		.origin = source->origin,
		.serial = serial,
		.include = read_include,
		.ctx = &inc,
	};
	int r = dns_zone_load(&l, strbuf_slice(text), err, ret, &outside);
	source->read_settled = source->read_settled && !inc.any;
	if (r == 0 && outside != 0)
		log_warn(AREA, "Zone \"%s\" in \"%s\": %zu records outside the zone are left out",
			 source->origin_text, source->path, outside);
	return r;
}

static int load_fd(struct file_source *source, int fd, const uint32_t *serial, struct srcerr *err,
		   struct dns_zone **ret)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct srcpos pos = { .file = source->path, .line = 1, .col = 1 };
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return srcerr_set(err, pos, "not a regular file");
	remember_file(source, &st);
	if (too_large(&st))
		return srcerr_set(err, pos, "larger than %d bytes", DNS_ZONEFILE_BYTES_MAX);
	int r = readfile_fd(fd, DNS_ZONEFILE_BYTES_MAX, &text);
	if (r < 0) {
		IGNORE(srcerr_set(err, pos, "cannot read: %s", err_str(r)) == 0);
		return r;
	}
	r = load_text(source, serial, &text, err, ret);
	if (r == 0)
		source->mtime = st.st_mtim;
	return r;
}

int file_source_read(struct file_source *source, struct srcerr *err, struct dns_zone **ret)
{
	struct srcpos pos = { .file = source->path, .line = 1, .col = 1 };
	int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		int e = -errno;
		IGNORE(srcerr_set(err, pos, "cannot open: %s", err_str(e)) == 0);
		return e;
	}
	int r = load_fd(source, fd, NULL, err, ret);
	close(fd);
	/* -errno is for files that cannot be opened, which may come yet. */
	return r < 0 && r > ERR_PARSE ? ERR_UNSUPPORTED : r;
}

/* Is it worth reading? A serial can have changed only if the file did. */
static bool has_changed(const struct file_source *source, const struct stat *st)
{
	if (source->by_mtime)
		return is_after(st->st_mtim, source->mtime) &&
		       !(source->read_settled && same_time(st->st_mtim, source->read_mtime));
	return !source->read_settled || !same_time(st->st_mtim, source->read_mtime) ||
	       st->st_size != source->read_size || st->st_ino != source->read_inode;
}

/* What is wrong may stay so for days. */
static PRINTF_LIKE(2, 3) void log_error_once(struct file_source *source, const char *fmt, ...)
{
	char text[sizeof(source->last_error)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strcmp(text, source->last_error) == 0)
		return;
	memcpy(source->last_error, text, sizeof(text));
	log_error(AREA, "%s", text);
}

static struct dns_zone *reload_fd(struct file_source *source, int fd, const struct dns_zone *now)
{
	struct srcerr err = { 0 };
	struct dns_zone *z = NULL;
	char line[1024];
	uint32_t serial = now != NULL ? dns_zone_serial(now) : 0;
	int r = load_fd(source, fd, now != NULL && !source->by_mtime ? &serial : NULL, &err, &z);
	if (r < 0 && r != ERR_BUSY) {
		log_error_once(source, "Parsing zone \"%s\": %s", source->origin_text,
			       srcerr_str(&err, line, sizeof(line)));
		return NULL;
	}
	source->last_error[0] = '\0';
	if (r == ERR_BUSY)
		return NULL;
	log_info(AREA, "Successfully reloaded zone \"%s\" in \"%s\" with %u SOA serial",
		 source->origin_text, source->path, dns_zone_serial(z));
	return z;
}

struct dns_zone *file_source_reload(struct file_source *source, const struct dns_zone *now)
{
	struct stat st;
	struct dns_zone *z = NULL;
	int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		log_error_once(source, "Failed to open zone \"%s\" in \"%s\": %s",
			       source->origin_text, source->path, err_str(-errno));
		return NULL;
	}
	if (fstat(fd, &st) == 0 && (now == NULL || has_changed(source, &st)))
		z = reload_fd(source, fd, now);
	close(fd);
	return z;
}
