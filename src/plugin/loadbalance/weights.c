/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weight files: the parser, and weights by name and address. */
#include "plugin/loadbalance/weights.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "dns/name.h"

struct item {
	union net_addr ip;
	unsigned weight;
};

struct loadbalance_domain {
	VEC(struct item) v;
};

struct loadbalance_weights {
	struct map domains; /* lower-case wire names → struct loadbalance_domain */
};

/* The words of a line; one more than allowed shows that there are too many. */
enum { WORDS_MAX = 3 };

struct parser {
	struct loadbalance_weights *w;
	struct loadbalance_domain *domain; /* of the lines now read */
	struct slice word[WORDS_MAX];
	unsigned n;
	const char *line_start;
	struct srcpos pos; /* of the line */
	struct srcerr *err;
};

static int fail_at_word(struct parser *parser, unsigned word, const char *what)
{
	struct srcpos pos = parser->pos;
	pos.col = (uint32_t)(parser->word[word].p - parser->line_start) + 1;
	return srcerr_set(parser->err, pos, "%s, got '%.*s'", what,
			  (int)MIN(parser->word[word].n, (size_t)80), parser->word[word].p);
}

static int parse_ip(struct slice text, union net_addr *ret)
{
	int r = net_addr_parse_ip(text, ret);
	if (r == 0)
		net_addr_unmap(ret);
	return r;
}

static int take_domain(struct parser *parser)
{
	uint8_t name[DNS_NAME_MAX];
	union net_addr ip;
	if (parse_ip(parser->word[0], &ip) == 0)
		return fail_at_word(parser, 0, "expected a weight behind the address");
	int n = dns_name_from_text(parser->word[0], name);
	if (n < 0)
		return fail_at_word(parser, 0, "expected a domain name");
	dns_name_lower(name, name);
	struct slice key = { (const char *)name, (size_t)n };
	parser->domain = map_get(&parser->w->domains, key);
	if (parser->domain == NULL) {
		parser->domain = xcalloc(1, sizeof(*parser->domain));
		map_set(&parser->w->domains, key, parser->domain);
	}
	return 0;
}

static int take_weight(struct parser *parser)
{
	union net_addr ip;
	uint64_t weight;
	if (parse_ip(parser->word[0], &ip) < 0)
		return fail_at_word(parser, 0, "expected an IP address");
	if (slice_u64(parser->word[1], &weight) < 0 || weight == 0 ||
	    weight > LOADBALANCE_WEIGHT_MAX)
		return fail_at_word(parser, 1, "expected a weight from 1 to 255");
	if (parser->domain == NULL)
		return fail_at_word(parser, 0, "expected a domain name before the first address");
	vec_push(&parser->domain->v, (struct item){ ip, (unsigned)weight });
	return 0;
}

static void split_words(struct parser *parser, struct slice line)
{
	const char *end = line.p + line.n;
	parser->n = 0;
	parser->line_start = line.p;
	for (const char *s = line.p; s < end && parser->n < WORDS_MAX;) {
		const char *start = s;
		while (s < end && !ascii_isspace(*s))
			s++;
		if (s > start)
			parser->word[parser->n++] = (struct slice){ start, (size_t)(s - start) };
		else
			s++;
	}
}

static int take_line(struct parser *parser, struct slice line)
{
	split_words(parser, line);
	if (parser->n == 0 || parser->word[0].p[0] == '#')
		return 0;
	if (parser->n == 1)
		return take_domain(parser);
	return parser->n == 2 ? take_weight(parser)
			      : fail_at_word(parser, 2, "expected the end of the line");
}

int loadbalance_weights_parse(const char *file, struct slice text, struct loadbalance_weights **ret,
			      struct srcerr *reterr)
{
	struct parser p = { .pos = { .file = file, .line = 1, .col = 1 }, .err = reterr };
	if (text.n > LOADBALANCE_WEIGHTS_BYTES_MAX)
		return srcerr_set(reterr, p.pos, "longer than %d bytes",
				  LOADBALANCE_WEIGHTS_BYTES_MAX);
	p.w = xcalloc(1, sizeof(*p.w));
	map_init(&p.w->domains);
	for (; text.n > 0; p.pos.line++) {
		int r = take_line(&p, slice_cut(&text, '\n'));
		if (r < 0) {
			loadbalance_weights_free(p.w);
			return r;
		}
	}
	*ret = p.w;
	return 0;
}

void loadbalance_weights_free(struct loadbalance_weights *weights)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (weights == NULL)
		return;
	while ((e = map_next(&weights->domains, &pos)) != NULL) {
		struct loadbalance_domain *d = e->value;
		vec_done(&d->v);
		free(d);
	}
	map_done(&weights->domains);
	free(weights);
}

const struct loadbalance_domain *loadbalance_weights_find(const struct loadbalance_weights *weights,
							  const uint8_t *name)
{
	uint8_t lower[DNS_NAME_MAX];
	size_t n = dns_name_lower(name, lower);
	return map_get(&weights->domains, (struct slice){ (const char *)lower, n });
}

unsigned loadbalance_weight_of(const struct loadbalance_domain *domain, const union net_addr *ip)
{
	for (size_t i = 0; domain != NULL && i < domain->v.n; i++) {
		if (net_addr_same_ip(&domain->v.v[i].ip, ip))
			return domain->v.v[i].weight;
	}
	return 1;
}
