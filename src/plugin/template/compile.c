/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles the words of `template` stanzas at prepare: patterns, expressions, record templates,
 * zone tables. */
#include "plugin/template/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "dns/rrtext/rrtext.h"
#include "plugin/shared/exprenv.h"
#include "plugin/template/count.h"
#include "plugin/template/record.h"

/* Sets a key of .Group; a later group of the same name takes its place, as in Go. */
static void set_key(struct template_matcher *matcher, const char *name, unsigned group)
{
	for (unsigned i = 0; i < matcher->n_keys; i++) {
		if (slice_is(matcher->key[i].name, name)) {
			matcher->key[i].group = (uint16_t)group;
			return;
		}
	}
	matcher->key[matcher->n_keys++] =
		(struct template_key){ slice_of(xstrdup(name)), (uint16_t)group };
}

static void make_keys(struct template_matcher *matcher)
{
	char number[16];
	unsigned n = matcher->re != NULL ? regex_groups(matcher->re) : 0;
	matcher->n_groups = (uint16_t)(n + 1);
	matcher->key = xcalloc(2 * ((size_t)n + 1), sizeof(*matcher->key));
	for (unsigned i = 0; i <= n; i++) {
		snprintf(number, sizeof(number), "%u", i);
		set_key(matcher, number, i);
	}
	for (unsigned i = 1; i <= n; i++) {
		const char *name = regex_group_name(matcher->re, i);
		if (name != NULL && name[0] != '\0')
			set_key(matcher, name, i);
	}
}

static int compile_matcher(struct template_matcher *matcher, struct srcerr *err)
{
	struct srcerr inner = { .text = "" };
	const char *pattern = matcher->word.s;
	if (strcmp(pattern, ".*") == 0) {
		make_keys(matcher);
		return 0;
	}
	if (strlen(pattern) > REGEX_PATTERN_MAX)
		return srcerr_set(err, matcher->word.pos, "regex pattern too long: %zu > %d",
				  strlen(pattern), REGEX_PATTERN_MAX);
	if (regex_new(slice_of(pattern), &matcher->re, &inner) < 0)
		return srcerr_set(err, matcher->word.pos, "could not parse regex: %s, %s", pattern,
				  inner.text);
	if (regex_groups(matcher->re) > QUERY_REGEX_GROUPS)
		return srcerr_set(err, matcher->word.pos, "regex with more than %d groups",
				  QUERY_REGEX_GROUPS);
	if (regex_is_costly(matcher->re))
		log_warn("plugin/template",
			 "%s:%u:%u: pattern '%s' is costly: some names take hundreds of "
			 "microseconds",
			 matcher->word.pos.file, matcher->word.pos.line, matcher->word.pos.col,
			 pattern);
	make_keys(matcher);
	return 0;
}

static bool is_env_function(const char *name)
{
	for (size_t i = 0; i < EXPRENV_FUNCS; i++) {
		if (strcmp(exprenv_funcs[i].name, name) == 0)
			return true;
	}
	return false;
}

static int check_var_name(const struct word *name, const struct expr_env *env, struct srcerr *err)
{
	bool taken = is_env_function(name->s) || expr_reserved_name(slice_of(name->s));
	for (size_t i = 0; i < env->n_vars && !taken; i++)
		taken = slice_is(env->vars[i].name, name->s);
	if (taken)
		return srcerr_set(err, name->pos, "variable name \"%s\" is reserved", name->s);
	return 0;
}

/* Each line sees the variables above it. */
static int compile_conds(struct template_rule *rule, struct srcerr *err)
{
	VEC(struct expr_var) vars = { 0 };
	struct expr_env env = { .funcs = exprenv_funcs, .n_funcs = EXPRENV_FUNCS };
	int r = 0;
	for (size_t i = 0; i < rule->n_cond && r == 0; i++) {
		struct template_cond *c = &rule->cond[i];
		env.vars = vars.v;
		env.n_vars = vars.n;
		if (c->name != NULL)
			r = check_var_name(c->name, &env, err);
		if (r == 0)
			r = exprenv_parse(c->word, c->n_word, &c->line, &env,
					  c->name != NULL ? c->name->s : NULL, &c->expr, err);
		if (r == 0 && c->name != NULL)
			vec_push(&vars, (struct expr_var){ .name = slice_of(c->name->s),
							   .type = expr_type(c->expr),
							   .constant = expr_constant(c->expr) });
	}
	rule->n_var = vars.n;
	vec_done(&vars);
	return r;
}

