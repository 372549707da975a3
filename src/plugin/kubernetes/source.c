/* The API server's objects, kept in an index by informers. Stanzas that ask for the same share one
 * source, which outlives reloads. */
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/informer.h"
#include "kube/tree.h"
#include "net/addr.h"
#include "plugin/kubernetes/conf.h"
#include "plugin/kubernetes/heard.h"
#include "plugin/kubernetes/lists.h"
#include "plugin/kubernetes/stale.h"
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
	struct kube_intern *texts;
	struct kube_informer *informer[N_INFORMERS]; /* NULL: not asked for */
	struct kube_server_memory memory;
	struct kubernetes_index *index, *imports;
	struct kubernetes_stale *stale; /* NULL: without snapshots */
	struct kubernetes_heard *heard;
	const struct kubernetes_preset
		*preset; /* not NULL: no API server, the indexes are not ours */
};

/* ---- from informers to the index ---- */

static void service_added(void *ctx, struct kube_obj *o)
{
	kubernetes_index_service(ctx, NULL, o);
}
static void service_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	kubernetes_index_service(ctx, old, o);
}
static void service_deleted(void *ctx, struct kube_obj *o)
{
	kubernetes_index_service(ctx, o, NULL);
}

static void slice_added(void *ctx, struct kube_obj *o)
{
	kubernetes_index_slice(ctx, NULL, o);
	kubernetes_latency_observe(ctx, kube_slice_of(o));
}
static void slice_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	kubernetes_index_slice(ctx, old, o);
	kubernetes_latency_observe(ctx, kube_slice_of(o));
}
static void slice_deleted(void *ctx, struct kube_obj *o)
{
	kubernetes_index_slice(ctx, o, NULL);
	kubernetes_latency_observe(ctx, kube_slice_of(o));
}

static void pod_added(void *ctx, struct kube_obj *o)
{
	kubernetes_index_pod(ctx, NULL, o);
}
static void pod_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	kubernetes_index_pod(ctx, old, o);
}
static void pod_deleted(void *ctx, struct kube_obj *o)
{
	kubernetes_index_pod(ctx, o, NULL);
}

static void namespace_added(void *ctx, struct kube_obj *o)
{
	kubernetes_index_namespace(ctx, slice_of(o->name), true);
	kubernetes_take_list(ctx, o, true);
}
static void namespace_updated(void *ctx, struct kube_obj *old, struct kube_obj *o)
{
	(void)old;
	kubernetes_take_list(ctx, o, true);
}
static void namespace_deleted(void *ctx, struct kube_obj *o)
{
	kubernetes_index_namespace(ctx, slice_of(o->name), false);
	kubernetes_take_list(ctx, o, false);
}

static void trouble(void *ctx, const char *text)
{
	(void)ctx;
	log_warn(KUBERNETES_AREA, "%s", text);
}

