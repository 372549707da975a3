/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets in memory that is wiped, and the two ways they are read: files and base64. */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text/base64.h"

void secret_done(struct secret *secret)
{
	if (secret->p != NULL)
		explicit_bzero(secret->p, secret->n);
	free(secret->p);
	*secret = (struct secret){ 0 };
}

void secret_set(struct secret *secret, struct slice value)
{
	char *p = xmalloc(value.n + 1);
	if (value.n != 0)
		memcpy(p, value.p, value.n);
	p[value.n] = '\0';
	secret_done(secret);
	*secret = (struct secret){ p, value.n };
}

bool secret_same_bytes(const void *left, const void *right, size_t len)
{
	/* Volatile: the compiler may not leave the loop early. */
	const volatile uint8_t *one = left, *other = right;
	uint8_t different = 0;
	for (size_t i = 0; i < len; i++)
		different |= (uint8_t)(one[i] ^ other[i]);
	return different == 0;
}

bool secret_eq(const struct secret *left, const struct secret *right)
{
	return left->n == right->n && secret_same_bytes(left->p, right->p, left->n);
}

void secret_wipe_strbuf(struct strbuf *out)
{
	if (out->cap != 0)
		explicit_bzero(out->s, out->cap);
	strbuf_done(out);
}

/* ---- files ---- */

/* Twice the room; the old bytes are wiped, which realloc would not do. */
static char *grow_buffer(char *pos, size_t len, size_t cap)
{
	char *bigger = xmalloc(cap * 2 + 1);
	memcpy(bigger, pos, len);
	explicit_bzero(pos, len);
	free(pos);
	return bigger;
}

static int read_all(int fd, size_t cap, struct secret *secret)
{
	for (;;) {
		if (secret->n == cap) {
			secret->p = grow_buffer(secret->p, secret->n, cap);
			cap *= 2;
		}
		ssize_t n = read(fd, secret->p + secret->n, cap - secret->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		secret->n += (size_t)n;
		if (secret->n > SECRET_MAX_BYTES)
			return ERR_LIMIT;
	}
}

int secret_read(const char *path, struct secret *ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_size < 0 || st.st_size > SECRET_MAX_BYTES)
		st.st_size = 0;
	size_t cap = (size_t)st.st_size + 512;
	struct secret s = { xmalloc(cap + 1), 0 };
	int r = read_all(fd, cap, &s);
	close(fd);
	if (r < 0) {
		secret_done(&s);
		return r;
	}
	s.p[s.n] = '\0';
	secret_done(ret);
	*ret = s;
	return 0;
}

/* ---- base64 ---- */

int secret_base64(struct slice text, struct secret *ret)
{
	struct secret s = { xmalloc(text.n / 4 * 3 + 4), 0 };
	ssize_t n = base64_decode_to((uint8_t *)s.p, text);
	s.n = n < 0 ? text.n / 4 * 3 : (size_t)n; /* all that may have been written is wiped */
	s.p[s.n] = '\0';
	if (n < 0) {
		secret_done(&s);
		return (int)n;
	}
	secret_done(ret);
	*ret = s;
	return 0;
}

void secret_forbid_core_dumps(void)
{
	/* With 0 a program that core_pattern names would still get the dump; with 1 the kernel makes none
	 * (core(5)). It can fail only where the limit is lower, which is as good. */
	const struct rlimit none = { 1, 1 };
	IGNORE(setrlimit(RLIMIT_CORE, &none));
}
