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

static bool is(const struct word *w, const char *text)
{
	return slice_eq_nocase(slice_of(w->s), slice_of(text));
}

static bool is_section(const struct word *w)
{
	return is(w, "type") || is(w, "net");
}

static int add_type(struct line *l, const struct word *w)
{
	int type = dns_type_parse(slice_of(w->s), false);
	if (type < 0)
		return setup_error(l->s, w->pos,
				   "expected a record type such as AAAA, or *, got "
				   "'%s'",
				   w->s);
	if (type == 0)
		l->all_types = true; /* the type that CoreDNS calls None stands for all */
	vec_push(&l->types, (uint16_t)type);
	return 0;
}

static int add_net(struct line *l, const struct word *w)
{
	struct net_cidr c;
	if (strchr(w->s, '%') != NULL || net_cidr_parse(slice_of(w->s), &c) < 0)
		return setup_error(l->s, w->pos,
				   "expected an IP address, a network such as 192.0.2.0/24, or *, "
				   "got '%s'",
				   w->s);
	vec_push(&l->nets, c);
	return 0;
}

/* `type WORD...` or `net WORD...`; after a star the rest of the section is of no interest. */
static int read_section(struct line *l)
{
	const struct word *name = l->at++;
	bool types = is(name, "type");
	*(types ? &l->has_types : &l->has_nets) = true;
	if (l->at == l->end || is_section(l->at))
		return setup_error(l->s, name->pos, "expected something after '%s'", name->s);
	bool star = false;
	for (; l->at < l->end && !is_section(l->at); l->at++) {
		star |= strcmp(l->at->s, "*") == 0;
		int r = star ? 0 : types ? add_type(l, l->at) : add_net(l, l->at);
		if (r < 0)
			return r;
	}
	if (star)
		*(types ? &l->all_types : &l->all_nets) = true;
	return 0;
}

static int read_sections(struct line *l)
{
	while (l->at < l->end) {
		if (!is_section(l->at))
			return setup_error(l->s, l->at->pos, "expected 'type' or 'net', got '%s'",
					   l->at->s);
		int r = read_section(l);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_action(const struct word *w)
{
	for (int i = ACL_ALLOW; i < ACL_ACTIONS; i++) {
		if (is(w, action_words[i]))
			return i;
	}
	return ERR_NOTFOUND;
}

static int read_policy(struct setup *s, const struct corefile_dir *d, struct acl_policy *ret)
{
	struct line l = { .s = s, .at = d->arg, .end = d->arg + d->n_arg };
	int action = find_action(&d->name);
	if (action < 0)
		return setup_error(s, d->name.pos,
				   "expected allow, block, filter or drop, got '%s'", d->name.s);
	if (d->has_body)
		return setup_error(s, d->name.pos, "'%s' takes no block", d->name.s);
	int r = read_sections(&l);
	if (r == 0) {
		ret->action = (enum acl_action)action;
		ret->all_types = l.all_types || !l.has_types;
		ret->all_nets = l.all_nets || !l.has_nets;
		ret->type = arena_memdup(s->arena, l.types.v, l.types.n * sizeof(*l.types.v));
		ret->n_types = l.types.n;
		acl_nets_build(&ret->nets, l.nets.v, l.nets.n, s->arena);
	}
	vec_done(&l.types);
	vec_done(&l.nets);
	return r;
}

int acl_rules_parse(struct setup *s, struct acl_rules *ret)
{
	ret->v = arena_calloc(s->arena, s->n_dir * sizeof(*ret->v));
	for (size_t i = 0; i < s->n_dir; i++) {
		const struct corefile_dir *d = s->dir[i];
		struct acl_rule *rule = &ret->v[ret->n++];
		int r = setup_zones(s, d->arg, d->n_arg, &rule->zones);
		if (r < 0)
			return r;
		rule->policy = arena_calloc(s->arena, (d->n_body + 1) * sizeof(*rule->policy));
		for (; rule->n_policies < d->n_body; rule->n_policies++) {
			r = read_policy(s, &d->body[rule->n_policies],
					&rule->policy[rule->n_policies]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool takes_type(const struct acl_policy *p, uint16_t type)
{
	if (p->all_types)
		return true;
	for (size_t i = 0; i < p->n_types; i++) {
		if (p->type[i] == type)
			return true;
	}
	return false;
}

static enum acl_action match_policies(const struct acl_rule *r, const struct query *q)
{
	for (size_t i = 0; i < r->n_policies; i++) {
		const struct acl_policy *p = &r->policy[i];
		if (takes_type(p, q->req.qtype) &&
		    (p->all_nets || acl_nets_has(&p->nets, &q->client)))
			return p->action;
	}
	return ACL_NONE;
}

enum acl_action acl_rules_match(const struct acl_rules *r, const struct query *q,
				const char **ret_zone)
{
	for (size_t i = 0; i < r->n; i++) {
		int zone = zone_list_match(&r->v[i].zones, &q->qname);
		if (zone < 0)
			continue;
		enum acl_action a = match_policies(&r->v[i], q);
		*ret_zone = r->v[i].zones.text[zone];
		if (a != ACL_NONE)
			return a;
	}
	return ACL_NONE;
}
