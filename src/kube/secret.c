/* Memory of secrets, and the two ways they come in: files and base64. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/secret_priv.h"

void kube_secret_done(struct kube_secret *s)
{
	if (s->p != NULL)
		explicit_bzero(s->p, s->n);
	free(s->p);
	*s = (struct kube_secret){ 0 };
}

void kube_secret_set(struct kube_secret *s, struct slice v)
{
	char *p = xmalloc(v.n + 1);
	if (v.n != 0)
		memcpy(p, v.p, v.n);
	p[v.n] = '\0';
	kube_secret_done(s);
	*s = (struct kube_secret){ p, v.n };
}

bool kube_secret_eq(const struct kube_secret *a, const struct kube_secret *b)
{
	return slice_eq(kube_secret_slice(a), kube_secret_slice(b));
}

void kube_secret_wipe(struct strbuf *b)
{
	if (b->cap != 0)
		explicit_bzero(b->s, b->cap);
	strbuf_done(b);
}

void kube_secret_wipe_tree(json_t *v)
{
	const char *key;
	json_t *child;
	size_t i;
	if (json_is_string(v)) {
		/* Ours alone: nobody reads the text any more. */
		explicit_bzero((char *)(uintptr_t)api_text(v), json_string_length(v));
	}
	json_array_foreach (v, i, child)
		kube_secret_wipe_tree(json_incref(child));
	json_object_foreach (v, key, child)
		kube_secret_wipe_tree(json_incref(child));
	json_decref(v);
}

/* ---- files ---- */

/* Twice the room; the old bytes are wiped, which realloc would not do. */
static char *grown(char *p, size_t n, size_t cap)
{
	char *bigger = xmalloc(cap * 2 + 1);
	memcpy(bigger, p, n);
	explicit_bzero(p, n);
	free(p);
	return bigger;
}

static int read_all(int fd, size_t cap, struct kube_secret *s)
{
	for (;;) {
		if (s->n == cap) {
			s->p = grown(s->p, s->n, cap);
			cap *= 2;
		}
		ssize_t n = read(fd, s->p + s->n, cap - s->n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		s->n += (size_t)n;
		if (s->n > KUBE_SECRET_MAX_BYTES)
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
