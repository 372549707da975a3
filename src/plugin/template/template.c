/* SPDX-License-Identifier: GPL-3.0-or-later */
/* template: answers made of the question, by rules in file order. Here the stanzas are read; what
 * needs compiling is kept as words for prepare. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "plugin/template/compile.h"
#include "plugin/template/serve.h"
#include "plugin/template/template_priv.h"

/* The lines of one stanza while they are read. */
struct reading {
	struct setup *s;
	struct template_rule *rule;
	VEC(struct template_matcher) matchers;
	VEC(struct template_record) records[DNS_SECTIONS];
	VEC(struct template_cond) conds;
	VEC(struct word) except;
};

static int opt_match(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	for (size_t i = 0; i < line->n_arg; i++)
		vec_push(&r->matchers, (struct template_matcher){ .word = line->arg[i] });
	return 0;
}

static int add_records(struct opt_ctx *ctx, const struct opt_line *line, enum dns_section section)
{
	struct reading *r = ctx->user;
	for (size_t i = 0; i < line->n_arg; i++)
		vec_push(&r->records[section],
			 (struct template_record){ .word = line->arg[i], .section = section });
	return 0;
}

static int opt_answer(struct opt_ctx *ctx, const struct opt_line *line)
{
	return add_records(ctx, line, DNS_ANSWER);
}

static int opt_additional(struct opt_ctx *ctx, const struct opt_line *line)
{
	return add_records(ctx, line, DNS_ADDITIONAL);
}

static int opt_authority(struct opt_ctx *ctx, const struct opt_line *line)
{
	return add_records(ctx, line, DNS_AUTHORITY);
}

static bool is_identifier(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isalpha(text.p[i]) && text.p[i] != '_' &&
		    !(i > 0 && ascii_isdigit(text.p[i])))
			return false;
	}
	return text.n != 0;
}

static int opt_var(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	const struct word *name = &line->arg[0];
	if (!is_identifier(slice_of(name->s)))
		return srcerr_set(ctx->err, name->pos, "invalid variable name \"%s\"", name->s);
	vec_push(&r->conds, (struct template_cond){ .line = line->name,
						    .name = name,
						    .word = line->arg + 1,
						    .n_word = line->n_arg - 1 });
	return 0;
}

static int opt_expr(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	vec_push(&r->conds, (struct template_cond){
				    .line = line->name, .word = line->arg, .n_word = line->n_arg });
	return 0;
}

static int opt_rcode(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	int code = dns_rcode_parse(slice_of(line->arg[0].s));
	if (code < 0)
		return srcerr_set(ctx->err, line->arg[0].pos,
				  "unknown rcode '%s', expected a name such as NXDOMAIN",
				  line->arg[0].s);
	r->rule->rcode = (uint16_t)code;
	return 0;
}

static int opt_ederror(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	uint64_t code;
	if (slice_u64(slice_of(line->arg[0].s), &code) < 0 || code > UINT16_MAX)
		return srcerr_set(ctx->err, line->arg[0].pos,
				  "ederror: expected a number from 0 to 65535, got '%s'",
				  line->arg[0].s);
	r->rule->has_ede = true;
	r->rule->ede = (uint16_t)code;
	r->rule->ede_text = slice_of(line->n_arg > 1 ? line->arg[1].s : "");
	return 0;
}

static int opt_fallthrough(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	return setup_fallthrough(r->s, line->arg, line->n_arg, &r->rule->fall);
}

static int opt_except(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct reading *r = ctx->user;
	for (size_t i = 0; i < line->n_arg; i++)
		vec_push(&r->except, line->arg[i]);
	return 0;
}

/* Targets of CNAME records are always looked up. */
static int opt_upstream(struct opt_ctx *ctx, const struct opt_line *line)
{
	(void)ctx;
	(void)line;
	return 0;
}

enum { ANY_NUMBER = 1 << 30 };

