/* The configuration of the plugin and what its files share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/map.h"
#include "plugin/shared/byteset.h"
#include "plugin/kubernetes/index.h"
#include "plugin/kubernetes/qparse.h"
#include "server/query.h"
#include "server/setup.h"

#define KUBERNETES_AREA "plugin/kubernetes"

enum kubernetes_pods {
	KUBERNETES_PODS_DISABLED,
	KUBERNETES_PODS_INSECURE,
	KUBERNETES_PODS_VERIFIED
};

/* CNAME records of a query so far; in its own memory, so that they outlive a wait. */
enum { KUBERNETES_CHAIN_MAX = 11 };
struct kubernetes_chain {
	size_t n;
	const uint8_t *owner[KUBERNETES_CHAIN_MAX], *target[KUBERNETES_CHAIN_MAX];
};

struct kubernetes_source;
struct resource;

struct kubernetes_conf {
	struct zone_list zones;
	size_t primary;	      /* the first zone that is not a reverse one: where PTR records lead */
	uint8_t *zone_labels; /* of each */
	bool *is_reverse;     /* each: below in-addr.arpa or ip6.arpa, or these themselves */
	bool *is_multicluster; /* each */
	struct zone_list multicluster;

	/* Where the API is. */
	const char *endpoint;
	const char *cert, *key, *ca;
	const char *kubeconfig, *context;

	struct opt_list namespaces;
	const char *namespace_labels, *labels; /* selectors as written; NULL: none */
	int pods;			       /* enum kubernetes_pods */
	bool endpoint_pod_names, noendpoints, ignore_empty, zonal;
	struct fallthrough fall;
	uint64_t ttl_s;
	int64_t startup_ns;
	const char *snapshot; /* path; NULL: none */
	int64_t snapshot_ns;  /* between two */

	/* prepare: */
	struct map listed; /* names of `namespaces` */
	struct resource *held;
	struct kubernetes_source *source;
	struct kubernetes_index *index;	  /* the source's */
	struct kubernetes_index *imports; /* of other clusters: the source's; NULL without these */
	struct kube_ip *local;		  /* listened on, less loopback */
	size_t n_local;
	uint8_t **host_search; /* of the host's resolv.conf, lower-case wire names */
	size_t n_host_search;
};

/* ---- setup.c ---- */

enum { KUBERNETES_N_OPTS = 20 };
extern const struct opt kubernetes_opts[KUBERNETES_N_OPTS];
MUST_CHECK int kubernetes_parse(struct plugin_inst *self, struct setup *setup);

/* ---- source.c: the API server's objects, kept in an index; outlives reloads ---- */

/* Starts, or joins, the source of this configuration. */
MUST_CHECK int kubernetes_source_get(struct plugin_inst *self, struct prepare *prepare);
/* Queries of this configuration come from now on. */
void kubernetes_source_use(struct kubernetes_source *source);
void kubernetes_source_put(struct kubernetes_conf *conf);
/* For tests and benchmarks: stanzas prepared from now on get their names from these, which stay the
 * caller's; no API server is asked. NULL: as ever. */
struct kubernetes_preset {
	struct kubernetes_index *index, *imports;
	bool unsynced;
	struct kube_ip local; /* our only address, without `bind` */
};
void kubernetes_source_preset(const struct kubernetes_preset *kubernetes_preset);
bool kubernetes_source_synced(const struct kubernetes_source *source);
/* That, or a snapshot was read: what is not found is not there. */
bool kubernetes_source_usable(const struct kubernetes_source *source);
/* Waits until it has all, up to startup_timeout; says so in the log as it waits. -EINTR: the
 * program was told to end meanwhile. */
MUST_CHECK int kubernetes_source_wait(struct kubernetes_source *source, int64_t timeout_ns);

/* ---- find.c: from a question to what it finds ---- */

enum kubernetes_found {
	KUBERNETES_NXDOMAIN,
	KUBERNETES_EXISTS, /* the name is there, perhaps without anything */
};

