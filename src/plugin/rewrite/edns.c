/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rules do to the EDNS options of a request, and how `revert` undoes it. */
#include "plugin/rewrite/edns.h"

#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/name.h"

enum { OWN_UDP_SIZE = 4096 };

/* Options that miekg/dns has types for; CoreDNS's `local` rules do not see them in a request. */
static bool has_type(uint16_t code)
{
	return (code >= 1 && code <= 12) || code == 15 || code == 18 || code == 19;
}

static size_t count_options(const struct dns_opt *dns_opt)
{
	struct dns_option opt;
	size_t pos = 0, n = 0;
	while (dns_option_next(dns_opt, &pos, &opt))
		n++;
	return n;
}

/* The request's options as a list with room for one of each rule; the request gets an OPT if it has
 * none. */
static int open_options(struct rewrite_run *run)
{
	struct dns_opt *o = &run->q->req.opt;
	struct arena *a = &run->q->arena;
	if (run->options != NULL)
		return 0;
	if (!o->present)
		*o = (struct dns_opt){ .present = true, .udp_size = OWN_UDP_SIZE };
	size_t room = count_options(o) + run->conf->n_edns;
	struct rewrite_options *l = arena_alloc(a, sizeof(*l));
	struct rewrite_option *v = arena_alloc(a, room * sizeof(*v));
	if (l == NULL || v == NULL)
		return ERR_SPACE;
	*l = (struct rewrite_options){ .v = v };
	struct dns_option opt;
	size_t pos = 0;
	while (dns_option_next(o, &pos, &opt))
		l->v[l->n++] = (struct rewrite_option){
			.code = opt.code,
			.local = !has_type(opt.code),
			.data = { (const char *)opt.data, opt.len },
		};
	run->options = l;
	return 0;
}

static void remove_all(struct rewrite_options *options, uint16_t code)
{
	size_t n = 0;
	for (size_t i = 0; i < options->n; i++) {
		if (options->v[i].code != code)
			options->v[n++] = options->v[i];
	}
	options->n = n;
}

static struct rewrite_option *find_option(const struct rewrite_options *options,
					  const struct rewrite_edns *edns)
{
	for (size_t i = 0; i < options->n; i++) {
		if (options->v[i].code == edns->code && options->v[i].local == edns->only_local)
			return &options->v[i];
	}
	return NULL;
}

static enum rewrite_result push_undo(struct rewrite_run *run, const struct rewrite_edns *edns,
				     const struct rewrite_option *old)
{
	struct rewrite_action *act = arena_calloc(&run->q->arena, sizeof(*act));
	if (act == NULL)
		return rewrite_failed(run, rewrite_out_of_memory(run->q));
	act->kind = old != NULL ? REWRITE_ACT_PUT_OPTION : REWRITE_ACT_DROP_OPTION;
	act->code = edns->code;
	if (old != NULL)
		act->to = old->data;
	return rewrite_push(run, act);
}

enum rewrite_result rewrite_apply_edns(const struct rewrite_rule *rule, struct rewrite_run *run)
{
	const struct rewrite_edns *e = &rule->edns;
	struct slice data = { NULL, 0 };
	if (e->value != NULL && !e->value(rule, run, &data))
		return REWRITE_IGNORED;
	if (open_options(run) < 0)
		return rewrite_failed(run, rewrite_out_of_memory(run->q));
	struct rewrite_options *l = run->options;
	if (e->action == EDNS_UNSET) {
		remove_all(l, e->code);
		return REWRITE_DONE;
	}
	struct rewrite_option *old = find_option(l, e);
	if (old != NULL && e->action == EDNS_APPEND && e->keep_other)
		return REWRITE_IGNORED;
	if (old == NULL && e->action == EDNS_REPLACE)
		return REWRITE_IGNORED;
	if (e->action == EDNS_APPEND)
		old = NULL;
	enum rewrite_result res = e->revert ? push_undo(run, e, old) : REWRITE_DONE;
	if (old != NULL)
		old->data = data;
	else
		l->v[l->n++] = (struct rewrite_option){ e->code, e->only_local, data };
	return res;
}

/* ---- bytes ---- */

static uint8_t *put_option(uint8_t *pos, uint16_t code, struct slice data)
{
	dns_put16(pos, code);
	dns_put16(pos + 2, (uint16_t)data.n);
	if (data.n != 0)
		memcpy(pos + 4, data.p, data.n);
	return pos + 4 + data.n;
}

int rewrite_edns_commit(struct rewrite_run *run)
{
	struct dns_opt *o = &run->q->req.opt;
	const struct rewrite_options *l = run->options;
	size_t n = 0;
	if (l == NULL)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		n += 4 + l->v[i].data.n;
	uint8_t *p = n <= UINT16_MAX ? arena_alloc(&run->q->arena, n) : NULL;
	if (p == NULL)
		return ERR_SPACE;
	o->options = p;
	o->options_len = (uint16_t)n;
	for (size_t i = 0; i < l->n; i++)
		p = put_option(p, l->v[i].code, l->v[i].data);
	return 0;
}

int rewrite_edns_undo(const struct rewrite_action *act, struct arena *arena,
		      const uint8_t **options, uint16_t *options_len)
{
	struct dns_opt had = { .options = *options, .options_len = *options_len };
	struct dns_option opt;
	size_t pos = 0, n = *options_len;
	bool found = false;
	while (!found && dns_option_next(&had, &pos, &opt))
		found = opt.code == act->code;
	if (!found)
		return 0;
	size_t end = (size_t)(opt.data - had.options) + opt.len;
	size_t start = end - opt.len - 4U;
	bool put = act->kind == REWRITE_ACT_PUT_OPTION;
	if (put && n - opt.len + act->to.n > UINT16_MAX)
		return ERR_SPACE;
	uint8_t *copy = arena_alloc(arena, n + act->to.n);
	if (copy == NULL)
		return ERR_SPACE;
	memcpy(copy, had.options, start);
	uint8_t *p = copy + start;
	if (put)
		p = put_option(p, act->code, act->to);
	memcpy(p, had.options + end, n - end);
	*options = copy;
	*options_len = (uint16_t)((size_t)(p - copy) + n - end);
	return 0;
}
