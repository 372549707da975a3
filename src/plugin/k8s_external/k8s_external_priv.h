/* Inside of k8s_external. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "plugin/shared/external.h"
#include "server/query.h"
#include "server/setup.h"

struct k8s_external_conf {
	struct zone_list zones;
	uint8_t *zone_labels;
	const uint8_t *
		*server; /* of each zone: ns1.APEX.ZONE; APEX.ZONE lies behind its first label */
	const char *apex;
	uint64_t ttl_s;
	bool headless;
	struct fallthrough fall;
	struct plugin_inst *from;	     /* kubernetes */
	const struct external_ops *services; /* of that */
};

/* Host names of load balancers that are looked up for one query, each for one or two types. */
enum { K8S_EXTERNAL_HOSTS_MAX = 8, K8S_EXTERNAL_TYPES = 2 };

struct k8s_external_state {
	size_t n_hosts;
	const uint8_t *host[K8S_EXTERNAL_HOSTS_MAX];
	/* NULL: not asked, or no answer */
	struct query *reply[K8S_EXTERNAL_HOSTS_MAX][K8S_EXTERNAL_TYPES];
	size_t at; /* host * K8S_EXTERNAL_TYPES + type */
};

/* apex.c */
void k8s_external_open(struct query *q);
/* What does not fit sets TC; false then. */
bool k8s_external_add(struct query *q, enum dns_section section, const struct dns_rr *rr);
/* An empty reply with the zone's SOA record. */
enum verdict k8s_external_denial(const struct k8s_external_conf *conf, struct query *q, size_t zone,
				 uint16_t rcode);
enum verdict k8s_external_serve_apex(const struct k8s_external_conf *conf, struct query *q,
				     size_t zone);
/* Names at and below APEX.ZONE. */
enum verdict k8s_external_serve_servers(const struct k8s_external_conf *conf, struct query *q,
					size_t zone);

/* answer.c */
enum verdict k8s_external_answer(struct plugin_inst *self, struct query *q, size_t zone);
enum verdict k8s_external_resume(struct plugin_inst *self, struct query *q);
