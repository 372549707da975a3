/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a DNSRecord's texts to the one form of its record set: names, addresses, TXT values. */
#include "api/record_set.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "dns/types.h"

/* What is refused, as the end of a sentence; NULL: nothing. */
typedef const char *refusal;

/* ---- names ---- */

static bool is_label_char(char ch, bool allow_underscore)
{
	return (ch >= 'a' && ch <= 'z') || ascii_isdigit(ch) || ch == '-' ||
	       (ch == '_' && allow_underscore);
}

static bool is_label(struct slice label, bool allow_underscore)
{
	if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-')
		return false;
	for (size_t i = 0; i < label.n; i++) {
		if (!is_label_char(label.p[i], allow_underscore))
			return false;
	}
	return true;
}

/* Lower case, without the final dot. */
static char *copy_name(struct arena *arena, const char *text)
{
	size_t n = strlen(text);
	char *name = arena_memdup(arena, text, n + 1);
	if (n != 0 && name[n - 1] == '.')
		name[n - 1] = '\0';
	for (char *at = name; *at != '\0'; at++)
		*at = ascii_lower(*at);
	return name;
}

static bool is_ascii(const char *text)
{
	while (*text != '\0' && (unsigned char)*text < 0x80)
		text++;
	return *text == '\0';
}

static refusal check_labels(const char *name, bool allow_underscore)
{
	struct slice rest = slice_of(name);
	size_t n = 0;
	if (rest.n > API_RECORD_NAME_MAX)
		return "must have at most 253 characters";
	if (!is_ascii(name))
		return "must be a domain name in ASCII: write other letters in their xn-- form";
	do {
		if (!is_label(slice_cut(&rest, '.'), allow_underscore))
			return "must be a domain name: labels of letters, digits and hyphens";
		n++;
	} while (rest.p != NULL);
	return n < 2 ? "must be a domain name of at least two labels" : NULL;
}

/* DR-8: wildcards for all types but TXT, underscores for TXT and CNAME. */
static refusal check_owner(const char *name, int type)
{
	bool is_wildcard = strncmp(name, "*.", 2) == 0;
	bool allow_underscore = type == API_RECORD_TXT || type == API_RECORD_CNAME;
	if (is_wildcard && type == API_RECORD_TXT)
		return "must not be a wildcard for records of type TXT";
	return check_labels(is_wildcard ? name + 2 : name, allow_underscore);
}

/* ---- values ---- */

static refusal make_ipv4(struct arena *arena, const char *text, const char **ret)
{
	struct in_addr address;
	char canonical[INET_ADDRSTRLEN];
	if (inet_pton(AF_INET, text, &address) != 1)
		return "must be an IPv4 address";
	inet_ntop(AF_INET, &address, canonical, sizeof(canonical));
	*ret = arena_strdup(arena, canonical);
	return NULL;
}

static refusal make_ipv6(struct arena *arena, const char *text, const char **ret)
{
	struct in6_addr address;
	char canonical[INET6_ADDRSTRLEN];
	if (inet_pton(AF_INET6, text, &address) != 1)
		return "must be an IPv6 address";
	if (IN6_IS_ADDR_V4MAPPED(&address))
		return "must be an IPv6 address, not one that is mapped from IPv4";
	inet_ntop(AF_INET6, &address, canonical, sizeof(canonical));
	*ret = arena_strdup(arena, canonical);
	return NULL;
}

static refusal make_target(struct arena *arena, const char *text, const char **ret)
{
	const char *name = copy_name(arena, text);
	refusal reason = check_labels(name, true);
	*ret = name;
	return reason;
}

/* \DDD or \c at `*at`; -1: neither. */
static int read_escape(const char **at)
{
	const char *text = *at + 1;
	if (*text == '\0')
		return -1;
	if (!ascii_isdigit(*text)) {
		*at = text + 1;
		return (unsigned char)*text;
	}
	if (!ascii_isdigit(text[1]) || !ascii_isdigit(text[2]))
		return -1;
	int value = (text[0] - '0') * 100 + (text[1] - '0') * 10 + (text[2] - '0');
	*at = text + 3;
	return value > 0 && value < 256 ? value : -1; /* no NUL: our texts end there */
}

