/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the stanza of egressfirewall. */
#include "plugin/egressfirewall/setup.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/duration.h"
#include "dns/learnt/learnt_record.h"

#define F(name) offsetof(struct egressfirewall_conf, name)

enum { DNS_PORT = 53, NOTIFY_MAX = 16, NETWORKS_MAX = 256, HOLD_MS = 1500 };

static int parse_kubeconfig(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_conf *c = ctx->conf;
	c->kubeconfig = arena_strdup(ctx->arena, line->arg[0].s);
	c->context = line->n_arg > 1 ? arena_strdup(ctx->arena, line->arg[1].s) : NULL;
	return 0;
}

static int parse_tls(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_conf *c = ctx->conf;
	c->cert = arena_strdup(ctx->arena, line->arg[0].s);
	c->key = arena_strdup(ctx->arena, line->arg[1].s);
	c->ca = arena_strdup(ctx->arena, line->arg[2].s);
	return 0;
}

static int parse_networks(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_networks *list = ctx->field;
	size_t n = list->n + line->n_arg;
	if (n > NETWORKS_MAX)
		return setup_error(ctx->user, line->name.pos, "more than %d networks",
				   NETWORKS_MAX);
	struct net_cidr *v = arena_calloc(ctx->arena, n * sizeof(*v));
	if (list->n != 0)
		memcpy(v, list->v, list->n * sizeof(*v));
	for (size_t i = 0; i < line->n_arg; i++) {
		const struct word *w = &line->arg[i];
		if (net_cidr_parse(slice_of(w->s), &v[list->n + i]) < 0)
			return setup_error(ctx->user, w->pos,
					   "'%s' is not a network such as 10.0.0.0/8", w->s);
	}
	*list = (struct egressfirewall_networks){ v, n };
	return 0;
}

static int parse_keys(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_conf *c = ctx->conf;
	c->keys = line->arg[0];
	c->keys_path = setup_path(ctx->user, line->arg[0].s);
	return 0;
}

static int parse_hold(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_conf *c = ctx->conf;
	const int64_t least_ns = 10 * (int64_t)NS_PER_MS, most_ns = 4 * (int64_t)NS_PER_S;
	c->hold_ns = HOLD_MS * (int64_t)NS_PER_MS;
	c->hold_pos = line->name.pos;
	if (line->n_arg == 0)
		return 0;
	const struct word *w = &line->arg[0];
	if (duration_parse(slice_of(w->s), &c->hold_ns) < 0 || c->hold_ns < least_ns ||
	    c->hold_ns > most_ns)
		return setup_error(ctx->user, w->pos, "'%s' is not a duration from 10ms to 4s",
				   w->s);
	return 0;
}

static int parse_agent_tls(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_conf *c = ctx->conf;
	c->agent_cert = setup_path(ctx->user, line->arg[0].s);
	c->agent_key = setup_path(ctx->user, line->arg[1].s);
	c->agent_ca = setup_path(ctx->user, line->arg[2].s);
	c->agent_tls_name = line->n_arg > 3 ? arena_strdup(ctx->arena, line->arg[3].s) : NULL;
	return 0;
}

static bool parse_address(const char *text, union net_addr *ret)
{
	if (net_addr_parse_ip(slice_of(text), ret) == 0) {
		net_addr_set_port(ret, DNS_PORT);
		return true;
	}
	bool literal = text[0] == '[' || (text[0] >= '0' && text[0] <= '9');
	return literal && net_addr_parse(slice_of(text), ret) == 0 && net_addr_port(ret) != 0;
}

static int parse_notify(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct egressfirewall_conf *c = ctx->conf;
	size_t n = c->n_notify + line->n_arg;
	if (n > NOTIFY_MAX)
		return setup_error(ctx->user, line->name.pos, "more than %d addresses", NOTIFY_MAX);
	union net_addr *v = arena_calloc(ctx->arena, n * sizeof(*v));
	if (c->n_notify != 0)
		memcpy(v, c->notify, c->n_notify * sizeof(*v));
	for (size_t i = 0; i < line->n_arg; i++) {
		const struct word *w = &line->arg[i];
		if (!parse_address(w->s, &v[c->n_notify + i]))
			return setup_error(ctx->user, w->pos,
					   "'%s' is not an IP address, with or without a port",
					   w->s);
	}
	c->notify = v;
	c->n_notify = n;
	return 0;
}