#define HANDLER(what)                                                                        \
	{                                                                                    \
		.added = what##_added, .updated = what##_updated, .deleted = what##_deleted, \
		.trouble = trouble                                                           \
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

static bool is_wanted(const struct kubernetes_conf *c, int i)
{
	switch (i) {
	case SLICES:
		return !c->noendpoints;
	case PODS:
		return c->pods == KUBERNETES_PODS_VERIFIED;
	case IMPORTS:
	case IMPORTED_SLICES:
		return c->multicluster.n != 0;
	default:
		return true;
	}
}

/* Selector of labels; in `out` when it is made here. */
static const char *labels_of(const struct kubernetes_conf *c, int i, struct strbuf *out)
{
	/* As CoreDNS has it: ServiceImports are chosen by what is said for namespaces. */
	if (i == NAMESPACES || i == IMPORTS)
		return c->namespace_labels;
	if (i != IMPORTED_SLICES)
		return watched[i].labelled ? c->labels : NULL;
	strbuf_addf(out, "%s%smulticluster.kubernetes.io/service-name",
		    c->labels != NULL ? c->labels : "", c->labels != NULL ? "," : "");
	return out->s;
}

static struct kube_codec *codec_of(const struct kubernetes_source *s,
				   const struct kubernetes_conf *c, int i)
{
	static const char *const search[] = { "metadata.annotations[" KUBERNETES_LIST_KEY "]" };
	unsigned keep = (c->zonal ? KUBE_SLICE_ZONES : 0U) |
			(c->endpoint_pod_names ? KUBE_SLICE_TARGETS : 0U);
	switch (i) {
	case SERVICES:
		return kube_service_codec(s->texts);
	case SLICES:
		return kube_slice_codec(s->texts, keep);
	case PODS:
		return kube_pod_codec(s->texts);
	case IMPORTS:
		return kube_import_codec(s->texts);
	case IMPORTED_SLICES:
		return kube_imported_slice_codec(s->texts, keep & KUBE_SLICE_TARGETS);
	default:
		return kube_tree_codec(api_kind_find("", "Namespace"), search, ARRAY_LEN(search));
	}
}

/* ---- life ---- */

static void source_free(void *value)
{
	struct kubernetes_source *s = value;
	kubernetes_stale_stop(s->stale);
	kubernetes_heard_free(s->heard);
	for (int i = 0; i < N_INFORMERS; i++)
		kube_informer_free(s->informer[i]);
	kube_client_free(s->client);
	kubernetes_stale_free(s->stale);
	/* No generation that could read it is left. */
	if (s->preset == NULL) {
		kubernetes_index_free(s->index);
		kubernetes_index_free(s->imports);
	}
	kube_intern_free(s->texts);
	free(s);
}

static int open_config(const struct kubernetes_conf *c, struct kube_config **ret, char *err,
		       size_t err_n)
{
	if (c->kubeconfig != NULL)
		return kube_config_load(c->kubeconfig, c->context, ret, err, err_n);
	if (c->endpoint != NULL)
		return kube_config_explicit(c->endpoint, c->cert, c->key, c->ca, ret, err, err_n);
	return kube_config_in_cluster(NULL, ret, err, err_n);
}

/* Where a kind's objects go. */
static struct kubernetes_index *index_of(const struct kubernetes_source *s, int i)
{
	return i == IMPORTS || i == IMPORTED_SLICES ? s->imports : s->index;
}

static int start_informer(struct kubernetes_source *s, const struct kubernetes_conf *c, int i,
			  char *err, size_t err_n)
{
	struct kube_handler h = watched[i].handler;
	CLEANUP(strbuf_done) struct strbuf labels = STRBUF_INIT;
	struct kube_informer_conf ic = {
		.client = s->client,
		.kind = api_kind_find(watched[i].group, watched[i].kind),
		.labels = labels_of(c, i, &labels),
		.fields = watched[i].fields,
		.codec = codec_of(s, c, i),
		.memory = &s->memory,
	};
	h.ctx = index_of(s, i);
	if (s->stale != NULL)
		h = kubernetes_stale_handler(s->stale, (enum kubernetes_kind)i);
	s->informer[i] = kube_informer_new(&ic);
	kube_informer_handle(s->informer[i], &h);
	return kube_informer_start(s->informer[i], err, err_n);
}

/* Before the informers start, which then replace what it said. */
static void read_snapshot(struct kubernetes_source *s, const struct kubernetes_conf *c,
			  const char *key)
{
	struct kubernetes_stale_conf sc = { .path = c->snapshot,
					    .source = key,
					    .every_ns = (uint64_t)c->snapshot_ns };
	for (int i = 0; i < N_INFORMERS; i++) {
		sc.codec[i] = is_wanted(c, i) ? codec_of(s, c, i) : NULL;
		sc.handler[i] = watched[i].handler;
		sc.handler[i].ctx = index_of(s, i);
	}
	s->stale = kubernetes_stale_new(&sc);
	for (int i = 0; i < N_INFORMERS; i++)
		kube_codec_free(sc.codec[i]);
}

static const struct kubernetes_preset *preset;

void kubernetes_source_preset(const struct kubernetes_preset *p)
{
	preset = p;
}

struct make {
	const struct kubernetes_conf *conf;
	const char *key;
	char err[512];
};

static int source_make(void *arg, void **ret)
{
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
	int r = open_config(m->conf, &config, m->err, sizeof(m->err));
	if (r < 0)
		return r;
	struct kubernetes_source *s = xcalloc(1, sizeof(*s));
	s->client = kube_client_new(config);
	s->texts = kube_intern_new();
	s->index = kubernetes_index_new();
	s->imports = m->conf->multicluster.n != 0 ? kubernetes_index_new() : NULL;
	if (m->conf->snapshot != NULL)
		read_snapshot(s, m->conf, m->key);
	for (int i = 0; i < N_INFORMERS && r >= 0; i++) {
		if (is_wanted(m->conf, i))
			r = start_informer(s, m->conf, i, m->err, sizeof(m->err));
	}
	if (r < 0) {
		source_free(s);
		return r;
	}
	if (s->stale != NULL)
		kubernetes_stale_start(s->stale, s->informer);
	s->heard = kubernetes_heard_new(kube_config_server(kube_client_config(s->client)),
					s->informer);
	*ret = s;
	return 0;
}

/* Everything that decides what is in the index. */
static char *key_of(const struct kubernetes_conf *c)
{
	const char *parts[] = { c->endpoint,   c->cert,	   c->key,    c->ca,
				c->kubeconfig, c->context, c->labels, c->namespace_labels,
				c->snapshot };
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, "kubernetes %d %d %d %d %d", c->noendpoints, c->zonal,
		    c->endpoint_pod_names, c->pods == KUBERNETES_PODS_VERIFIED,
		    c->multicluster.n != 0);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		strbuf_addc(&b, ' ');
		strbuf_add_quoted(&b, slice_of(parts[i] != NULL ? parts[i] : ""));
	}
	return strbuf_take(&b);
}

