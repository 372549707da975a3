/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `acl` stanzas, and finding the policy for a query. */
#include "plugin/acl/rules.h"

#include <string.h>

#include "base/err.h"
#include "base/vec.h"

static const char *const action_words[ACL_ACTIONS] = {
	[ACL_ALLOW] = "allow",
	[ACL_BLOCK] = "block",
	[ACL_FILTER] = "filter",
	[ACL_DROP] = "drop",
};

/* One policy line being read. */
struct line {
	struct setup *s;
	const struct word *at, *end;
	VEC(uint16_t) types;
	VEC(struct net_cidr) nets;
	bool all_types, all_nets, has_types, has_nets;
};

static bool is_word(const struct word *word, const char *text)
{
	return slice_eq_nocase(slice_of(word->s), slice_of(text));
}

static bool is_section(const struct word *word)
{
	return is_word(word, "type") || is_word(word, "net");
}

static int add_type(struct line *line, const struct word *word)
{
	int type = dns_type_parse(slice_of(word->s), false);
	if (type < 0)
		return setup_error(line->s, word->pos,
				   "expected a record type such as AAAA, or *, got "
				   "'%s'",
				   word->s);
	if (type == 0)
		line->all_types = true; /* the type that CoreDNS calls None stands for all */
	vec_push(&line->types, (uint16_t)type);
	return 0;
}

static int add_net(struct line *line, const struct word *word)
{
	struct net_cidr c;
	if (strchr(word->s, '%') != NULL || net_cidr_parse(slice_of(word->s), &c) < 0)
		return setup_error(line->s, word->pos,
				   "expected an IP address, a network such as 192.0.2.0/24, or *, "
				   "got '%s'",
				   word->s);
	vec_push(&line->nets, c);
	return 0;
}

/* `type WORD...` or `net WORD...`; after a star the rest of the section is of no interest. */
static int read_section(struct line *line)
{
	const struct word *name = line->at++;
	bool types = is_word(name, "type");
	*(types ? &line->has_types : &line->has_nets) = true;
	if (line->at == line->end || is_section(line->at))
		return setup_error(line->s, name->pos, "expected something after '%s'", name->s);
	bool star = false;
	for (; line->at < line->end && !is_section(line->at); line->at++) {
		star |= strcmp(line->at->s, "*") == 0;
		int r = star ? 0 : types ? add_type(line, line->at) : add_net(line, line->at);
		if (r < 0)
			return r;
	}
	if (star)
		*(types ? &line->all_types : &line->all_nets) = true;
	return 0;
}

static int read_sections(struct line *line)
{
	while (line->at < line->end) {
		if (!is_section(line->at))
			return setup_error(line->s, line->at->pos,
					   "expected 'type' or 'net', got '%s'", line->at->s);
		int r = read_section(line);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_action(const struct word *word)
{
	for (int i = ACL_ALLOW; i < ACL_ACTIONS; i++) {
		if (is_word(word, action_words[i]))
			return i;
	}
	return ERR_NOTFOUND;
}

static int read_policy(struct setup *setup, const struct corefile_dir *dir, struct acl_policy *ret)
{
	struct line l = { .s = setup, .at = dir->arg, .end = dir->arg + dir->n_arg };
	int action = find_action(&dir->name);
	if (action < 0)
		return setup_error(setup, dir->name.pos,
				   "expected allow, block, filter or drop, got '%s'", dir->name.s);
	if (dir->has_body)
		return setup_error(setup, dir->name.pos, "'%s' takes no block", dir->name.s);
	int r = read_sections(&l);
	if (r == 0) {
		ret->action = (enum acl_action)action;
		ret->all_types = l.all_types || !l.has_types;
		ret->all_nets = l.all_nets || !l.has_nets;
		ret->type = arena_memdup(setup->arena, l.types.v, l.types.n * sizeof(*l.types.v));
		ret->n_types = l.types.n;
		acl_nets_build(&ret->nets, l.nets.v, l.nets.n, setup->arena);
	}
	vec_done(&l.types);
	vec_done(&l.nets);
	return r;
}

int acl_rules_parse(struct setup *setup, struct acl_rules *ret)
{
	ret->v = arena_calloc(setup->arena, setup->n_dir * sizeof(*ret->v));
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		struct acl_rule *rule = &ret->v[ret->n++];
		int r = setup_zones(setup, d->arg, d->n_arg, &rule->zones);
		if (r < 0)
			return r;
		rule->policy = arena_calloc(setup->arena, (d->n_body + 1) * sizeof(*rule->policy));
		for (; rule->n_policies < d->n_body; rule->n_policies++) {
			r = read_policy(setup, &d->body[rule->n_policies],
					&rule->policy[rule->n_policies]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool takes_type(const struct acl_policy *policy, uint16_t type)
{
	if (policy->all_types)
		return true;
	for (size_t i = 0; i < policy->n_types; i++) {
		if (policy->type[i] == type)
			return true;
	}
	return false;
}

static enum acl_action match_policies(const struct acl_rule *rule, const struct query *q)
{
	for (size_t i = 0; i < rule->n_policies; i++) {
		const struct acl_policy *p = &rule->policy[i];
		if (takes_type(p, q->req.qtype) &&
		    (p->all_nets || acl_nets_has(&p->nets, &q->client)))
			return p->action;
	}
	return ACL_NONE;
}

enum acl_action acl_rules_match(const struct acl_rules *rules, const struct query *q,
				const char **ret_zone)
{
	for (size_t i = 0; i < rules->n; i++) {
		int zone = zone_list_match(&rules->v[i].zones, &q->qname);
		if (zone < 0)
			continue;
		enum acl_action a = match_policies(&rules->v[i], q);
		*ret_zone = rules->v[i].zones.text[zone];
		if (a != ACL_NONE)
			return a;
	}
	return ACL_NONE;
}