static const struct opt template_opts[] = {
	{ "<class>", OPT_STRING, 0, .args = "CLASS", .help = "class of queries, or ANY" },
	{ "<type>", OPT_STRING, 0, .args = "TYPE", .help = "type of queries, or ANY" },
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones of names (default: those of the block)" },
	{ "match", OPT_FN, 0, 1, ANY_NUMBER, .fn = opt_match, .repeatable = true,
	  .args = "REGEX...", .help = "patterns for the name; the first match is used" },
	{ "answer", OPT_FN, 0, 1, ANY_NUMBER, .fn = opt_answer, .repeatable = true, .args = "RR...",
	  .help = "record templates of the answer section" },
	{ "additional", OPT_FN, 0, 1, ANY_NUMBER, .fn = opt_additional, .repeatable = true,
	  .args = "RR...", .help = "record templates of the additional section" },
	{ "authority", OPT_FN, 0, 1, ANY_NUMBER, .fn = opt_authority, .repeatable = true,
	  .args = "RR...", .help = "record templates of the authority section" },
	{ "var", OPT_FN, 0, 2, ANY_NUMBER, .fn = opt_var, .repeatable = true,
	  .args = "NAME EXPRESSION", .help = "computes a variable, .Var.NAME" },
	{ "expr", OPT_FN, 0, 1, ANY_NUMBER, .fn = opt_expr, .repeatable = true,
	  .args = "EXPRESSION", .help = "condition; all of them must be true" },
	{ "rcode", OPT_FN, 0, 1, 1, .fn = opt_rcode, .repeatable = true, .args = "CODE",
	  .help = "response code (default NOERROR)" },
	{ "ederror", OPT_FN, 0, 1, 2, .fn = opt_ederror, .repeatable = true,
	  .args = "NUMBER [TEXT]", .help = "extended DNS error to add" },
	{ "fallthrough", OPT_FN, 0, .fn = opt_fallthrough, .repeatable = true, .args = "[ZONE...]",
	  .help = "pass queries that match no pattern to the next plugin" },
	{ "upstream", OPT_FN, 0, .fn = opt_upstream, .repeatable = true, .args = "[ANY...]",
	  .help = "accepted, without effect" },
	{ "except", OPT_FN, 0, 1, ANY_NUMBER, .fn = opt_except, .repeatable = true,
	  .args = "ZONE...", .help = "zones whose names this template ignores" },
};

static int read_class_and_type(struct setup *setup, const struct corefile_dir *dir,
			       struct template_rule *rule)
{
	if (dir->n_arg < 2)
		return setup_error(setup, dir->end, "template: expected a class and a type");
	int cls = dns_class_parse(slice_of(dir->arg[0].s), false);
	if (cls < 0)
		return setup_error(setup, dir->arg[0].pos,
				   "invalid query class '%s', expected one such as IN or ANY",
				   dir->arg[0].s);
	int type = dns_type_parse(slice_of(dir->arg[1].s), false);
	if (type < 0)
		return setup_error(setup, dir->arg[1].pos,
				   "invalid record type '%s', expected one such as AAAA or ANY",
				   dir->arg[1].s);
	rule->cls = (uint16_t)cls;
	rule->type = (uint16_t)type;
	return 0;
}

/* Can a name of the block be in one of the zones? */
static bool can_match(const struct zone_list *block, const struct zone_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct dns_qname q;
		dns_qname_set(&q, list->wire[i]);
		if (zone_list_match(block, &q) >= 0)
			return true;
		for (size_t k = 0; k < block->n; k++) {
			if (dns_name_is_below(block->wire[k], list->wire[i]))
				return true;
		}
	}
	return false;
}

/* Which words to keep: CoreDNS passes over those that are no zones, so a file that has them still
 * loads; and the DNS operator writes all zones into every block, most of which can never match
 * there (OP-T23). */
