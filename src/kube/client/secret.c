/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets in memory that is wiped, and the two ways they are read: files and base64. */
#include "kube/client/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text/base64.h"

void kube_secret_done(struct kube_secret *secret)
{
	if (secret->p != NULL)
		explicit_bzero(secret->p, secret->n);
	free(secret->p);
	*secret = (struct kube_secret){ 0 };
}

void kube_secret_set(struct kube_secret *secret, struct slice value)
{
	char *p = xmalloc(value.n + 1);
	if (value.n != 0)
		memcpy(p, value.p, value.n);
	p[value.n] = '\0';
	kube_secret_done(secret);
	*secret = (struct kube_secret){ p, value.n };
}

bool kube_secret_eq(const struct kube_secret *left, const struct kube_secret *right)
{
	return slice_eq(kube_secret_slice(left), kube_secret_slice(right));
}

void kube_secret_wipe(struct strbuf *out)
{
	if (out->cap != 0)
		explicit_bzero(out->s, out->cap);
	strbuf_done(out);
}

void kube_secret_wipe_tree(json_t *value)
{
	const char *key;
	json_t *child;
	size_t i;
	if (json_is_string(value)) {
		/* Ours alone: nobody reads the text any more. */
		explicit_bzero((char *)(uintptr_t)api_text(value), json_string_length(value));
	}
	json_array_foreach (value, i, child)
		kube_secret_wipe_tree(json_incref(child));
	json_object_foreach (value, key, child)
		kube_secret_wipe_tree(json_incref(child));
	json_decref(value);
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

static int read_all(int fd, size_t cap, struct kube_secret *secret)
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
		if (secret->n > KUBE_SECRET_MAX_BYTES)
			return ERR_LIMIT;
	}
}

int kube_secret_read(const char *path, struct kube_secret *ret)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_size < 0 || st.st_size > KUBE_SECRET_MAX_BYTES)
		st.st_size = 0;
	size_t cap = (size_t)st.st_size + 512;
	struct kube_secret s = { xmalloc(cap + 1), 0 };
	int r = read_all(fd, cap, &s);
	close(fd);
	if (r < 0) {
		kube_secret_done(&s);
		return r;
	}
	s.p[s.n] = '\0';
	kube_secret_done(ret);
	*ret = s;
	return 0;
}

/* ---- base64 ---- */

int kube_secret_base64(struct slice text, struct kube_secret *ret)
{
	struct kube_secret s = { xmalloc(text.n / 4 * 3 + 4), 0 };
	ssize_t n = base64_decode_to((uint8_t *)s.p, text);
	s.n = n < 0 ? text.n / 4 * 3 : (size_t)n; /* all that may have been written is wiped */
	s.p[s.n] = '\0';
	if (n < 0) {
		kube_secret_done(&s);
		return (int)n;
	}
	kube_secret_done(ret);
	*ret = s;
	return 0;
}