static struct dns_zoneset *zoneset_of(const struct zone_list *list)
{
	struct dns_zoneset *zs = dns_zoneset_new();
	for (size_t i = 0; i < list->n; i++)
		dns_zoneset_add(zs, list->wire[i], 0, NULL);
	return zs;
}

static void add_zones(struct template_conf *conf, struct template_rule *rule, uint32_t seq)
{
	rule->zone = xcalloc(rule->zones.n + 1, sizeof(*rule->zone));
	for (size_t i = 0; i < rule->zones.n; i++) {
		rule->zone[i].rule = rule;
		rule->zone[i].text = rule->zones.text[i];
		dns_zoneset_add(conf->zones, rule->zones.wire[i], seq, &rule->zone[i]);
	}
	if (rule->fall.on && !rule->fall.all)
		rule->fall_set = zoneset_of(&rule->fall.zones);
	if (rule->except.n != 0)
		rule->except_set = zoneset_of(&rule->except);
}

static void add_type(struct template_conf *conf, const struct template_rule *rule)
{
	if (rule->zones.n == 0)
		return; /* it can match nothing here */
	if (rule->type == DNS_TYPE_ANY || rule->type >= TEMPLATE_LOW_TYPES)
		conf->any_type = true;
	else
		conf->types[rule->type / 64] |= UINT64_C(1) << rule->type % 64;
}

static int compile_rule(struct template_rule *rule, struct dns_rrtext *rrtext, struct srcerr *err)
{
	int r = 0;
	for (size_t i = 0; i < rule->n_matcher && r == 0; i++)
		r = compile_matcher(&rule->matcher[i], err);
	for (size_t i = 0; i < rule->n_record && r == 0; i++)
		r = template_record_compile(rule, &rule->record[i], rrtext, err);
	if (r == 0)
		r = compile_conds(rule, err);
	return r;
}

int template_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct template_conf *c = self->conf;
	struct dns_rrtext *rrtext = dns_rrtext_new();
	int r = 0;
	c->zones = dns_zoneset_new();
	for (size_t i = 0; i < c->n_rule && r == 0; i++) {
		r = compile_rule(&c->rule[i], rrtext, prepare->err);
		add_zones(c, &c->rule[i], (uint32_t)i);
		add_type(c, &c->rule[i]);
	}
	dns_rrtext_free(rrtext);
	if (r < 0)
		template_teardown(self);
	return r;
}

static void free_rule(struct template_rule *rule)
{
	for (size_t i = 0; i < rule->n_matcher; i++) {
		struct template_matcher *m = &rule->matcher[i];
		regex_free(m->re);
		for (size_t k = 0; k < m->n_keys; k++)
			free((void *)(uintptr_t)m->key[k].name.p);
		free(m->key);
	}
	for (size_t i = 0; i < rule->n_record; i++)
		template_record_done(&rule->record[i]);
	for (size_t i = 0; i < rule->n_cond; i++)
		expr_free(rule->cond[i].expr);
	for (size_t i = 0; rule->zone != NULL && i < rule->zones.n; i++)
		template_count_done(&rule->zone[i]);
	free(rule->zone);
	dns_zoneset_free(rule->fall_set);
	dns_zoneset_free(rule->except_set);
}

void template_teardown(struct plugin_inst *self)
{
	struct template_conf *c = self->conf;
	for (size_t i = 0; i < c->n_rule; i++)
		free_rule(&c->rule[i]);
	dns_zoneset_free(c->zones);
	c->zones = NULL;
	c->n_rule = 0;
}