/* One (address, port) that a name has. */
struct kubernetes_hit {
	const struct kube_ip *ip; /* of a pod's name: the caller's */
	const struct kube_service *service;
	const struct kube_slice *slice; /* NULL: a cluster address */
	const struct kube_endpoint *endpoint;
	int32_t port; /* -1: none */
};

/* What is found, one after the other; false stops. */
typedef bool (*kubernetes_hit_fn)(void *ctx, const struct kubernetes_hit *h);

struct kubernetes_find {
	const struct kubernetes_conf *conf;
	const struct dns_qname *name;
	struct kubernetes_qparse parsed;
	const struct kube_service *external; /* set when the name is an ExternalName's */
	struct kube_ip pod;		     /* address of a pod's name */
};

/* A is a name of a zone below which `zone_labels` labels lie: read and looked up. */
enum kubernetes_found kubernetes_find(struct kubernetes_find *find,
				      const struct kubernetes_conf *conf,
				      const struct dns_qname *name, size_t zone,
				      kubernetes_hit_fn each, void *ctx);
bool kubernetes_exposed(const struct kubernetes_conf *conf, struct slice ns);
/* The label of an endpoint's own name: hostname, pod's name or dashed address; its length. */
size_t kubernetes_endpoint_label(const struct kubernetes_conf *conf, const struct kube_slice *slice,
				 const struct kube_endpoint *endpoint, char out[DNS_LABEL_MAX + 1]);

/* ---- reply.c: the replies ---- */

/* Negative answers and errors with the zone's SOA record, AA set. */
enum verdict kubernetes_reply_soa(const struct kubernetes_conf *conf, struct query *q, size_t zone,
				  uint16_t rcode);
/* The SOA record itself, of the zone in the letters of the question. */
enum verdict kubernetes_answer_soa(const struct kubernetes_conf *conf, struct query *q,
				   size_t zone);
/* The data of that record, for a zone in these letters; its length. */
enum { KUBERNETES_SOA_MAX = 2 * (DNS_NAME_MAX + 16) + 20 };
size_t kubernetes_soa_data(const struct kubernetes_conf *conf, size_t zone, const uint8_t *name,
			   uint8_t out[KUBERNETES_SOA_MAX]);
uint32_t kubernetes_soa_ttl(const struct kubernetes_conf *conf);
/* Starts an answer that is open for records, AA set. */
void kubernetes_reply_open(struct query *q);
/* Adds a record to it; rdata is copied. What does not fit sets TC; false then. */
bool kubernetes_reply_add(const struct kubernetes_conf *conf, struct query *q,
			  enum dns_section section, const uint8_t *owner, uint16_t type,
			  const void *rdata, size_t len);

/* ---- name.c ---- */

/* [endpoint.][cluster.]service.namespace.(svc|pod).ZONE */
struct kubernetes_name {
	struct slice endpoint, cluster, service, ns;
	bool pod;
	const uint8_t *zone;
};
/* Its length; 0 when there is no such name (too long, or without its parts). */
size_t kubernetes_name(const struct kubernetes_name *name, uint8_t out[DNS_NAME_MAX]);

/* ---- addr.c: A and AAAA ---- */

/* The answer to an address question whose addresses these are; V_NEXT: there is none. */
struct kubernetes_addrs {
	uint16_t type; /* A or AAAA */
	struct byteset set;
};
void kubernetes_addrs_init(struct kubernetes_addrs *addrs, struct query *q, uint16_t type);
/* Once each. */
void kubernetes_addrs_add(struct kubernetes_addrs *addrs, const struct kube_ip *ip);
enum verdict kubernetes_addrs_reply(const struct kubernetes_conf *conf, struct query *q,
				    const struct kubernetes_addrs *addrs);
