/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watching certificate files. */
#include "server/conn/certs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/crypto/digest.h"
#include "server/resource.h"
#include "net/task.h"

#define AREA	 "plugin/tls"
#define CHECK_NS (5 * NS_PER_S)

enum { FILE_CERT, FILE_KEY, FILE_CA, N_FILES, FILE_MAX_BYTES = 4 << 20, WHY_BYTES = 512 };

/* By this a changed file is recognised. */
struct stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime;
};

struct certs {
	char *file[N_FILES]; /* the CA's may be NULL */
	char *keylog;	     /* may be NULL */
	enum net_tls_auth auth;
	struct stamp stamp[N_FILES];		      /* of what is in force */
	uint8_t digest[N_FILES][DIGEST_SHA512_BYTES]; /* when it was opened */
	pthread_mutex_t lock;			      /* guards cred */
	struct net_tls_cred *cred;
	char logged_failure[WHY_BYTES]; /* the last failure that was logged */
	struct resource *res;		/* NULL: not shared */
};

static struct net_tls_files files_of(const struct certs *certs)
{
	return (struct net_tls_files){ .cert = certs->file[FILE_CERT],
				       .key = certs->file[FILE_KEY],
				       .ca = certs->file[FILE_CA],
				       .auth = certs->auth,
				       .keylog = certs->keylog };
}

static void read_stamps(const struct certs *certs, struct stamp out[N_FILES])
{
	memset(out, 0, N_FILES * sizeof(*out));
	for (int i = 0; i < N_FILES; i++) {
		struct stat st;
		if (certs->file[i] == NULL || stat(certs->file[i], &st) < 0)
			continue;
		out[i].dev = st.st_dev;
		out[i].ino = st.st_ino;
		out[i].size = st.st_size;
		out[i].mtime = st.st_mtim;
	}
}

/* Loads the files as they are now. The stamps are older than the contents: a change in between is
 * seen by the next check. */
static int load_files(struct certs *certs, struct err_text err)
{
	struct stamp stamp[N_FILES];
	struct net_tls_cred *fresh = NULL;
	struct net_tls_files f = files_of(certs);
	read_stamps(certs, stamp);
	int r = net_tls_server_cred(&f, &fresh, err);
	if (r < 0)
		return r;
	pthread_mutex_lock(&certs->lock);
	struct net_tls_cred *old = certs->cred;
	certs->cred = fresh;
	pthread_mutex_unlock(&certs->lock);
	net_tls_cred_unref(old);
	memcpy(certs->stamp, stamp, sizeof(stamp));
	return 0;
}

static void on_task(void *ctx)
{
	struct certs *certs = ctx;
	struct stamp stamp[N_FILES];
	char why[WHY_BYTES];
	read_stamps(certs, stamp);
	if (memcmp(stamp, certs->stamp, sizeof(stamp)) == 0)
		return;
	if (load_files(certs, ERR_TEXT(why)) == 0) {
		certs->logged_failure[0] = '\0';
		log_info(AREA, "certificate '%s' was read again", certs->file[FILE_CERT]);
		return;
	}
	if (strcmp(why, certs->logged_failure) == 0)
		return; /* logged once; loading is tried again every time */
	snprintf(certs->logged_failure, sizeof(certs->logged_failure), "%s", why);
	log_error(AREA, "%s; the certificate read before stays in use", why);
}

static void certs_free(void *value)
{
	struct certs *certs = value;
	net_tls_cred_unref(certs->cred);
	pthread_mutex_destroy(&certs->lock);
	for (int i = 0; i < N_FILES; i++)
		free(certs->file[i]);
	free(certs->keylog);
	free(certs);
}

/* For certs_conflict. A file that cannot be read has failed before. */
static void digest_file(const char *file, uint8_t out[DIGEST_SHA512_BYTES])
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (file != NULL && readfile_path(file, FILE_MAX_BYTES, 0, &text) == 0)
		digest_sha512(text.s, text.n, out);
}

static char *dup_or_null(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

struct make_args {
	const struct net_tls_files *files;
	bool dry;
	struct err_text err;
};

/* Without an owner for tasks (a dry run) the files are read once. */
static int make_certs(void *arg, struct task_owner *tasks, void **ret_value)
{
	const struct make_args *a = arg;
	struct certs *certs = xcalloc(1, sizeof(*certs));
	pthread_mutex_init(&certs->lock, NULL);
	certs->file[FILE_CERT] = xstrdup(a->files->cert);
	certs->file[FILE_KEY] = xstrdup(a->files->key);
	certs->file[FILE_CA] = dup_or_null(a->files->ca);
	certs->keylog = a->dry ? NULL : dup_or_null(a->files->keylog);
	certs->auth = a->files->auth;
	int r = load_files(certs, a->err);
	if (r < 0) {
		certs_free(certs);
		return r;
	}
	for (int i = 0; i < N_FILES; i++)
		digest_file(certs->file[i], certs->digest[i]);
	if (tasks != NULL)
		task_every(tasks, CHECK_NS, on_task, certs);
	*ret_value = certs;
	return 0;
}

static const char *or_none(const char *text)
{
	return text != NULL ? text : "";
}

/* Shared by what was read, too: a configuration that names files that have changed gets new ones.
 */
static char *key_of(const struct net_tls_files *files)
{
	struct strbuf key = STRBUF_INIT;
	const char *const names[] = { files->cert, files->key, or_none(files->ca),
				      or_none(files->keylog) };
	strbuf_addf(&key, "tls %d", (int)files->auth);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct stat st = { 0 };
		if (names[i] != files->keylog && names[i][0] != '\0')
			IGNORE(stat(names[i], &st) < 0); /* loading it returns the error */
		strbuf_addf(&key, " %s|%ju.%ju|%jd.%ld|%jd", names[i], (uintmax_t)st.st_dev,
			    (uintmax_t)st.st_ino, (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
			    (intmax_t)st.st_size);
	}
	return strbuf_take(&key);
}

int certs_open(const struct net_tls_files *files, bool dry, struct certs **ret, struct err_text err)
{
	struct make_args args = { .files = files, .dry = dry, .err = err };
	void *value = NULL;
	if (dry) {
		int r = make_certs(&args, NULL, &value);
		if (r == 0)
			*ret = value;
		return r;
	}
	CLEANUP(freep) char *key = key_of(files);
	struct resource *res = NULL;
	int r = resource_get(key, make_certs, &args, certs_free, &res);
	if (r < 0)
		return r;
	*ret = res->value;
	(*ret)->res = res;
	return 0;
}

void certs_close(struct certs *certs)
{
	if (certs == NULL)
		return;
	if (certs->res != NULL)
		resource_put(certs->res);
	else
		certs_free(certs);
}

struct net_tls_cred *certs_cred(struct certs *certs)
{
	pthread_mutex_lock(&certs->lock);
	struct net_tls_cred *cred = net_tls_cred_ref(certs->cred);
	pthread_mutex_unlock(&certs->lock);
	return cred;
}

static bool same_digest(const struct certs *left, const struct certs *right, int file)
{
	return memcmp(left->digest[file], right->digest[file], DIGEST_SHA512_BYTES) == 0;
}

const char *certs_conflict(const struct certs *left, const struct certs *right)
{
	if (left == right)
		return NULL;
	if (left == NULL || right == NULL)
		return "TLS is configured for only one server block";
	if (left->auth != right->auth)
		return "client authentication policies differ";
	if (!same_digest(left, right, FILE_CA))
		return "client CA pools differ";
	return same_digest(left, right, FILE_CERT) ? NULL : "server certificates differ";
}
