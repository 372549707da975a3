/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches the ConfigMap that holds the Corefile, and keeps a copy of it on disk. The reflector's thread
 * stores the newest state under the lock and makes the descriptor readable; configmap_load reads it. */
#include "corefile_source/configmap_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "corefile_source/corefile_source.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer.h"

#define AREA	     "configmap"
#define WAIT_NS	     (30 * NS_PER_S)
#define WAIT_COPY_NS (3 * NS_PER_S)
#define BACKOFF_NS \
	(10 * NS_PER_S) /* one small object: it may be asked for more often than lists \
			 */
enum { SLICE_MS = 50, NAME_MAX_BYTES = 253 };

enum state {
	UNKNOWN, /* no answer yet */
	ABSENT,
	KEYLESS,
	HERE,
};

struct configmap {
	struct configmap_conf conf;
	char *ns, *name, *key, *kubeconfig, *shown;
	char *dir, *copy; /* of the copy, or NULL */
	struct strbuf loaded;
	struct strbuf saved; /* what the copy holds, as far as we know */
	bool waited;
	int fd;
	struct kube_client *client;
	struct kube_informer *informer;
	/* Guards all below, shared with the reflector's thread. */
	pthread_mutex_t lock;
	enum state state;
	struct strbuf text; /* HERE */
	bool has_error;	    /* since the last state that was heard of */
	char last_error[512];
};

/* ---- the reflector's thread ---- */

static void signal_change(const struct configmap *configmap)
{
	uint64_t one = 1;
	IGNORE(write(configmap->fd, &one, sizeof(one)) < 0); /* it rings already then */
}

static void set_state(struct configmap *configmap, enum state state, struct slice text)
{
	pthread_mutex_lock(&configmap->lock);
	configmap->has_error = false;
	configmap->state = state;
	strbuf_reset(&configmap->text);
	strbuf_add_slice(&configmap->text, text);
	pthread_mutex_unlock(&configmap->lock);
	signal_change(configmap);
}

static void on_object(void *ctx, struct kube_obj *obj)
{
	struct configmap *m = ctx;
	const json_t *text = json_object_get(json_object_get(kube_tree_of(obj), "data"), m->key);
	if (strcmp(obj->name, m->name) != 0)
		return;
	if (json_is_string(text))
		set_state(m, HERE, api_text_slice(text));
	else
		set_state(m, KEYLESS, SLICE(""));
}

static void on_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	(void)old;
	on_object(ctx, obj);
}

static void on_deleted(void *ctx, struct kube_obj *last)
{
	(void)last;
	set_state(ctx, ABSENT, SLICE(""));
}

static void on_synced(void *ctx)
{
	struct configmap *m = ctx;
	pthread_mutex_lock(&m->lock);
	bool none = m->state == UNKNOWN;
	pthread_mutex_unlock(&m->lock);
	if (none)
		set_state(m, ABSENT, SLICE(""));
}

static void note_error(void *ctx, const char *text)
{
	static struct log_limit limit = { .interval_ns = 60 * NS_PER_S };
	struct configmap *m = ctx;
	pthread_mutex_lock(&m->lock);
	m->has_error = true;
	snprintf(m->last_error, sizeof(m->last_error), "%s", text);
	pthread_mutex_unlock(&m->lock);
	log_limited(&limit, LOG_WARNING, AREA, "%s: %s", m->shown, text);
	signal_change(m);
}

/* ---- the copy ---- */

static bool has_copy(const struct configmap *configmap)
{
	return configmap->copy != NULL && access(configmap->copy, R_OK) == 0;
}

int configmap_last_good(struct configmap *configmap, struct strbuf *out, struct err_text why)
{
	strbuf_reset(out);
	int r = configmap->copy != NULL
			? readfile_path(configmap->copy, COREFILE_SOURCE_MAX_BYTES, 0, out)
			: ERR_NOTFOUND;
	if (r < 0)
		err_text_set(why, "no last good copy of %s: %s", configmap->shown, err_str(r));
	return r;
}

