/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The object `DNS default` as servers and templates, read from its tree. Texts are borrowed from
 * the tree, lists come from the caller's arena.
 *
 * Glossary
 *   server      an entry of spec.servers: zones that are forwarded elsewhere
 *   resolvers   spec.upstreamResolvers: where everything else goes
 *   template    an entry of spec.templates, or of the annotation where the CRD has no such field
 *   covering    a zone above the cluster's domain: its template would answer for Services, too */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/answer_template.h"
#include "api/fielderr.h"
#include "api/tree.h"
#include "api/view.h"
#include "base/arena.h"
#include "base/compiler.h"

#define DNSOPERATOR_ANNOTATION "dns.fairlead.dev/templates"

enum dnsoperator_policy { DNSOPERATOR_RANDOM, DNSOPERATOR_ROUND_ROBIN, DNSOPERATOR_SEQUENTIAL };
enum dnsoperator_log { DNSOPERATOR_LOG_NORMAL, DNSOPERATOR_LOG_DEBUG, DNSOPERATOR_LOG_TRACE };

struct dnsoperator_transport {
	const char *policy, *protocol; /* as the object has them */
	const char *transport, *server_name, *ca;
};

struct dnsoperator_server {
	const char *name;
	struct api_strings zones, upstreams;
	struct dnsoperator_transport how;
};

struct dnsoperator_upstream {
	const char *type, *address;
	int64_t port;
};

struct dnsoperator_resolvers {
	struct api_structs upstreams; /* struct dnsoperator_upstream */
	struct dnsoperator_transport how;
};

/* spec.servers and spec.upstreamResolvers: accepted or refused together. */
struct dnsoperator_routes {
	struct api_structs servers; /* struct dnsoperator_server */
	struct dnsoperator_resolvers resolvers;
};

struct dnsoperator_dns {
	int64_t generation;
	struct dnsoperator_routes routes;
	struct api_errors errs; /* of the routes */
	uint32_t positive_s, negative_s;
	enum dnsoperator_log log, operator_log;
	bool unmanaged;
	const json_t *templates;      /* NULL: missing */
	const char *annotation;	      /* NULL: missing */
	const json_t *node_placement; /* NULL */
};

/* A template that was accepted. */
struct dnsoperator_template {
	const char *name;
	const char **zones; /* lower case, no final dot; "." is the root */
	size_t n_zones;
	const struct api_answer *answer; /* generateResponse; NULL: returnEmpty */
};

struct dnsoperator_templates {
	struct dnsoperator_template *v;
	size_t n;
};

/* Always fills in `ret`; values of a wrong type are listed in `errs`. Free with dnsoperator_dns_done. */
void dnsoperator_dns_read(const json_t *object, struct arena *arena, struct dnsoperator_dns *ret);
void dnsoperator_dns_done(struct dnsoperator_dns *dns);
/* The routes alone, of {"servers": [...], "upstreamResolvers": {...}}. */
void dnsoperator_routes_read(const json_t *spec, struct arena *arena,
			     struct dnsoperator_routes *ret, struct api_errors *errs);

/* `random`, `round_robin` or `sequential`; what is unknown is random, "" is `def`. */
const char *dnsoperator_policy_word(const char *policy, enum dnsoperator_policy def);
bool dnsoperator_is_tls(const struct dnsoperator_transport *transport);