static size_t choose_zones(struct setup *setup, const struct corefile_dir *dir, struct word *good)
{
	enum { BLOCK_ZONES_MAX = 64 }; /* with more, all are kept: the work is their product */
	struct srcerr ignored;
	struct arena scratch;
	struct setup lenient = *setup;
	struct zone_list block;
	arena_init(&scratch);
	lenient.err = &ignored;
	lenient.arena = &scratch;
	size_t n = 0;
	bool all = block_renames(setup->block) || setup_zones(setup, NULL, 0, &block) < 0 ||
		   block.n > BLOCK_ZONES_MAX;
	for (size_t i = 2; i < dir->n_arg; i++) {
		struct zone_list one;
		char place[512];
		arena_reset(&scratch);
		if (setup_zones(&lenient, &dir->arg[i], 1, &one) < 0)
			log_warn("plugin/template", "%s: this zone is ignored",
				 srcerr_str(&ignored, place, sizeof(place)));
		else if (all || can_match(&block, &one))
			good[n++] = dir->arg[i];
	}
	arena_done(&scratch);
	return n;
}

static int read_zones(struct setup *setup, const struct corefile_dir *dir, struct zone_list *ret)
{
	if (dir->n_arg == 2)
		return setup_zones(setup, NULL, 0, ret);
	struct word *good = xcalloc(dir->n_arg - 2, sizeof(*good));
	size_t n = choose_zones(setup, dir, good);
	*ret = (struct zone_list){ 0 };
	int r = n != 0 ? setup_zones(setup, good, n, ret) : 0;
	free(good);
	return r;
}

static int finish_rule(struct reading *reading)
{
	static const enum dns_section order[] = { DNS_ANSWER, DNS_ADDITIONAL, DNS_AUTHORITY };
	struct arena *a = reading->s->arena;
	struct template_rule *rule = reading->rule;
	if (reading->matchers.n == 0)
		vec_push(&reading->matchers, (struct template_matcher){ .word = { .s = ".*" } });
	rule->matcher =
		arena_memdup(a, reading->matchers.v, reading->matchers.n * sizeof(*rule->matcher));
	rule->n_matcher = reading->matchers.n;
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		rule->n_record += reading->records[order[i]].n;
	rule->record = arena_alloc(a, rule->n_record * sizeof(*rule->record));
	size_t at = 0;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		for (size_t k = 0; k < reading->records[order[i]].n; k++)
			rule->record[at++] = reading->records[order[i]].v[k];
	}
	if (reading->conds.n != 0)
		rule->cond =
			arena_memdup(a, reading->conds.v, reading->conds.n * sizeof(*rule->cond));
	rule->n_cond = reading->conds.n;
	if (reading->except.n == 0)
		return 0;
	return setup_zones(reading->s, reading->except.v, reading->except.n, &rule->except);
}

static int read_rule(struct setup *setup, const struct corefile_dir *dir,
		     struct template_rule *rule)
{
	struct reading r = { .s = setup, .rule = rule };
	int e = read_class_and_type(setup, dir, rule);
	if (e == 0)
		e = read_zones(setup, dir, &rule->zones);
	if (e == 0)
		e = setup_body(setup, dir, template_opts, ARRAY_LEN(template_opts), rule, &r);
	if (e == 0)
		e = finish_rule(&r);
	vec_done(&r.matchers);
	for (size_t i = 0; i < DNS_SECTIONS; i++)
		vec_done(&r.records[i]);
	vec_done(&r.conds);
	vec_done(&r.except);
	return e;
}

static int template_parse(struct plugin_inst *self, struct setup *setup)
{
	struct template_conf *c = self->conf;
	c->rule = arena_calloc(setup->arena, setup->n_dir * sizeof(*c->rule));
	for (size_t i = 0; i < setup->n_dir; i++) {
		int r = read_rule(setup, setup->dir[i], &c->rule[i]);
		if (r < 0)
			return r;
	}
	c->n_rule = setup->n_dir;
	return 0;
}

const struct plugin template_plugin = {
	.name = "template",
	.opts = template_opts,
	.n_opts = ARRAY_LEN(template_opts),
	.conf_size = sizeof(struct template_conf),
	.state_size = sizeof(struct template_run),
	.parse = template_parse,
	.prepare = template_prepare,
	.teardown = template_teardown,
	.worker_done = template_worker_done,
	.serve = template_serve,
	.resume = template_resume,
};
