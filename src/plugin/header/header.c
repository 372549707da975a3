/* SPDX-License-Identifier: GPL-3.0-or-later */
/* header: sets and clears the flags AA, RA and RD in queries on their way down and in replies on
 * their way up. Replies the server itself makes for a failure are not touched, except that they
 * copy RD from the query. */
#include <strings.h>

#include "server/query.h"
#include "server/setup.h"

/* The outcome of all rules in order: of two about the same flag the later one is left. */
struct flag_rules {
	uint16_t set, clear;
};

struct header_conf {
	struct flag_rules query, response;
};

static const struct {
	const char *name;
	uint16_t bit;
} flags[] = {
	{ "aa", DNS_FLAG_AA },
	{ "ra", DNS_FLAG_RA },
	{ "rd", DNS_FLAG_RD },
};

static int add_flag(struct opt_ctx *ctx, const struct word *word, bool set,
		    struct flag_rules *rules)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (strcasecmp(word->s, flags[i].name) != 0)
			continue;
		rules->set =
			(uint16_t)(set ? rules->set | flags[i].bit : rules->set & ~flags[i].bit);
		rules->clear = (uint16_t)(set ? rules->clear & ~flags[i].bit
					      : rules->clear | flags[i].bit);
		return 0;
	}
	return srcerr_set(ctx->err, word->pos, "expected aa, ra or rd, got '%s'", word->s);
}

static int parse_rule(struct opt_ctx *ctx, const struct opt_line *line)
{
	const struct word *action = &line->arg[0];
	bool set = strcasecmp(action->s, "set") == 0;
	if (!set && strcasecmp(action->s, "clear") != 0)
		return srcerr_set(ctx->err, action->pos, "expected set or clear, got '%s'",
				  action->s);
	for (size_t i = 1; i < line->n_arg; i++) {
		int r = add_flag(ctx, &line->arg[i], set, ctx->field);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct opt header_opts[] = {
	{ "query", OPT_FN, offsetof(struct header_conf, query), 2, INT64_MAX, .fn = parse_rule,
	  .repeatable = true, .args = "set|clear aa|ra|rd...",
	  .help = "flags of the query, for the plugins below" },
	{ "response", OPT_FN, offsetof(struct header_conf, response), 2, INT64_MAX,
	  .fn = parse_rule, .repeatable = true, .args = "set|clear aa|ra|rd...",
	  .help = "flags of the reply" },
};

static bool has_rules(const struct flag_rules *rules)
{
	return (rules->set | rules->clear) != 0;
}

/* Words in any case, the options' names too. */
static int parse_stanza(struct setup *setup, const struct corefile_dir *dir,
			struct header_conf *ret)
{
	struct opt_ctx ctx = { .arena = setup->arena, .conf = ret, .err = setup->err };
	uint64_t seen = 0;
	if (dir->n_arg != 0)
		return setup_error(setup, dir->arg[0].pos, "header takes no arguments");
	for (size_t i = 0; i < dir->n_body; i++) {
		struct opt_line line = { dir->body[i].name, dir->body[i].arg, dir->body[i].n_arg };
		for (size_t k = 0; k < ARRAY_LEN(header_opts); k++) {
			if (strcasecmp(line.name.s, header_opts[k].name) == 0)
				line.name.s = header_opts[k].name;
		}
		int r = opt_parse_line(header_opts, ARRAY_LEN(header_opts), &line, &seen, &ctx);
		if (r < 0)
			return r;
	}
	return 0;
}

/* As in CoreDNS the first stanza with a rule is the one that counts. */
static int header_parse(struct plugin_inst *self, struct setup *setup)
{
	struct header_conf *c = self->conf;
	for (size_t i = 0; i < setup->n_dir; i++) {
		struct header_conf here = { 0 };
		int r = parse_stanza(setup, setup->dir[i], &here);
		if (r < 0)
			return r;
		if (!has_rules(&c->query) && !has_rules(&c->response))
			*c = here;
	}
	if (!has_rules(&c->query) && !has_rules(&c->response))
		return setup_error(setup, setup->dir[0]->name.pos,
				   "expected a block with 'query' or 'response' rules");
	return 0;
}

static uint16_t apply_rules(const struct flag_rules *rules, uint16_t bits)
{
	return (uint16_t)((bits & ~rules->clear) | rules->set);
}

static enum verdict header_serve(struct plugin_inst *self, struct query *q)
{
	const struct header_conf *c = self->conf;
	q->req.flags = apply_rules(&c->query, q->req.flags);
	return V_NEXT;
}

static enum verdict header_respond(struct plugin_inst *self, struct query *q)
{
	const struct header_conf *c = self->conf;
	if (q->outcome == V_ANSWERED)
		q->resp.flags = apply_rules(&c->response, q->resp.flags);
	return V_NEXT;
}

const struct plugin header_plugin = {
	.name = "header",
	.opts = header_opts,
	.n_opts = ARRAY_LEN(header_opts),
	.conf_size = sizeof(struct header_conf),
	.parse = header_parse,
	.serve = header_serve,
	.respond = header_respond,
};
