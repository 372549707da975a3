/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys of blocks and zones of plugins. Where a text has two readings, CoreDNS's is taken: digits
 * after the last colon are a port, what does not parse as a network is a name. */
#include "corefile/key.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum { MAX_LABEL_BYTES = 63, MAX_NAME_BYTES = 255, MAX_TEXT_CHARS = 255, MAX_PORT = 65535 };

const struct corefile_scheme corefile_schemes[COREFILE_N_SCHEMES] = {
	{ "dns", 53 },	 { "tls", 853 },   { "quic", 853 },
	{ "grpc", 443 }, { "https", 443 }, { "https3", 443 },
};

struct network {
	uint8_t addr[16];
	unsigned bits;	/* of the mask */
	unsigned label; /* bits in a label of the reverse name */
	unsigned n_label;
};

static const struct corefile_scheme *cut_scheme(struct slice *text)
{
	for (size_t i = 0; i < COREFILE_N_SCHEMES; i++) {
		size_t n = strlen(corefile_schemes[i].name);
		if (text->n < n + 3 || memcmp(text->p, corefile_schemes[i].name, n) != 0 ||
		    memcmp(text->p + n, "://", 3) != 0)
			continue;
		*text = slice_from(*text, n + 3);
		return &corefile_schemes[i];
	}
	return &corefile_schemes[0];
}

/* Cuts `:port` off: 1 if there was one, 0 if not. Only a number is a port; a sign is allowed
 * because CoreDNS reads it as one. `*ret` is larger than MAX_PORT for what is out of range. */
static int cut_port(struct slice *text, uint64_t *ret)
{
	const char *colon = memrchr(text->p, ':', text->n);
	if (colon == NULL)
		return 0;
	struct slice digits = slice_from(*text, (size_t)(colon - text->p) + 1);
	bool minus = digits.n > 0 && digits.p[0] == '-';
	if (digits.n > 0 && (minus || digits.p[0] == '+'))
		digits = slice_from(digits, 1);
	if (digits.n == 0)
		return 0;
	for (size_t i = 0; i < digits.n; i++) {
		if (!ascii_isdigit(digits.p[i]))
			return 0;
	}
	if (slice_u64(digits, ret) < 0 || (minus && *ret != 0))
		*ret = UINT64_MAX;
	text->n = (size_t)(colon - text->p);
	return 1;
}

/* Bytes of an escape at `pos` (`\DDD` or `\C`), or 0 if it is none. */
static size_t escape_bytes(const char *pos, size_t len)
{
	if (len < 2)
		return 0;
	if (!ascii_isdigit(pos[1]))
		return 2;
	if (len < 4 || !ascii_isdigit(pos[2]) || !ascii_isdigit(pos[3]))
		return 2;
	int value = (pos[1] - '0') * 100 + (pos[2] - '0') * 10 + (pos[3] - '0');
	return value <= UINT8_MAX ? 4 : 0;
}

/* The error of a name, or NULL; `*ret_fqdn`: whether it ends in an unescaped dot. */
static const char *check_name(struct slice text, bool *ret_fqdn)
{
	size_t label = 0, total = 1;
	*ret_fqdn = text.n == 1 && text.p[0] == '.';
	if (text.n == 0)
		return "the zone is empty";
	if (*ret_fqdn)
		return NULL;
	for (size_t i = 0; i < text.n;) {
		size_t n = text.p[i] == '\\' ? escape_bytes(text.p + i, text.n - i) : 1;
		if (n == 0)
			return "bad escape";
		*ret_fqdn = text.p[i] == '.';
		if (*ret_fqdn && label == 0)
			return "empty label";
		label = *ret_fqdn ? 0 : label + 1;
		if (label > MAX_LABEL_BYTES)
			return "a label has more than 63 octets";
		if (label > 0)
			total += label == 1 ? 2 : 1; /* the first octet brings the length with it */
		if (total > MAX_NAME_BYTES)
			return "the name has more than 255 octets";
		i += n;
	}
	return NULL;
}

/* Fills `ret` if the text is ADDRESS/BITS. */
static bool parse_network(struct slice text, struct network *ret)
{
	char addr[INET6_ADDRSTRLEN];
	struct slice bits = text;
	struct slice host = slice_cut(&bits, '/');
	uint64_t n;
	if (host.n >= sizeof(addr) || bits.p == NULL || slice_u64(bits, &n) < 0)
		return false;
	memcpy(addr, host.p, host.n);
	addr[host.n] = '\0';
	*ret = (struct network){ .label = 8, .n_label = 4 };
	if (inet_pton(AF_INET, addr, ret->addr) != 1) {
		*ret = (struct network){ .label = 4, .n_label = 32 };
		if (inet_pton(AF_INET6, addr, ret->addr) != 1)
			return false;
	}
	if (n > ret->label * ret->n_label)
		return false;
	ret->bits = (unsigned)n;
	for (unsigned i = ret->bits; i < ret->label * ret->n_label; i++)
		ret->addr[i / 8] &= (uint8_t) ~(0x80U >> i % 8);
	return true;
}