static int write_all(int fd, struct slice text)
{
	while (text.n != 0) {
		ssize_t n = write(fd, text.p, text.n);
		if (n < 0 && errno != EINTR)
			return -errno;
		text = slice_from(text, n > 0 ? (size_t)n : 0);
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* Writes a new file and renames it over the old one: the next start finds one of the two complete.
 * */
static int save_copy(const struct configmap *configmap, struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf tmp = STRBUF_INIT;
	if (mkdir(configmap->dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	strbuf_addf(&tmp, "%s.new", configmap->copy);
	int fd = open(tmp.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	int r = write_all(fd, text);
	close(fd);
	if (r == 0 && rename(tmp.s, configmap->copy) < 0)
		r = -errno;
	if (r < 0)
		unlink(tmp.s);
	return r;
}

void configmap_accepted(struct configmap *configmap)
{
	struct slice text = strbuf_slice(&configmap->loaded);
	if (configmap->copy == NULL ||
	    (has_copy(configmap) && slice_eq(text, strbuf_slice(&configmap->saved))))
		return;
	int r = save_copy(configmap, text);
	if (r < 0) {
		log_warn(AREA, "cannot keep a copy of %s in '%s', a start needs the API: %s",
			 configmap->shown, configmap->copy, err_str(r));
		return;
	}
	strbuf_reset(&configmap->saved);
	strbuf_add_slice(&configmap->saved, text);
}

/* ---- loading ---- */

static int start_watch(struct configmap *configmap, struct err_text why)
{
	const char *path[] = { "data" };
	CLEANUP(strbuf_done) struct strbuf fields = STRBUF_INIT;
	struct kube_config *config;
	int r = configmap->kubeconfig != NULL
			? kube_config_load(configmap->kubeconfig, NULL, &config, why)
			: kube_config_in_cluster(NULL, &config, why);
	if (r < 0)
		return r;
	configmap->client = kube_client_new(config);
	const struct api_kind *kind = api_kind_find("", "ConfigMap");
	strbuf_addf(&fields, "metadata.name=%s", configmap->name);
	configmap->informer = kube_informer_new(&(struct kube_informer_conf){
		.client = configmap->client,
		.kind = kind,
		.ns = configmap->ns,
		.fields = fields.s,
		.codec = kube_tree_codec(kind, path, ARRAY_LEN(path)),
		.times = { .backoff_min_ns = configmap->conf.backoff_ns,
			   .backoff_max_ns = BACKOFF_NS },
	});
	kube_informer_handle(configmap->informer, &(struct kube_handler){ .added = on_object,
									  .updated = on_updated,
									  .deleted = on_deleted,
									  .synced = on_synced,
									  .on_error = note_error,
									  .ctx = configmap });
	r = kube_informer_start(configmap->informer, why);
	if (r < 0) {
		kube_informer_free(TAKE_PTR(configmap->informer));
		kube_client_free(TAKE_PTR(configmap->client));
	}
	return r;
}

static bool told_to_end(void)
{
	sigset_t set;
	return sigpending(&set) == 0 &&
	       (sigismember(&set, SIGTERM) == 1 || sigismember(&set, SIGINT) == 1 ||
		sigismember(&set, SIGQUIT) == 1);
}

/* At a start. A missing object may still be created. */
static void wait_for_text(struct configmap *configmap)
{
	bool copy = has_copy(configmap);
	uint64_t end =
		clock_mono_ns() + (copy ? configmap->conf.wait_copy_ns : configmap->conf.wait_ns);
	struct pollfd p = { .fd = configmap->fd, .events = POLLIN };
	while (clock_mono_ns() < end && !told_to_end()) {
		pthread_mutex_lock(&configmap->lock);
		bool enough = configmap->state == HERE ||
			      (copy && (configmap->state != UNKNOWN || configmap->has_error));
		pthread_mutex_unlock(&configmap->lock);
		if (enough)
			return;
		poll(&p, 1, SLICE_MS);
		IGNORE(configmap_changed(configmap));
	}
}

static int take_corefile(struct configmap *configmap, struct err_text why)
{
	switch (configmap->state) {
	case HERE:
		strbuf_reset(&configmap->loaded);
		strbuf_add_slice(&configmap->loaded, strbuf_slice(&configmap->text));
		return 0;
	case KEYLESS:
		err_text_set(why, "ConfigMap %s/%s has no key '%s'", configmap->ns, configmap->name,
			     configmap->key);
		return ERR_NOTFOUND;
	case ABSENT:
		err_text_set(why, "ConfigMap %s/%s does not exist", configmap->ns, configmap->name);
		return ERR_NOTFOUND;
	case UNKNOWN:
		break;
	}
	err_text_set(why, "cannot read ConfigMap %s/%s: %s", configmap->ns, configmap->name,
		     configmap->last_error[0] != '\0' ? configmap->last_error
						      : "no answer in time");
	return ERR_TIMEOUT;
}

int configmap_load(struct configmap *configmap, struct strbuf *out, struct err_text why)
{
	int r = configmap->informer == NULL ? start_watch(configmap, why) : 0;
	if (r < 0)
		return r;
	if (!configmap->waited)
		wait_for_text(configmap);
	configmap->waited = true;
	pthread_mutex_lock(&configmap->lock);
	r = take_corefile(configmap, why);
	pthread_mutex_unlock(&configmap->lock);
	if (r == 0) {
		strbuf_reset(out);
		strbuf_add_slice(out, strbuf_slice(&configmap->loaded));
	}
	return r;
}

int configmap_fd(const struct configmap *configmap)
{
	return configmap->fd;
}

bool configmap_changed(struct configmap *configmap)
{
	uint64_t n;
	return read(configmap->fd, &n, sizeof(n)) == (ssize_t)sizeof(n);
}

/* ---- life ---- */

/* Names of objects, and keys of data, which may have upper case and '_' too. */
static bool is_name(struct slice text, bool key)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (!ascii_isdigit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '.' &&
		    !(key && (ascii_isalpha(c) || c == '_')))
			return false;
	}
	return text.n != 0 && text.n <= NAME_MAX_BYTES && text.p[0] != '.';
}

static bool parse_where(struct configmap *configmap, const char *where)
{
	struct slice rest = slice_of(where);
	struct slice ns = slice_cut(&rest, '/');
	struct slice name = slice_cut(&rest, '/');
	struct slice key = rest.p != NULL ? rest : SLICE("Corefile");
	if (!is_name(ns, false) || !is_name(name, false) || !is_name(key, true))
		return false;
	configmap->ns = xstrndup(ns.p, ns.n);
	configmap->name = xstrndup(name.p, name.n);
	configmap->key = xstrndup(key.p, key.n);
	return true;
}

int configmap_new(const struct configmap_conf *conf, struct configmap **ret, struct err_text err)
{
	struct configmap *m = xcalloc(1, sizeof(*m));
	if (!parse_where(m, conf->where)) {
		free(m);
		err_text_set(err, "expected configmap:NAMESPACE/NAME[/KEY], got 'configmap:%s'",
			     conf->where);
		return ERR_CONFIG;
	}
	m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->fd < 0)
		abort(); /* the first descriptors of a program */
	m->conf = *conf;
	m->conf.wait_ns = conf->wait_ns != 0 ? conf->wait_ns : WAIT_NS;
	m->conf.wait_copy_ns = conf->wait_copy_ns != 0 ? conf->wait_copy_ns : WAIT_COPY_NS;
	m->kubeconfig = conf->kubeconfig != NULL ? xstrdup(conf->kubeconfig) : NULL;
	m->shown = xasprintf("configmap:%s/%s/%s", m->ns, m->name, m->key);
	m->dir = conf->state_dir != NULL ? xstrdup(conf->state_dir) : NULL;
	if (conf->state_dir != NULL)
		m->copy =
			xasprintf("%s/configmap_%s_%s_%s", conf->state_dir, m->ns, m->name, m->key);
	strbuf_init(&m->loaded);
	strbuf_init(&m->saved);
	strbuf_init(&m->text);
	pthread_mutex_init(&m->lock, NULL);
	*ret = m;
	return 0;
}

void configmap_free(struct configmap *configmap)
{
	if (configmap == NULL)
		return;
	kube_informer_free(configmap->informer);
	kube_client_free(configmap->client);
	pthread_mutex_destroy(&configmap->lock);
	close(configmap->fd);
	strbuf_done(&configmap->loaded);
	strbuf_done(&configmap->saved);
	strbuf_done(&configmap->text);
	free(configmap->ns);
	free(configmap->name);
	free(configmap->key);
	free(configmap->kubeconfig);
	free(configmap->shown);
	free(configmap->dir);
	free(configmap->copy);
	free(configmap);
}

const char *configmap_name(const struct configmap *configmap)
{
	return configmap->shown;
}
