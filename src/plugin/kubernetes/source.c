/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API server's objects, kept in an index by informers. Stanzas that ask for the same share one
 * source, which outlives reloads. */
#include "plugin/kubernetes/source.h"
#include "plugin/kubernetes/source_test.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer.h"
#include "net/addr.h"
#include "plugin/kubernetes/programming_latency.h"
#include "plugin/kubernetes/objects/informer_age.h"
#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/search_path.h"
#include "plugin/kubernetes/snapshot_keeper.h"
#include "plugin/shared/kubeaccess.h"
#include "server/resource.h"

enum {
	SERVICES = KUBERNETES_SERVICES,
	SLICES = KUBERNETES_SLICES,
	NAMESPACES = KUBERNETES_NAMESPACES,
	PODS = KUBERNETES_PODS,
	IMPORTS = KUBERNETES_IMPORTS,
	IMPORTED_SLICES = KUBERNETES_IMPORTED_SLICES,
	N_INFORMERS = KUBERNETES_KINDS,
};

struct kubernetes_source {
	struct kube_client *client;
	struct kube_string_pool *texts;
	struct kube_informer *informer[N_INFORMERS]; /* NULL: not asked for */
	struct kube_server_memory memory;
	struct kubernetes_index *index, *imports;
	struct kubernetes_snapshot_keeper *snapshots; /* NULL: without snapshots */
	struct kubernetes_informer_age *age;
	const struct kubernetes_preset
		*preset; /* not NULL: no API server, the indexes are not ours */
};

/* ---- from informers to the index ---- */

static void service_added(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_service(ctx, NULL, obj);
}
static void service_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	kubernetes_index_service(ctx, old, obj);
}
static void service_deleted(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_service(ctx, obj, NULL);
}

static void slice_added(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_slice(ctx, NULL, obj);
	kubernetes_programming_latency_observe(ctx, kube_slice_of(obj));
}
static void slice_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	kubernetes_index_slice(ctx, old, obj);
	kubernetes_programming_latency_observe(ctx, kube_slice_of(obj));
}
static void slice_deleted(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_slice(ctx, obj, NULL);
	kubernetes_programming_latency_observe(ctx, kube_slice_of(obj));
}

static void pod_added(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_pod(ctx, NULL, obj);
}
static void pod_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	kubernetes_index_pod(ctx, old, obj);
}
static void pod_deleted(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_pod(ctx, obj, NULL);
}

static void namespace_added(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_namespace(ctx, slice_of(obj->name), true);
	kubernetes_set_search_lists(ctx, NULL, obj);
}
static void namespace_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	kubernetes_set_search_lists(ctx, old, obj);
}
static void namespace_deleted(void *ctx, struct kube_obj *obj)
{
	kubernetes_index_namespace(ctx, slice_of(obj->name), false);
	kubernetes_set_search_lists(ctx, obj, NULL);
}

static void log_informer_error(void *ctx, const char *text)
{
	(void)ctx;
	log_warn(KUBERNETES_AREA, "%s", text);
}

#define HANDLER(what)                                                                        \
	{                                                                                    \
		.added = what##_added, .updated = what##_updated, .deleted = what##_deleted, \
		.on_error = log_informer_error                                               \
	}

/* What is watched, and what happens with it. */
static const struct {
	const char *group, *kind;
	const char *fields; /* selector */
	bool labelled;	    /* by the option `labels` */
	struct kube_handler handler;
} watched[N_INFORMERS] = {
	[SERVICES] = { "", "Service", NULL, true, HANDLER(service) },
	[SLICES] = { "discovery.k8s.io", "EndpointSlice", NULL, true, HANDLER(slice) },
	[NAMESPACES] = { "", "Namespace", NULL, false, HANDLER(namespace) },
	[PODS] = { "", "Pod", "status.phase!=Succeeded,status.phase!=Failed,status.phase!=Unknown",
		   true, HANDLER(pod) },
	[IMPORTS] = { "multicluster.x-k8s.io", "ServiceImport", NULL, false, HANDLER(service) },
	[IMPORTED_SLICES] = { "discovery.k8s.io", "EndpointSlice", NULL, true, HANDLER(slice) },
};