/* One quoted string at `*at`, appended; false: it is malformed. */
static bool read_quoted(const char **at, char *out, size_t *out_n)
{
	const char *text = *at + 1;
	while (*text != '"') {
		int ch = (unsigned char)*text;
		if (ch == '\0')
			return false;
		if (ch == '\\')
			ch = read_escape(&text);
		else
			text++;
		if (ch < 0)
			return false;
		out[(*out_n)++] = (char)ch;
	}
	*at = text + 1;
	return true;
}

/* DR-29: a value that begins and ends with a double quote is in presentation format, one or several
 * strings; any other is the text itself. */
static refusal make_text(struct arena *arena, const char *text, const char **ret)
{
	size_t n = strlen(text), out_n = 0;
	if (n > API_RECORD_TXT_MAX)
		return "must have at most 4096 bytes";
	if (n < 2 || text[0] != '"' || text[n - 1] != '"') {
		*ret = arena_strdup(arena, text);
		return NULL;
	}
	char *out = arena_alloc(arena, n + 1);
	while (*text != '\0') {
		if (*text != '"' || !read_quoted(&text, out, &out_n))
			return "must be quoted strings, separated by blanks, with \\\" and \\\\ "
			       "escaped";
		while (*text == ' ')
			text++;
	}
	out[out_n] = '\0';
	*ret = out;
	return NULL;
}

static refusal (*const makers[])(struct arena *arena, const char *text, const char **ret) = {
	[API_RECORD_A] = make_ipv4,
	[API_RECORD_AAAA] = make_ipv6,
	[API_RECORD_CNAME] = make_target,
	[API_RECORD_TXT] = make_text,
};

static const uint16_t dns_types[] = {
	[API_RECORD_A] = DNS_TYPE_A,
	[API_RECORD_AAAA] = DNS_TYPE_AAAA,
	[API_RECORD_CNAME] = DNS_TYPE_CNAME,
	[API_RECORD_TXT] = DNS_TYPE_TXT,
};

/* ---- the whole ---- */

static void add_refusal(struct api_errors *errs, const char *field, const char *value,
			refusal reason)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, slice_of(value));
	api_errors_add(errs, API_FIELD_INVALID, field, quoted.s, reason);
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* DR-30: values are a set. */
static void sort_values(struct api_strings *values)
{
	size_t kept = 0;
	if (values->n != 0)
		qsort(values->v, values->n, sizeof(*values->v), compare_texts);
	for (size_t i = 0; i < values->n; i++) {
		if (kept == 0 || strcmp(values->v[kept - 1], values->v[i]) != 0)
			values->v[kept++] = values->v[i];
	}
	values->n = kept;
}

static void make_values(const struct api_dnsrecord *record, struct arena *arena,
			struct api_record_set *set, struct api_errors *errs)
{
	set->values.v = arena_alloc(arena, record->values.n * sizeof(*set->values.v));
	for (size_t i = 0; i < record->values.n; i++) {
		const char *text = record->values.v[i];
		refusal reason = makers[record->record_type](arena, text, &set->values.v[i]);
		CLEANUP(strbuf_done) struct strbuf field = STRBUF_INIT;
		strbuf_addf(&field, "spec.values[%zu]", i);
		if (reason == NULL && record->record_type == API_RECORD_CNAME &&
		    strcmp(set->values.v[i], set->name) == 0)
			reason = "must not be the record's own name";
		if (reason != NULL)
			add_refusal(errs, field.s, text, reason);
	}
	set->values.n = record->values.n;
}

int api_record_set_make(const struct api_dnsrecord *record, struct arena *arena,
			struct api_record_set *ret, struct api_errors *errs)
{
	size_t before = errs->n;
	struct api_record_set set = { .name = copy_name(arena, record->name),
				      .type = dns_types[record->record_type],
				      .ttl_s = (uint32_t)record->ttl_s };
	refusal reason = check_owner(set.name, record->record_type);
	if (reason != NULL)
		add_refusal(errs, "spec.name", record->name, reason);
	if (record->values.n == 0) /* to a provider this would be a deletion */
		api_errors_add(errs, API_FIELD_REQUIRED, "spec.values", NULL, "");
	make_values(record, arena, &set, errs);
	if (errs->n != before)
		return ERR_CONFIG;
	sort_values(&set.values);
	if (record->record_type == API_RECORD_CNAME && set.values.n != 1) {
		api_errors_add(errs, API_FIELD_INVALID, "spec.values", NULL,
			       "records of type CNAME must have exactly one value");
		return ERR_CONFIG;
	}
	*ret = set;
	return 0;
}
