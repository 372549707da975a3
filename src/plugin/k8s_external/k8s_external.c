/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k8s_external: Services of a cluster by their external addresses, as SERVICE.NAMESPACE.ZONE. What
 * they are is asked of `kubernetes` in the same block. */
#include <string.h>

#include "base/err.h"
#include "plugin/k8s_external/answer.h"
#include "plugin/k8s_external/apex.h"
#include "plugin/k8s_external/k8s_external_priv.h"

#define F(name) offsetof(struct k8s_external_conf, name)

/* clang-format off */
static const struct opt opts[] = {
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...", .help = "zones of the names (default: those of the block)" },
	{ "apex", OPT_STRING, F(apex), .def = "dns", .repeatable = true, .args = "LABEL",
	  .help = "the zone's name server is ns1.LABEL.ZONE" },
	{ "ttl", OPT_UINT, F(ttl_s), 0, 3600, .def = "5", .repeatable = true, .args = "SECONDS", .help = "TTL of answers" },
	{ "headless", OPT_FLAG, F(headless), .repeatable = true, .help = "headless Services and their endpoints as well" },
	{ "fallthrough", OPT_FN, F(fall), .fn = setup_fallthrough_opt, .repeatable = true, .args = "[ZONE...]",
	  .help = "pass names that do not exist (of these zones) to the next plugin" },
};
/* clang-format on */

/* PREFIX.APEX.ZONE */
static const uint8_t *join_name(struct setup *setup, const uint8_t *apex, size_t apex_n,
				const uint8_t *zone)
{
	static const uint8_t first[] = "\3ns1";
	size_t first_n = sizeof(first) - 1, zone_n = dns_name_len(zone);
	/* The SOA record has hostmaster instead of ns1. */
	if (sizeof("\12hostmaster") - 1 + apex_n + zone_n > DNS_NAME_MAX)
		return NULL;
	uint8_t *name = arena_alloc(setup->arena, first_n + apex_n + zone_n);
	memcpy(name, first, first_n);
	memcpy(name + first_n, apex, apex_n);
	memcpy(name + first_n + apex_n, zone, zone_n);
	return name;
}

static int name_servers(struct k8s_external_conf *conf, struct setup *setup)
{
	uint8_t apex[DNS_NAME_MAX];
	const struct srcpos pos = setup->dir[setup->n_dir - 1]->name.pos;
	int n = dns_name_from_text(slice_of(conf->apex), apex);
	if (n < 2)
		return setup_error(setup, pos, "apex '%s' is not a domain name", conf->apex);
	dns_name_lower(apex, apex);
	conf->zone_labels = arena_alloc(setup->arena, conf->zones.n);
	conf->server = arena_alloc(setup->arena, conf->zones.n * sizeof(*conf->server));
	for (size_t i = 0; i < conf->zones.n; i++) {
		conf->zone_labels[i] = (uint8_t)dns_name_labels(conf->zones.wire[i]);
		conf->server[i] = join_name(setup, apex, (size_t)n - 1, conf->zones.wire[i]);
		if (conf->server[i] == NULL)
			return setup_error(setup, pos, "apex '%s' is too long for the zone '%s'",
					   conf->apex, conf->zones.text[i]);
	}
	return 0;
}

/* As in CoreDNS a later stanza inherits the options of the former; only its zones are new. */
static int k8s_external_parse(struct plugin_inst *self, struct setup *setup)
{
	struct k8s_external_conf *c = self->conf;
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .user = setup, .err = setup->err };
	opt_defaults(opts, ARRAY_LEN(opts), &ctx);
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		int r = setup_zones(setup, d->arg, d->n_arg, &c->zones);
		if (r == 0)
			r = setup_body(setup, d, opts, ARRAY_LEN(opts), c, setup);
		if (r < 0)
			return r;
	}
	return name_servers(c, setup);
}

static int k8s_external_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct k8s_external_conf *c = self->conf;
	c->from = block_find(self->block, "kubernetes");
	if (c->from != NULL && c->from->plugin->ops.offer != NULL)
		c->services = c->from->plugin->ops.offer(EXTERNAL_OFFER);
	if (c->services == NULL)
		return srcerr_set(prepare->err, self->pos, "kubernetes plugin not loaded");
	return 0;
}

static enum verdict k8s_external_serve(struct plugin_inst *self, struct query *q)
{
	const struct k8s_external_conf *c = self->conf;
	int zone = zone_list_match(&c->zones, &q->qname);
	if (zone < 0)
		return V_NEXT;
	if (q->qname.n_labels == c->zone_labels[zone])
		return k8s_external_serve_apex(c, q, (size_t)zone);
	if (dns_name_is_below(q->qname.wire, c->server[zone] + sizeof("ns1")))
		return k8s_external_serve_servers(c, q, (size_t)zone);
	return k8s_external_answer(self, q, (size_t)zone);
}

const struct plugin k8s_external_plugin = {
	.name = "k8s_external",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.conf_size = sizeof(struct k8s_external_conf),
	.state_size = sizeof(struct k8s_external_state),
	.parse = k8s_external_parse,
	.prepare = k8s_external_prepare,
	.serve = k8s_external_serve,
	.resume = k8s_external_resume,
};
