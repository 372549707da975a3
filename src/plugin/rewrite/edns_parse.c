/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `edns0` rules, and the values they put into options. */
#include "plugin/rewrite/edns_parse.h"

#include <string.h>

#include "base/err.h"
#include "plugin/rewrite/edns.h"

enum { CODE_NSID = 3, CODE_SUBNET = 8 };

/* ---- values ---- */

static bool copy_value(struct rewrite_run *run, const void *data, size_t len, struct slice *ret)
{
	const char *copy = arena_memdup(&run->q->arena, data, len);
	*ret = (struct slice){ copy, len };
	return copy != NULL;
}

static bool fixed_value(const struct rewrite_rule *rule, struct rewrite_run *run, struct slice *ret)
{
	(void)run;
	*ret = rule->edns.data;
	return true;
}

/* In the case of the question. */
static bool qname_value(const struct rewrite_rule *rule, struct rewrite_run *run, struct slice *ret)
{
	(void)rule;
	char text[DNS_NAME_TEXT_MAX];
	size_t n = dns_name_to_text(run->q->req.qname, false, text);
	return copy_value(run, text, n, ret);
}

static bool number_value(struct rewrite_run *run, uint16_t number, struct slice *ret)
{
	uint8_t bytes[2];
	dns_put16(bytes, number);
	return copy_value(run, bytes, sizeof(bytes), ret);
}

static bool qtype_value(const struct rewrite_rule *rule, struct rewrite_run *run, struct slice *ret)
{
	(void)rule;
	return number_value(run, run->q->req.qtype, ret);
}

static bool client_ip_value(const struct rewrite_rule *rule, struct rewrite_run *run,
			    struct slice *ret)
{
	(void)rule;
	ret->p = (const char *)net_addr_bytes(&run->q->client, &ret->n);
	return true;
}

static bool server_ip_value(const struct rewrite_rule *rule, struct rewrite_run *run,
			    struct slice *ret)
{
	(void)rule;
	ret->p = (const char *)net_addr_bytes(&run->q->local, &ret->n);
	return true;
}

static bool client_port_value(const struct rewrite_rule *rule, struct rewrite_run *run,
			      struct slice *ret)
{
	(void)rule;
	return number_value(run, net_addr_port(&run->q->client), ret);
}

static bool server_port_value(const struct rewrite_rule *rule, struct rewrite_run *run,
			      struct slice *ret)
{
	(void)rule;
	return number_value(run, net_addr_port(&run->q->local), ret);
}

static bool protocol_value(const struct rewrite_rule *rule, struct rewrite_run *run,
			   struct slice *ret)
{
	(void)rule;
	*ret = slice_of(query_proto_text(run->q));
	return true;
}

static bool label_value(const struct rewrite_rule *rule, struct rewrite_run *run, struct slice *ret)
{
	struct slice value = query_meta_get(run->q, rule->edns.label);
	return value.n != 0 && copy_value(run, value.p, value.n, ret);
}

/* RFC 7871 6: family, source and scope prefix length, as many bytes as the prefix needs. */
static bool subnet_value(const struct rewrite_rule *rule, struct rewrite_run *run,
			 struct slice *ret)
{
	uint8_t out[4 + 16];
	size_t n;
	const uint8_t *ip = net_addr_bytes(&run->q->client, &n);
	bool v4 = n == 4;
	unsigned bits = v4 ? rule->edns.v4_bits : rule->edns.v6_bits;
	size_t bytes = (bits + 7U) / 8;
	dns_put16(out, v4 ? 1 : 2);
	out[2] = (uint8_t)bits;
	out[3] = 0;
	memcpy(out + 4, ip, bytes);
	if (bits % 8 != 0)
		out[3 + bytes] &= (uint8_t)(0xff00U >> (bits % 8));
	return copy_value(run, out, 4 + bytes, ret);
}