/* Adds them to an open answer, under this owner. */
void kubernetes_addrs_append(const struct kubernetes_conf *conf, struct query *q,
			     const struct kubernetes_addrs *addrs, const uint8_t *owner);

/* ---- path.c: search paths of pods ---- */

void kubernetes_host_search_read(struct kubernetes_conf *conf, const char *path);
void kubernetes_host_search_free(struct kubernetes_conf *conf);
/* The search list of a namespace: ns.svc.ZONE, svc.ZONE, ZONE, those of the host, the root. Their
 * number; they live as long as q. */
int kubernetes_search_of(const struct kubernetes_conf *conf, struct query *q, size_t zone,
			 struct slice ns, const uint8_t **out, size_t max);
int kubernetes_search_for_client(struct plugin_inst *self, struct query *q, const uint8_t **out,
				 size_t max);

int kubernetes_search_by_id(struct plugin_inst *self, struct query *q, struct slice id,
			    const uint8_t **out, size_t max);
/* The search list of a Namespace (a kube_tree) that is there, or not any more. */
void kubernetes_take_list(struct kubernetes_index *index, const struct kube_obj *ns, bool there);

/* ---- ext.c: names for `k8s_external` ---- */

/* Of struct plugin_ops. */
const void *kubernetes_offer(const char *name);

/* ---- latency.c ---- */

/* Counts how long a change that was just put into the index was under way. */
void kubernetes_latency_observe(struct kubernetes_index *index, const struct kube_slice *slice);

/* ---- metadata.c ---- */

void kubernetes_metadata(struct plugin_inst *self, struct query *q);

/* ---- xfr.c: whole zones ---- */

bool kubernetes_has_zone(struct plugin_inst *self, const uint8_t *zone);
struct zone_copy *kubernetes_copy_zone(struct plugin_inst *self, const uint8_t *zone);

/* ---- srv.c, reverse.c, apex.c, external.c ---- */

enum verdict kubernetes_serve_srv(struct plugin_inst *self, struct query *q, size_t zone);
enum verdict kubernetes_serve_ptr(struct plugin_inst *self, struct query *q, size_t zone);
enum verdict kubernetes_serve_ns(struct plugin_inst *self, struct query *q, size_t zone);
enum verdict kubernetes_serve_ns_host(struct plugin_inst *self, struct query *q, size_t zone);
/* A name server of the zones: an endpoint of a Service, the Service (without slice), or ns.dns.ZONE
 * (without Service), each with one address. */
struct kubernetes_host {
	const struct kube_service *service;
	const struct kube_slice *slice;
	const struct kube_endpoint *endpoint;
	const struct kube_ip *ip;
};
/* Called with each; false stops. */
typedef bool (*kubernetes_host_fn)(void *ctx, const struct kubernetes_host *h);
void kubernetes_each_host(const struct kubernetes_conf *conf, kubernetes_host_fn fn, void *ctx);
/* Its name in the zone; the length, 0: there is none. */
size_t kubernetes_host_name(const struct kubernetes_conf *conf, const struct kubernetes_host *host,
			    const uint8_t *zone, uint8_t out[DNS_NAME_MAX]);
/* The addresses of ns.dns.ZONE; false where there is no such name. */
bool kubernetes_ns_addrs(const struct kubernetes_conf *conf, const struct query *q, size_t zone,
			 struct kubernetes_addrs *addrs);
/* The address of a whole reverse name. */
bool kubernetes_reverse_ip(const struct dns_qname *qname, struct kube_ip *ret);
/* The name does not exist: NXDOMAIN, SERVFAIL before the first list, or the next plugin. */
enum verdict kubernetes_no_name(struct plugin_inst *self, struct query *q, size_t zone);
/* A question for an ExternalName: a CNAME record and where it leads. */
enum verdict kubernetes_serve_external(struct plugin_inst *self, struct query *q, size_t zone,
				       const struct kube_service *service);
enum verdict kubernetes_resume_external(struct plugin_inst *self, struct query *q);