static bool is_wanted(const struct kubernetes_conf *conf, int index)
{
	switch (index) {
	case SLICES:
		return !conf->noendpoints;
	case PODS:
		return conf->pods == KUBERNETES_PODS_VERIFIED;
	case IMPORTS:
	case IMPORTED_SLICES:
		return conf->multicluster.n != 0;
	default:
		return true;
	}
}

/* Selector of labels; in `out` when it is made here. */
static const char *labels_of(const struct kubernetes_conf *conf, int index, struct strbuf *out)
{
	/* As CoreDNS has it: ServiceImports are selected by the options for namespaces. */
	if (index == NAMESPACES || index == IMPORTS)
		return conf->namespace_labels;
	if (index != IMPORTED_SLICES)
		return watched[index].labelled ? conf->labels : NULL;
	strbuf_addf(out, "%s%smulticluster.kubernetes.io/service-name",
		    conf->labels != NULL ? conf->labels : "", conf->labels != NULL ? "," : "");
	return out->s;
}

static struct kube_codec *codec_of(const struct kubernetes_source *source,
				   const struct kubernetes_conf *conf, int index)
{
	static const char *const search[] = {
		"metadata.annotations[" KUBERNETES_SEARCH_LIST_KEY "]",
		"metadata.annotations[" KUBERNETES_SEARCH_LISTS_KEY "]",
	};
	unsigned keep = (conf->zonal ? KUBE_SLICE_ZONES : 0U) |
			(conf->endpoint_pod_names ? KUBE_SLICE_TARGETS : 0U);
	switch (index) {
	case SERVICES:
		return kube_service_codec(source->texts);
	case SLICES:
		return kube_slice_codec(source->texts, keep);
	case PODS:
		return kube_pod_codec(source->texts);
	case IMPORTS:
		return kube_import_codec(source->texts);
	case IMPORTED_SLICES:
		return kube_imported_slice_codec(source->texts, keep & KUBE_SLICE_TARGETS);
	default:
		return kube_tree_codec(api_kind_find("", "Namespace"), search, ARRAY_LEN(search));
	}
}

/* ---- life ---- */

static void source_free(void *value)
{
	struct kubernetes_source *s = value;
	kubernetes_snapshot_keeper_stop(s->snapshots);
	kubernetes_informer_age_free(s->age);
	for (int i = 0; i < N_INFORMERS; i++)
		kube_informer_free(s->informer[i]);
	kube_client_free(s->client);
	kubernetes_snapshot_keeper_free(s->snapshots);
	/* No generation that could read it is left. */
	if (s->preset == NULL) {
		kubernetes_index_free(s->index);
		kubernetes_index_free(s->imports);
	}
	kube_string_pool_free(s->texts);
	free(s);
}

/* Where a kind's objects go. */
static struct kubernetes_index *index_of(const struct kubernetes_source *source, int index)
{
	return index == IMPORTS || index == IMPORTED_SLICES ? source->imports : source->index;
}

static int start_informer(struct kubernetes_source *source, const struct kubernetes_conf *conf,
			  int index, struct err_text err)
{
	struct kube_handler h = watched[index].handler;
	CLEANUP(strbuf_done) struct strbuf labels = STRBUF_INIT;
	struct kube_informer_conf ic = {
		.client = source->client,
		.kind = api_kind_find(watched[index].group, watched[index].kind),
		.labels = labels_of(conf, index, &labels),
		.fields = watched[index].fields,
		.codec = codec_of(source, conf, index),
		.memory = &source->memory,
	};
	h.ctx = index_of(source, index);
	if (source->snapshots != NULL)
		h = kubernetes_snapshot_keeper_handler(source->snapshots,
						       (enum kubernetes_kind)index);
	source->informer[index] = kube_informer_new(&ic);
	kube_informer_handle(source->informer[index], &h);
	return kube_informer_start(source->informer[index], err);
}