static const struct {
	const char *name;
	bool (*value)(const struct rewrite_rule *rule, struct rewrite_run *run, struct slice *ret);
} variables[] = {
	{ "{qname}", qname_value },
	{ "{qtype}", qtype_value },
	{ "{client_ip}", client_ip_value },
	{ "{client_port}", client_port_value },
	{ "{protocol}", protocol_value },
	{ "{server_ip}", server_ip_value },
	{ "{server_port}", server_port_value },
};

/* ---- words ---- */

/* A number as Go's ParseUint reads it with base 0: prefixes 0x, 0o, 0b, 0, and single underscores
 * between digits and after a prefix. */
static int go_number(const char *text, unsigned max, unsigned *ret)
{
	static const struct {
		char letter;
		int base;
	} prefixes[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
	int base = 10;
	bool digits = false, may_under = false;
	unsigned v = 0;
	if (text[0] == '0' && text[1] != '\0') {
		base = 8;
		may_under = true;
		digits = true; /* the 0 itself */
		text++;
		for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
			if (ascii_lower(*text) != prefixes[i].letter)
				continue;
			base = prefixes[i].base;
			digits = false;
			text++;
			break;
		}
	}
	for (; *text != '\0'; text++) {
		if (*text == '_' && may_under && text[1] != '\0') {
			may_under = false;
			continue;
		}
		int digit = ascii_hex_value(*text);
		if (digit < 0 || digit >= base)
			return ERR_PARSE;
		v = v * (unsigned)base + (unsigned)digit;
		if (v > max)
			return ERR_RANGE;
		digits = may_under = true;
	}
	*ret = v;
	return digits ? 0 : ERR_PARSE;
}

static int parse_code(struct rewrite_words *words, const struct word *at)
{
	unsigned code;
	if (go_number(at->s, UINT16_MAX, &code) < 0)
		return setup_error(words->s, at->pos,
				   "edns0: expected an option code from 0 to 65535, got '%s'",
				   at->s);
	words->rule->edns.code = (uint16_t)code;
	struct block_conf *b = words->s->conf;
	uint16_t *list = arena_alloc(words->s->arena, (b->n_edns_echo + 1) * sizeof(*list));
	if (b->n_edns_echo != 0)
		memcpy(list, b->edns_echo, b->n_edns_echo * sizeof(*list));
	list[b->n_edns_echo++] = (uint16_t)code;
	b->edns_echo = list;
	return 0;
}

static bool is_label(struct slice text)
{
	ptrdiff_t slash = slice_find(text, '/');
	return slash > 0 && (size_t)slash + 1 < text.n;
}

static int parse_variable(struct rewrite_words *words, const struct word *at)
{
	struct rewrite_edns *e = &words->rule->edns;
	struct slice text = slice_of(at->s);
	e->keep_other = true;
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		if (slice_is(text, variables[i].name)) {
			e->value = variables[i].value;
			return 0;
		}
	}
	e->label = (struct slice){ text.p + 1, text.n - 2 };
	e->value = label_value;
	if (!is_label(e->label))
		return setup_error(words->s, at->pos,
				   "edns0: '%s' is neither a variable nor a label of metadata "
				   "such as {plugin/name}",
				   at->s);
	return 0;
}

static int parse_hex(struct rewrite_words *words, const struct word *at)
{
	size_t n = strlen(at->s) - 2;
	char *out = arena_alloc(words->s->arena, n / 2 + 1);
	for (size_t i = 0; i < n; i++) {
		int d = ascii_hex_value(at->s[2 + i]);
		if (d < 0 || n % 2 != 0)
			return setup_error(words->s, at->pos,
					   "edns0: expected pairs of hex digits, got '%s'", at->s);
		out[i / 2] = (char)(i % 2 == 0 ? d << 4 : (out[i / 2] & 0xf0) | d);
	}
	words->rule->edns.data = (struct slice){ out, n / 2 };
	return 0;
}