static void add_local_ip(struct kubernetes_conf *c, const struct kube_ip *ip)
{
	c->local = xreallocarray(c->local, c->n_local + 1, sizeof(*c->local));
	c->local[c->n_local++] = *ip;
}

static void add_local(struct kubernetes_conf *c, const struct sockaddr *sa)
{
	struct kube_ip ip = { .b = { [10] = 0xff, [11] = 0xff } };
	static const struct kube_ip loopback6 = { .b = { [15] = 1 } };
	if (sa->sa_family == AF_INET)
		memcpy(ip.b + 12, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
	else
		memcpy(ip.b, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
	if ((kube_ip_is4(&ip) && ip.b[12] == 127) || memcmp(&ip, &loopback6, sizeof(ip)) == 0)
		return;
	add_local_ip(c, &ip);
}

static void add_interfaces(struct kubernetes_conf *c)
{
	struct ifaddrs *list = NULL;
	if (getifaddrs(&list) < 0)
		return;
	for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
		const struct sockaddr *sa = i->ifa_addr;
		if (sa != NULL && (sa->sa_family == AF_INET || sa->sa_family == AF_INET6))
			add_local(c, sa);
	}
	freeifaddrs(list);
}

static bool is_any(const union net_addr *a)
{
	static const uint8_t zeros[16];
	size_t n;
	const uint8_t *bytes = net_addr_bytes(a, &n);
	return memcmp(bytes, zeros, n) == 0;
}

/* Addresses that the block listens on, less loopback: endpoints with one of them are ourselves. */
static void find_local(struct kubernetes_conf *c, const struct block_conf *b)
{
	bool all = b->n_listen == 0;
	for (size_t i = 0; i < b->n_listen; i++) {
		union net_addr a;
		if (net_addr_parse_ip(slice_of(b->listen[i]), &a) < 0)
			continue;
		all = all || is_any(&a);
		if (!is_any(&a))
			add_local(c, &a.sa);
	}
	if (!all)
		return;
	free(c->local);
	c->local = NULL;
	c->n_local = 0;
	if (c->source->preset == NULL)
		add_interfaces(c);
	else
		add_local_ip(c, &c->source->preset->local);
}

int kubernetes_source_get(struct plugin_inst *self, struct prepare *p)
{
	struct kubernetes_conf *c = self->conf;
	CLEANUP(freep) char *key = key_of(c);
	struct make m = { .conf = c, .key = key };
	int r = resource_get(key, source_make, &m, source_free, &c->held);
	if (r < 0) {
		srcerr_set(p->err, self->pos, "kubernetes: %s",
			   m.err[0] != '\0' ? m.err : err_str(r));
		return r;
	}
	c->source = c->held->value;
	c->index = c->source->index;
	c->imports = c->source->imports;
	find_local(c, block_conf(self->block));
	return 0;
}

void kubernetes_source_use(struct kubernetes_source *s)
{
	kubernetes_stale_use(s->stale);
}

void kubernetes_source_put(struct kubernetes_conf *c)
{
	resource_put(c->held);
	free(c->local);
	c->held = NULL;
	c->local = NULL;
}

bool kubernetes_source_synced(const struct kubernetes_source *s)
{
	if (s->preset != NULL)
		return !s->preset->unsynced;
	for (int i = 0; i < N_INFORMERS; i++) {
		if (s->informer[i] != NULL && !kube_informer_synced(s->informer[i]))
			return false;
	}
	return true;
}

bool kubernetes_source_usable(const struct kubernetes_source *s)
{
	return kubernetes_stale_read(s->stale) || kubernetes_source_synced(s);
}

/* Signals are taken when the start, or the reload, is over; until then they show here. */
static bool told_to_end(void)
{
	sigset_t pending;
	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
		sigismember(&pending, SIGQUIT) == 1);
}

int kubernetes_source_wait(struct kubernetes_source *s, int64_t timeout_ns)
{
	static const uint64_t say_ns = 500 * NS_PER_MS;
	uint64_t now = clock_mono_ns(), end = now + (uint64_t)MAX(timeout_ns, 0),
		 say = now + say_ns;
	while (s->preset == NULL && !kubernetes_source_synced(s)) {
		now = clock_mono_ns();
		if (now >= end) {
			log_warn(KUBERNETES_AREA, "starting server with unsynced Kubernetes API%s",
				 kubernetes_stale_serves(s->stale) ? ", from a snapshot" : "");
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
			if (s->informer[i] != NULL && until > now &&
			    !kube_informer_wait(s->informer[i], until - now))
				break;
		}
	}
	return 0;
}