/* Before the informers start, which then replace the snapshot's objects. */
static void read_snapshot(struct kubernetes_source *source, const struct kubernetes_conf *conf,
			  const char *key)
{
	struct kubernetes_snapshot_keeper_conf sc = { .path = conf->snapshot,
						      .source = key,
						      .every_ns = (uint64_t)conf->snapshot_ns };
	for (int i = 0; i < N_INFORMERS; i++) {
		sc.codec[i] = is_wanted(conf, i) ? codec_of(source, conf, i) : NULL;
		sc.handler[i] = watched[i].handler;
		sc.handler[i].ctx = index_of(source, i);
	}
	source->snapshots = kubernetes_snapshot_keeper_new(&sc);
	for (int i = 0; i < N_INFORMERS; i++)
		kube_codec_free(sc.codec[i]);
}

static const struct kubernetes_preset *preset;

void kubernetes_source_preset(const struct kubernetes_preset *kubernetes_preset)
{
	preset = kubernetes_preset;
}

struct make {
	const struct kubernetes_conf *conf;
	const char *key;
	char err[512];
};

static int source_make(void *arg, struct task_owner *tasks, void **ret)
{
	(void)tasks;
	struct make *m = arg;
	struct kube_config *config;
	if (preset != NULL) {
		struct kubernetes_source *s = xcalloc(1, sizeof(*s));
		s->preset = preset;
		s->index = preset->index;
		s->imports = preset->imports;
		*ret = s;
		return 0;
	}
	const struct kubernetes_conf *conf = m->conf;
	int r = kubeaccess_open(&(struct kubeaccess){ conf->kubeconfig, conf->context,
						      conf->endpoint, conf->cert, conf->key,
						      conf->ca },
				&config, ERR_TEXT(m->err));
	if (r < 0)
		return r;
	struct kubernetes_source *s = xcalloc(1, sizeof(*s));
	s->client = kube_client_new(config);
	s->texts = kube_string_pool_new();
	s->index = kubernetes_index_new();
	s->imports = m->conf->multicluster.n != 0 ? kubernetes_index_new() : NULL;
	if (m->conf->snapshot != NULL)
		read_snapshot(s, m->conf, m->key);
	for (int i = 0; i < N_INFORMERS && r >= 0; i++) {
		if (is_wanted(m->conf, i))
			r = start_informer(s, m->conf, i, ERR_TEXT(m->err));
	}
	if (r < 0) {
		source_free(s);
		return r;
	}
	if (s->snapshots != NULL)
		kubernetes_snapshot_keeper_start(s->snapshots, s->informer);
	s->age = kubernetes_informer_age_new(kube_config_server(kube_client_config(s->client)),
					     s->informer);
	*ret = s;
	return 0;
}

/* Everything that decides what is in the index. */
static char *key_of(const struct kubernetes_conf *conf)
{
	const char *parts[] = { conf->endpoint,	  conf->cert,
				conf->key,	  conf->ca,
				conf->kubeconfig, conf->context,
				conf->labels,	  conf->namespace_labels,
				conf->snapshot };
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, "kubernetes %d %d %d %d %d", conf->noendpoints, conf->zonal,
		    conf->endpoint_pod_names, conf->pods == KUBERNETES_PODS_VERIFIED,
		    conf->multicluster.n != 0);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		strbuf_addc(&b, ' ');
		strbuf_add_quoted(&b, slice_of(parts[i] != NULL ? parts[i] : ""));
	}
	return strbuf_take(&b);
}

static void add_local_ip(struct kubernetes_conf *conf, const struct kube_ip *ip)
{
	conf->local = xreallocarray(conf->local, conf->n_local + 1, sizeof(*conf->local));
	conf->local[conf->n_local++] = *ip;
}

