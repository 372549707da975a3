/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the addresses of secondary servers as CoreDNS does: an IP, with or without a port. */
#include "plugin/transfer/secondaries.h"

#include <string.h>

#include "server/setup.h"

enum { DNS_PORT = 53 };

static struct slice without_brackets(struct slice text)
{
	bool both = text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';
	return both ? (struct slice){ text.p + 1, text.n - 2 } : text;
}

/* `IP`, `IPv4:PORT` or `[IP]:PORT`; no port, or an empty one: 53. */
static bool parse_address(struct slice text, union net_addr *ret)
{
	bool plain = net_addr_parse_ip(text, ret) == 0;
	if (!plain && text.n != 0 && text.p[text.n - 1] == ':') {
		text.n--;
		plain = net_addr_parse_ip(without_brackets(text), ret) == 0;
	}
	if (plain)
		net_addr_set_port(ret, DNS_PORT);
	/* A name, or no address at all, would be read as well. */
	return plain ||
	       (text.n != 0 && (text.p[0] == '[' || (text.p[0] >= '0' && text.p[0] <= '9')) &&
		net_addr_parse(text, ret) == 0);
}

int transfer_parse_to(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct transfer_secondaries *t = ctx->conf;
	if (line->n_arg == 0)
		return setup_error(ctx->user, line->name.pos, "expected an IP address, or *");
	union net_addr *v = arena_calloc(ctx->arena, (t->n + line->n_arg) * sizeof(*v));
	if (t->n != 0)
		memcpy(v, t->v, t->n * sizeof(*v));
	t->v = v;
	for (size_t i = 0; i < line->n_arg; i++) {
		const struct word *w = &line->arg[i];
		if (strcmp(w->s, "*") == 0) {
			t->any = true;
			continue;
		}
		if (!parse_address(slice_of(w->s), &t->v[t->n]))
			return setup_error(ctx->user, w->pos,
					   "must specify an IP address, got '%s'", w->s);
		t->n++;
	}
	return 0;
}

int transfer_parse_source(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct transfer_secondaries *t = ctx->conf;
	const struct word *w = &line->arg[0];
	if (strchr(w->s, '%') != NULL || net_addr_parse_ip(slice_of(w->s), &t->source) < 0)
		return setup_error(ctx->user, w->pos, "invalid source address '%s'", w->s);
	return 0;
}

bool transfer_secondaries_has(const struct transfer_secondaries *secondaries,
			      const union net_addr *client)
{
	for (size_t i = 0; i < secondaries->n && !secondaries->any; i++) {
		if (net_addr_same_ip(&secondaries->v[i], client))
			return true;
	}
	return secondaries->any;
}