/* clang-format off */
const struct opt egressfirewall_opts[EGRESSFIREWALL_N_OPTS] = {
	{ "endpoint", OPT_STRING, F(endpoint), .args = "URL", .help = "the API server (default: that of the pod's cluster)" },
	{ "tls", OPT_FN, 0, 3, 3, .fn = parse_tls, .args = "CERT KEY CA", .help = "client certificate, key and CA, with endpoint" },
	{ "kubeconfig", OPT_FN, 0, 1, 2, .fn = parse_kubeconfig, .args = "FILE [CONTEXT]",
	  .help = "kubeconfig with the API server and the credentials; overrides endpoint" },
	{ "namespace", OPT_STRING, F(ns), .args = "NAMESPACE",
	  .help = "where DNSName objects are (default: the namespace of the credentials)" },
	{ "never", OPT_FN, F(never), 1, NETWORKS_MAX, .fn = parse_networks, .repeatable = true, .args = "NETWORK...",
	  .help = "addresses that are never learnt: the cluster's pods, Services and nodes" },
	{ "learn", OPT_FN, F(learn), 1, NETWORKS_MAX, .fn = parse_networks, .repeatable = true, .args = "NETWORK...",
	  .help = "addresses that are learnt although they are among those that never are" },
	{ "max_addresses", OPT_UINT, F(max_pairs), 1, 1000000, .def = "65536", .args = "NUMBER",
	  .help = "addresses of all names together" },
	{ "max_names", OPT_UINT, F(max_names), 1, 100000, .def = "4096", .args = "NUMBER", .help = "names under one wildcard" },
	{ "max_addresses_per_name", OPT_UINT, F(max_ips), 1, 10000, .def = "256", .args = "NUMBER", .help = "addresses of one name" },
	{ "max_addresses_per_client", OPT_UINT, F(max_per_client), 1, 1000000, .def = "2048", .args = "NUMBER",
	  .help = "addresses that count for one client" },
	{ "keys", OPT_FN, 0, 1, 1, .fn = parse_keys, .args = "FILE",
	  .help = "TSIG keys that may transfer the zone learnt.fairlead.internal (default: nobody may)" },
	{ "hold", OPT_FN, 0, 0, 1, .fn = parse_hold, .args = "[DURATION]",
	  .help = "answers wait until the client's node has their addresses in force, at most so long (1.5s); default: none waits" },
	{ "machine", OPT_FLAG, F(is_machine),
	  .help = "with hold, without a cluster: queries of this machine itself count as those of the users and cgroups that annotations of Namespaces name" },
	{ "node", OPT_STRING, F(node), .args = "NAME", .help = "with hold: this server's node, whose agent is at agent_socket (default: $NODE_NAME)" },
	{ "agent_socket", OPT_STRING, F(agent_socket), .def = "/run/fairlead/egress.sock", .args = "FILE",
	  .help = "with hold: the agent of this server's node" },
	{ "agent_tls", OPT_FN, 0, 3, 4, .fn = parse_agent_tls, .args = "CERT KEY CA [NAME]",
	  .help = "with hold: certificate, key and CA for the agents of other nodes, and the name in their certificates (default: the node's)" },
	{ "agent_port", OPT_UINT, F(agent_port), 1, 65535, .def = "9353", .args = "PORT", .help = "with hold: where the agents of other nodes listen" },
	{ "max_held", OPT_UINT, F(max_held), 1, 1000000, .def = "2000", .args = "NUMBER",
	  .help = "with hold: queries of one namespace that wait" },
	{ "max_held_per_client", OPT_UINT, F(max_held_per_client), 1, 1000000, .def = "200", .args = "NUMBER",
	  .help = "with hold: queries of one client that wait" },
	{ "notify", OPT_FN, 0, 1, NOTIFY_MAX, .fn = parse_notify, .repeatable = true, .args = "ADDRESS[:PORT]...",
	  .help = "controllers that get NOTIFY when the zone changes" },
};
/* clang-format on */

static const char *own_node(const struct egressfirewall_conf *conf)
{
	return conf->node != NULL ? conf->node : getenv("NODE_NAME");
}

static int check_options(const struct egressfirewall_conf *conf, const struct setup *setup)
{
	const struct srcpos pos = setup->dir[0]->name.pos;
	if (conf->cert != NULL && conf->endpoint == NULL)
		return setup_error(setup, pos, "'tls' needs 'endpoint'");
	if (conf->n_notify != 0 && conf->keys_path == NULL)
		return setup_error(setup, pos,
				   "'notify' needs 'keys': nobody could transfer the zone");
	if (conf->hold_ns == 0 &&
	    (conf->agent_cert != NULL || conf->node != NULL || conf->is_machine))
		return setup_error(setup, pos, "'%s' needs 'hold': no agent is asked without it",
				   conf->is_machine	? "machine"
				   : conf->node != NULL ? "node"
							: "agent_tls");
	return 0;
}

int egressfirewall_parse(struct plugin_inst *self, struct setup *setup)
{
	struct egressfirewall_conf *c = self->conf;
	int r = setup_once(setup);
	setup->conf->own_zone = dns_learnt_zone;
	setup->conf->own_zone_text = DNS_LEARNT_ZONE ".";
	setup->conf->own_zone_inst = self;
	if (r == 0)
		r = setup_options(setup, setup->dir[0], egressfirewall_opts, EGRESSFIREWALL_N_OPTS,
				  c, setup);
	if (r == 0)
		r = check_options(c, setup);
	if (r == 0 && c->hold_ns != 0)
		c->node = own_node(c);
	return r;
}
