/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses and writes the snapshot file; snapshot.h describes its form. */
#include "plugin/kubernetes/objects/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/crypto/digest.h"

#define MAGIC "fairlead-kubernetes"
enum { VERSION = 1, DIGITS = 32 };

static void digest_of(struct slice text, char out[DIGITS + 1])
{
	uint8_t d[DIGEST_SHA512_BYTES];
	digest_sha512(text.p, text.n, d);
	for (size_t i = 0; i < DIGITS / 2; i++)
		snprintf(out + 2 * i, 3, "%02x", d[i]);
}

/* ---- reading ---- */

static int refuse_file(struct err_text err, int ret, const char *why)
{
	err_text_set(err, "%s", why);
	return ret;
}

static void add_head(struct strbuf *out, struct slice source, struct slice lines)
{
	char of[DIGITS + 1], of_lines[DIGITS + 1];
	digest_of(source, of);
	digest_of(lines, of_lines);
	strbuf_addf(out, MAGIC " %d %s %zu %s\n", VERSION, of, lines.n, of_lines);
}

static bool begins_with(struct slice text, struct slice with)
{
	return text.n >= with.n && memcmp(text.p, with.p, with.n) == 0;
}

/* Compares the first line with what it must be; the reason where it differs. */
static int check_head(struct slice *text, struct slice source, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	const char *end = memchr(text->p, '\n', text->n);
	if (end == NULL || !begins_with(*text, slice_of(MAGIC " ")))
		return refuse_file(err, ERR_PARSE, "it is not a snapshot");
	size_t n = (size_t)(end - text->p) + 1;
	struct slice lines = { text->p + n, text->n - n };
	add_head(&want, source, lines);
	size_t version = sizeof(MAGIC " 1 ") - 1;
	if (!begins_with(*text, (struct slice){ want.s, version }))
		return refuse_file(err, ERR_PARSE, "it is of another version");
	if (!begins_with(*text, (struct slice){ want.s, version + DIGITS }))
		return refuse_file(err, ERR_CONFLICT, "it is of another configuration");
	if (n != want.n || !begins_with(*text, strbuf_slice(&want)))
		return refuse_file(err, ERR_PARSE, "it is incomplete");
	*text = lines;
	return 0;
}

static int kind_of(struct slice line)
{
	for (int i = 0; i < KUBERNETES_KINDS; i++) {
		if (line.n > 2 && line.p[0] == kubernetes_snapshot_letters[i] && line.p[1] == ' ')
			return i;
	}
	return ERR_PARSE;
}

static struct slice next_line(struct slice *text)
{
	const char *end = memchr(text->p, '\n', text->n);
	size_t n = end != NULL ? (size_t)(end - text->p) : text->n;
	struct slice line = { text->p, n };
	*text = (struct slice){ text->p + n + (end != NULL), text->n - n - (end != NULL) };
	return line;
}

int kubernetes_snapshot_parse(struct slice text, struct slice source,
			      bool (*fn)(void *ctx, enum kubernetes_kind kind, struct slice json),
			      void *ctx, struct err_text err)
{
	if (text.n > KUBERNETES_SNAPSHOT_BYTES)
		return refuse_file(err, ERR_LIMIT, "it is too large");
	int r = check_head(&text, source, err);
	if (r < 0)
		return r;
	for (struct slice left = text; left.n != 0;) {
		struct slice line = next_line(&left);
		if (line.n > KUBERNETES_SNAPSHOT_LINE)
			return refuse_file(err, ERR_LIMIT, "a line is too long");
		if (kind_of(line) < 0)
			return refuse_file(err, ERR_PARSE, "a line is not an object");
	}
	while (text.n != 0) {
		struct slice line = next_line(&text);
		if (!fn(ctx, (enum kubernetes_kind)kind_of(line),
			(struct slice){ line.p + 2, line.n - 2 }))
			break;
	}
	return 0;
}

/* ---- writing ---- */

static int write_all(int fd, struct slice text)
{
	while (text.n != 0) {
		ssize_t n = write(fd, text.p, text.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text.p += n;
		text.n -= (size_t)n;
	}
	return 0;
}

/* The name in its folder is safe as well. */
static int sync_folder(const char *path)
{
	CLEANUP(freep) char *copy = xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int write_lines(int fd, struct slice head, struct slice lines)
{
	int r = write_all(fd, head);
	if (r == 0)
		r = write_all(fd, lines);
	if (r == 0 && (fchmod(fd, S_IRUSR | S_IWUSR) < 0 || fsync(fd) < 0))
		r = -errno;
	return r;
}

int kubernetes_snapshot_write(const char *path, struct slice source, struct slice lines)
{
	CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
	CLEANUP(freep) char *temp = xasprintf("%s.XXXXXX", path);
	if (lines.n > KUBERNETES_SNAPSHOT_BYTES)
		return ERR_LIMIT;
	add_head(&head, source, lines);
	int fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = write_lines(fd, strbuf_slice(&head), lines);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temp, path) < 0)
		r = -errno;
	if (r < 0) {
		unlink(temp);
		return r;
	}
	return sync_folder(path);
}