static void add_local(struct kubernetes_conf *conf, const struct sockaddr *sa)
{
	struct kube_ip ip = { .b = { [10] = 0xff, [11] = 0xff } };
	static const struct kube_ip loopback6 = { .b = { [15] = 1 } };
	if (sa->sa_family == AF_INET)
		memcpy(ip.b + 12, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
	else
		memcpy(ip.b, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
	if ((kube_ip_is4(&ip) && ip.b[12] == 127) || memcmp(&ip, &loopback6, sizeof(ip)) == 0)
		return;
	add_local_ip(conf, &ip);
}

static void add_interfaces(struct kubernetes_conf *conf)
{
	struct ifaddrs *list = NULL;
	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		const struct sockaddr *sa = i->ifa_addr;
		if (sa != NULL && (sa->sa_family == AF_INET || sa->sa_family == AF_INET6))
			add_local(conf, sa);
	}
	freeifaddrs(list);
}

static bool is_any(const union net_addr *addr)
{
	static const uint8_t zeros[16];
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	return memcmp(bytes, zeros, n) == 0;
}

/* Addresses that the block listens on, less loopback: endpoints with one of them are ourselves. */
static void find_local(struct kubernetes_conf *conf, const struct block_conf *block_conf)
{
	bool all = block_conf->n_listen == 0;
	for (size_t i = 0; i < block_conf->n_listen; i++) {
		union net_addr a;
		if (net_addr_parse_ip(slice_of(block_conf->listen[i]), &a) < 0)
			continue;
		all = all || is_any(&a);
		if (!is_any(&a))
			add_local(conf, &a.sa);
	}
	if (!all)
		return;
	free(conf->local);
	conf->local = NULL;
	conf->n_local = 0;
	if (conf->source->preset == NULL)
		add_interfaces(conf);
	else
		add_local_ip(conf, &conf->source->preset->local);
}

int kubernetes_source_get(struct plugin_inst *self, struct prepare *prepare)
{
	struct kubernetes_conf *c = self->conf;
	CLEANUP(freep) char *key = key_of(c);
	struct make m = { .conf = c, .key = key };
	int r = resource_get(key, source_make, &m, source_free, &c->held);
	if (r < 0) {
		srcerr_set(prepare->err, self->pos, "kubernetes: %s",
			   m.err[0] != '\0' ? m.err : err_str(r));
		return r;
	}
	c->source = c->held->value;
	c->index = c->source->index;
	c->imports = c->source->imports;
	find_local(c, block_conf(self->block));
	return 0;
}

void kubernetes_source_use(struct kubernetes_source *source)
{
	kubernetes_snapshot_keeper_use(source->snapshots);
}

void kubernetes_source_put(struct kubernetes_conf *conf)
{
	resource_put(conf->held);
	free(conf->local);
	conf->held = NULL;
	conf->local = NULL;
}

static bool is_synced(const struct kubernetes_source *source)
{
	if (source->preset != NULL)
		return !source->preset->unsynced;
	for (int i = 0; i < N_INFORMERS; i++) {
		if (source->informer[i] != NULL && !kube_informer_synced(source->informer[i]))
			return false;
	}
	return true;
}

bool kubernetes_source_usable(const struct kubernetes_source *source)
{
	return kubernetes_snapshot_keeper_was_read(source->snapshots) || is_synced(source);
}

/* Signals are handled when the start, or the reload, is over; until then they are pending here. */
static bool told_to_end(void)
{
	sigset_t pending;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
		sigismember(&pending, SIGQUIT) == 1);
}

int kubernetes_source_wait(struct kubernetes_source *source, int64_t timeout_ns)
{
	static const uint64_t say_ns = 500 * NS_PER_MS;
	uint64_t now = clock_mono_ns(), end = now + (uint64_t)MAX(timeout_ns, 0),
		 say = now + say_ns;
	while (source->preset == NULL && !is_synced(source)) {
		now = clock_mono_ns();
		if (now >= end) {
			log_warn(KUBERNETES_AREA, "starting server with unsynced Kubernetes API%s",
				 kubernetes_snapshot_keeper_is_serving(source->snapshots)
					 ? ", from a snapshot"
					 : "");
			return 0;
		}
		if (told_to_end())
			return -EINTR;
		if (now >= say) {
			log_info(KUBERNETES_AREA,
				 "waiting for Kubernetes API before starting server");
			say = now + say_ns;
		}
		for (int i = 0; i < N_INFORMERS; i++) {
			uint64_t until = MIN(end, say);
			now = clock_mono_ns();
			if (source->informer[i] != NULL && until > now &&
			    !kube_informer_wait(source->informer[i], until - now))
				break;
		}
	}
	return 0;
}