static unsigned get_label(const struct network *net, unsigned index)
{
	if (net->label == 8)
		return net->addr[index];
	return index % 2 == 0 ? net->addr[index / 2] >> 4 : net->addr[index / 2] & 0xFU;
}

/* The reverse zone of the first `count` labels, `add` added to the last of them. */
static const char *reverse_zone(struct arena *arena, const struct network *net, unsigned count,
				unsigned add)
{
	struct strbuf b = STRBUF_INIT;
	for (unsigned i = count; i-- > 0; add = 0)
		strbuf_addf(&b, net->label == 8 ? "%u." : "%x.", get_label(net, i) + add);
	strbuf_adds(&b, net->label == 8 ? "in-addr.arpa." : "ip6.arpa.");
	const char *zone = arena_strndup(arena, b.s, b.n);
	strbuf_done(&b);
	return zone;
}

static void reverse_zones(struct arena *arena, const struct network *net, const char *const **ret,
			  size_t *ret_n)
{
	unsigned n_label = (net->bits + net->label - 1) / net->label;
	unsigned n = 1U << (n_label * net->label - net->bits);
	const char **zones = arena_alloc(arena, n * sizeof(*zones));
	for (unsigned i = 0; i < n; i++)
		zones[i] = reverse_zone(arena, net, n_label, i);
	*ret = zones;
	*ret_n = n;
}

static int name_zone(struct arena *arena, const struct word *word, struct slice text,
		     const char *const **ret, size_t *ret_n, struct srcerr *reterr)
{
	bool fqdn;
	const char *wrong = check_name(text, &fqdn);
	if (wrong != NULL)
		return srcerr_set(reterr, word->pos, "%s in '%.300s', expected a zone", wrong,
				  word->s);
	char *zone = arena_printf(arena, "%.*s%s", (int)text.n, text.p, fqdn ? "" : ".");
	for (char *p = zone; *p != '\0'; p++)
		*p = ascii_lower(*p);
	const char **zones = arena_alloc(arena, sizeof(*zones));
	zones[0] = zone;
	*ret = zones;
	*ret_n = 1;
	return 0;
}

/* Scheme and port have been cut off. */
static int zones_of(struct arena *arena, const struct word *word, struct slice text,
		    const char *const **ret, size_t *ret_n, struct srcerr *reterr)
{
	struct network net;
	if (text.n > MAX_TEXT_CHARS)
		return srcerr_set(reterr, word->pos,
				  "zone of %zu characters, expected at most %d: '%.100s...'",
				  text.n, MAX_TEXT_CHARS, word->s);
	if (!parse_network(text, &net))
		return name_zone(arena, word, text, ret, ret_n, reterr);
	if (text.p[0] == ':' || (text.p[0] == '0' && slice_find(text, ':') >= 0))
		return srcerr_set(reterr, word->pos,
				  "network '%s' starts with zero, expected another network",
				  word->s);
	reverse_zones(arena, &net, ret, ret_n);
	return 0;
}

static int check_colon(const struct word *word, struct slice text, struct srcerr *reterr)
{
	if (text.n == 0)
		return srcerr_set(reterr, word->pos, "no zone in '%s', expected a zone", word->s);
	if (text.p[text.n - 1] == ':')
		return srcerr_set(reterr, word->pos,
				  "nothing after the last colon of '%.300s', expected a port",
				  word->s);
	return 0;
}

int corefile_key_parse(struct arena *arena, const struct word *word, struct corefile_key *ret,
		       struct srcerr *reterr)
{
	struct slice text = slice_of(word->s);
	struct corefile_key key = { .how = cut_scheme(&text) };
	uint64_t port = 0;
	if (slice_starts(text, SLICE("unix://")))
		return srcerr_set(reterr, word->pos, "no zone can be served at '%.300s'", word->s);
	int r = check_colon(word, text, reterr);
	if (r < 0)
		return r;
	key.scheme = key.how->name;
	key.has_port = cut_port(&text, &port) > 0;
	if (port > MAX_PORT)
		return srcerr_set(reterr, word->pos,
				  "port of '%.300s' out of range, expected 0 to %d", word->s,
				  MAX_PORT);
	key.port = (uint16_t)port;
	r = zones_of(arena, word, text, &key.zones, &key.n_zones, reterr);
	if (r < 0)
		return r;
	*ret = key;
	return 0;
}

int corefile_zones_expand(struct arena *arena, const struct word *word, const char *const **ret,
			  size_t *ret_n, struct srcerr *reterr)
{
	struct slice text = slice_of(word->s);
	uint64_t port;
	cut_scheme(&text);
	int r = check_colon(word, text, reterr);
	if (r < 0)
		return r;
	cut_port(&text, &port);
	return zones_of(arena, word, text, ret, ret_n, reterr);
}
