/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transfer: sends whole zones to the listed clients (AXFR, RFC 5936; IXFR, RFC 1995, with the
 * whole zone or nothing but its SOA), and NOTIFY to them. The zones come from other plugins. */
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "plugin/shared/zonesender.h"
#include "plugin/shared/ixfrserial.h"
#include "plugin/shared/zonenotify.h"
#include "plugin/transfer/secondaries.h"
#include "server/query.h"
#include "server/setup.h"

#define AREA "plugin/transfer"

struct stanza {
	struct zone_list zones;
	struct transfer_secondaries secondaries;
};

struct transfer_conf {
	struct stanza *stanza;
	size_t n;
	struct plugin_inst **from; /* the plugins of the block that have zones */
	size_t n_from;
	struct zonesender *sender;
};

/* ---- set-up ---- */

static const struct opt transfer_opts[] = {
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones that may be transferred (default: those of the block)" },
	{ "to", OPT_FN, 0, .fn = transfer_parse_to, .repeatable = true, .args = "ADDRESS...",
	  .help = "clients that may transfer the zones and get NOTIFY; *: any client, no NOTIFY" },
	{ "source", OPT_FN, 0, .fn = transfer_parse_source, .min = 1, .max = 1, .args = "IP",
	  .help = "the address that NOTIFY messages come from" },
};

static int parse_stanza(struct setup *setup, const struct corefile_dir *dir, struct stanza *ret)
{
	int r = setup_zones(setup, dir->arg, dir->n_arg, &ret->zones);
	if (r == 0)
		r = setup_body(setup, dir, transfer_opts, ARRAY_LEN(transfer_opts),
			       &ret->secondaries, setup);
	if (r == 0 && !ret->secondaries.any && ret->secondaries.n == 0)
		return setup_error(setup, dir->name.pos, "'to' is required");
	return r;
}

static int transfer_parse(struct plugin_inst *self, struct setup *setup)
{
	struct transfer_conf *c = self->conf;
	int r = 0;
	c->n = setup->n_dir;
	c->stanza = arena_calloc(setup->arena, c->n * sizeof(*c->stanza));
	for (size_t i = 0; i < c->n && r == 0; i++)
		r = parse_stanza(setup, setup->dir[i], &c->stanza[i]);
	return r;
}

static int transfer_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct transfer_conf *c = self->conf;
	const struct plugin_inst *i;
	(void)prepare;
	for (size_t k = 0; (i = block_inst(self->block, k)) != NULL; k++)
		c->n_from += i->plugin->ops.copy_zone != NULL;
	c->from = xcalloc(c->n_from, sizeof(struct plugin_inst *));
	for (size_t k = 0, n = 0; n < c->n_from; k++) {
		struct plugin_inst *f = block_inst(self->block, k);
		if (f->plugin->ops.copy_zone != NULL)
			c->from[n++] = f;
	}
	return 0;
}

static struct zone_copy *copy_of_owner(struct plugin_inst *inst, const uint8_t *zone)
{
	return inst->plugin->ops.copy_zone(inst, zone);
}

static const struct zonecopier_source block_zones = { .copy = copy_of_owner };

static void transfer_commit(struct plugin_inst *self)
{
	struct transfer_conf *c = self->conf;
	c->sender = zonesender_new(&block_zones, AREA, LOG_INFO);
}

/* The thread copies zones of other instances. */
static void transfer_stop(struct plugin_inst *self)
{
	struct transfer_conf *c = self->conf;
	zonesender_free(TAKE_PTR(c->sender));
}

static void transfer_teardown(struct plugin_inst *self)
{
	struct transfer_conf *c = self->conf;
	free(c->from);
	c->from = NULL;
	c->n_from = 0;
}

/* ---- who and what ---- */

/* The stanza with the longest zone; of equal ones the first. */
static const struct stanza *find_stanza(const struct transfer_conf *conf,
					const struct dns_qname *qname)
{
	const struct stanza *best = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < conf->n; i++) {
		int z = zone_list_match(&conf->stanza[i].zones, qname);
		size_t n = z >= 0 ? dns_name_len(conf->stanza[i].zones.wire[z]) : 0;
		if (n > longest) {
			longest = n;
			best = &conf->stanza[i];
		}
	}
	return best;
}

static struct plugin_inst *find_owner(const struct transfer_conf *conf, const uint8_t *zone)
{
	for (size_t i = 0; i < conf->n_from; i++) {
		if (conf->from[i]->plugin->ops.has_zone(conf->from[i], zone))
			return conf->from[i];
	}
	return NULL;
}

static void transfer_changed(struct plugin_inst *self, const uint8_t *zone)
{
	const struct transfer_conf *c = self->conf;
	struct dns_qname q;
	char text[DNS_NAME_TEXT_MAX];
	dns_qname_set(&q, zone);
	const struct stanza *s = find_stanza(c, &q);
	if (s == NULL)
		return;
	dns_name_to_text(zone, true, text);
	zonenotify_send(&(struct zonenotify){ .zone = zone,
					      .area = AREA,
					      .zone_text = text,
					      .to = s->secondaries.v,
					      .n_to = s->secondaries.n,
					      .source = s->secondaries.source });
}

/* ---- queries ---- */

static enum verdict transfer_serve(struct plugin_inst *self, struct query *q)
{
	const struct transfer_conf *c = self->conf;
	uint32_t serial;
	if (q->req.qtype != DNS_TYPE_AXFR && q->req.qtype != DNS_TYPE_IXFR)
		return V_NEXT;
	if (q->proto != QUERY_TCP)
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	const struct stanza *s = find_stanza(c, &q->qname);
	if (s == NULL)
		return V_NEXT;
	if (!transfer_secondaries_has(&s->secondaries, &q->client))
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	if (q->req.qtype == DNS_TYPE_IXFR && ixfrserial_read(q->req.msg, q->req.len, &serial) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, NULL);
	struct plugin_inst *from = find_owner(c, q->qname.wire);
	return from != NULL ? zonesender_start(c->sender, self, q, from) : V_NEXT;
}

const struct plugin transfer_plugin = {
	.name = "transfer",
	.opts = transfer_opts,
	.n_opts = ARRAY_LEN(transfer_opts),
	.conf_size = sizeof(struct transfer_conf),
	.state_size = sizeof(struct zonesender_state),
	.parse = transfer_parse,
	.prepare = transfer_prepare,
	.commit = transfer_commit,
	.stop = transfer_stop,
	.teardown = transfer_teardown,
	.serve = transfer_serve,
	.resume = zonesender_resume,
	.done = zonesender_done,
	.ops = { .zone_changed = transfer_changed },
};