static int parse_local(struct rewrite_words *words)
{
	struct rewrite_edns *e = &words->rule->edns;
	size_t want = e->action == EDNS_UNSET ? 3 : 4;
	if (words->n != want)
		return setup_error(words->s, words->pos, "edns0 local: expected %s",
				   want == 3 ? "the code of an option"
					     : "the code of an option and its data");
	int r = parse_code(words, &words->v[2]);
	e->only_local = true;
	if (r < 0 || e->action == EDNS_UNSET)
		return r;
	struct slice data = slice_of(words->v[3].s);
	if (data.n >= 2 && data.p[0] == '{' && data.p[data.n - 1] == '}')
		return parse_variable(words, &words->v[3]);
	e->value = fixed_value;
	if (slice_starts(data, SLICE("0x")))
		return parse_hex(words, &words->v[3]);
	e->data = data;
	if (data.n > UINT16_MAX)
		return setup_error(words->s, words->v[3].pos,
				   "edns0: more than 65535 bytes of data");
	return 0;
}

static int parse_nsid(struct rewrite_words *words)
{
	struct rewrite_edns *e = &words->rule->edns;
	if (words->n != 2)
		return setup_error(words->s, words->v[2].pos, "edns0 nsid: unexpected '%s'",
				   words->v[2].s);
	e->code = CODE_NSID;
	if (e->action != EDNS_UNSET)
		e->value = fixed_value;
	return 0;
}

static int parse_bits(struct rewrite_words *words, const struct word *at, unsigned max,
		      uint8_t *ret)
{
	unsigned bits;
	if (go_number(at->s, max, &bits) < 0)
		return setup_error(words->s, at->pos,
				   "edns0 subnet: expected a prefix length from 0 to %u, got '%s'",
				   max, at->s);
	*ret = (uint8_t)bits;
	return 0;
}

static int parse_subnet(struct rewrite_words *words)
{
	struct rewrite_edns *e = &words->rule->edns;
	e->code = CODE_SUBNET;
	e->keep_other = true;
	if (e->action == EDNS_UNSET && words->n == 2)
		return 0;
	if (e->action == EDNS_UNSET || words->n != 4)
		return setup_error(words->s, words->pos, "edns0 subnet: expected %s",
				   e->action == EDNS_UNSET ? "nothing after unset"
							   : "two prefix lengths");
	e->value = subnet_value;
	int r = parse_bits(words, &words->v[2], 32, &e->v4_bits);
	return r < 0 ? r : parse_bits(words, &words->v[3], 128, &e->v6_bits);
}

static const struct {
	const char *word;
	int (*parse)(struct rewrite_words *words);
} kinds[] = { { "local", parse_local }, { "nsid", parse_nsid }, { "subnet", parse_subnet } };

static const char *const actions[] = {
	[EDNS_SET] = "set",
	[EDNS_APPEND] = "append",
	[EDNS_REPLACE] = "replace",
	[EDNS_UNSET] = "unset",
};

int rewrite_parse_edns(struct rewrite_words *words)
{
	struct rewrite_edns *e = &words->rule->edns;
	size_t kind = 0, action = 0;
	if (words->n < 2)
		return setup_error(words->s, words->pos, "edns0: expected an option and an action");
	while (kind < ARRAY_LEN(kinds) &&
	       !slice_eq_nocase(slice_of(words->v[0].s), slice_of(kinds[kind].word)))
		kind++;
	if (kind == ARRAY_LEN(kinds))
		return setup_error(words->s, words->v[0].pos,
				   "edns0: expected local, nsid or subnet, got '%s'",
				   words->v[0].s);
	while (action < ARRAY_LEN(actions) &&
	       !slice_eq_nocase(slice_of(words->v[1].s), slice_of(actions[action])))
		action++;
	if (action == ARRAY_LEN(actions))
		return setup_error(words->s, words->v[1].pos,
				   "edns0: expected set, append, replace or unset, got '%s'",
				   words->v[1].s);
	e->action = (enum rewrite_edns_action)action;
	if (e->action != EDNS_UNSET && strcmp(words->v[words->n - 1].s, "revert") == 0) {
		e->revert = true;
		words->n--;
	}
	words->rule->apply = rewrite_apply_edns;
	words->conf->n_edns++;
	return kinds[kind].parse(words);
}
