/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the wire form of every query beforehand, so that sending one is a copy and an id. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "queries.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum {
	QUERIES_MAX = 4 << 20,
	DNS_HEADER_LEN = 12,
};

_Noreturn void fail(const char *fmt, ...)
{
	va_list ap;

	fputs("bench-load: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

static void *xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size);

	if (p == NULL)
		fail("out of memory");
	return p;
}

static void put16(unsigned char *p, unsigned v)
{
	p[0] = (unsigned char)(v >> 8);
	p[1] = (unsigned char)v;
}

static const struct rrtype {
	const char *name;
	uint16_t value;
} rrtypes[] = {
	{ "A", 1 },	{ "NS", 2 },	 { "CNAME", 5 }, { "SOA", 6 },	   { "PTR", 12 },
	{ "MX", 15 },	{ "TXT", 16 },	 { "AAAA", 28 }, { "SRV", 33 },	   { "DS", 43 },
	{ "SVCB", 64 }, { "HTTPS", 65 }, { "ANY", 255 }, { "DNSKEY", 48 }, { "NAPTR", 35 },
};

static unsigned parse_rrtype(const char *s)
{
	unsigned long v;
	char *end;

	for (size_t i = 0; i < ARRAY_LEN(rrtypes); i++)
		if (strcasecmp(s, rrtypes[i].name) == 0)
			return rrtypes[i].value;
	if (strncasecmp(s, "TYPE", 4) == 0) {
		v = strtoul(s + 4, &end, 10);
		if (end != s + 4 && *end == '\0' && v <= 65535)
			return (unsigned)v;
	}
	fail("unknown record type '%s'", s);
}

static size_t put_name(unsigned char *p, const char *name)
{
	size_t len = 0;

	while (*name != '\0' && strcmp(name, ".") != 0) {
		size_t n = strcspn(name, ".");

		if (n == 0 || n > 63 || len + n + 2 > 255 || memchr(name, '\\', n) != NULL)
			fail("cannot encode the name at '%s'", name);
		p[len++] = (unsigned char)n;
		memcpy(p + len, name, n);
		len += n;
		name += n;
		if (*name == '.')
			name++;
	}
	p[len++] = 0;
	return len;
}

static size_t put_query(unsigned char *p, const struct queries_opts *o, const char *name,
			unsigned type)
{
	size_t len = DNS_HEADER_LEN;

	memset(p, 0, DNS_HEADER_LEN);
	p[2] = o->rd ? 1 : 0;
	put16(p + 4, 1);
	len += put_name(p + len, name);
	put16(p + len, type);
	put16(p + len + 2, 1);
	len += 4;
	if (o->edns > 0) {
		put16(p + 10, 1);
		memset(p + len, 0, 11);
		put16(p + len + 1, 41);
		put16(p + len + 3, (unsigned)o->edns);
		len += 11;
	}
	return len;
}

static void add(struct queries *q, const struct queries_opts *o, const char *name, unsigned type)
{
	if (q->n == QUERIES_MAX)
		fail("more than %d queries", QUERIES_MAX);
	if (q->n + 2 > q->size) {
		q->size = q->size > 0 ? 2 * q->size : 1024;
		q->start = xrealloc(q->start, q->size * sizeof(*q->start));
	}
	if (q->wire_len + QUERIES_WIRE_MAX > q->wire_size) {
		q->wire_size = q->wire_size > 0 ? 2 * q->wire_size : 65536;
		q->wire = xrealloc(q->wire, q->wire_size);
	}
	q->start[q->n++] = (uint32_t)q->wire_len;
	q->wire_len += put_query(q->wire + q->wire_len, o, name, type);
	q->start[q->n] = (uint32_t)q->wire_len;
}

/* "NAME TYPE", where {n} in NAME stands for each number from..to. */
static void add_pattern(struct queries *q, const struct queries_opts *o, const char *pattern,
			unsigned long from, unsigned long to)
{
	char name[300], type[32], full[400];
	char *mark;
	unsigned rrtype;

	if (sscanf(pattern, "%299s %31s", name, type) != 2)
		fail("'%s' is not 'NAME TYPE'", pattern);
	rrtype = parse_rrtype(type);
	mark = strstr(name, "{n}");
	if (mark == NULL) {
		add(q, o, name, rrtype);
		return;
	}
	*mark = '\0';
	for (unsigned long i = from; i <= to; i++) {
		snprintf(full, sizeof(full), "%s%lu%s", name, i, mark + 3);
		add(q, o, full, rrtype);
	}
}

static void add_file(struct queries *q, const struct queries_opts *o)
{
	char line[512];
	FILE *f = fopen(o->file, "re");

	if (f == NULL)
		fail("cannot open '%s': %s", o->file, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL) {
		size_t skip = strspn(line, " \t\r\n");

		if (line[skip] != '\0' && line[skip] != '#' && line[skip] != ';')
			add_pattern(q, o, line + skip, 0, 0);
	}
	fclose(f);
}

/* Fisher and Yates, with xorshift64*: the same seed gives the same order everywhere. */
static void shuffle(struct queries *q, uint64_t seed)
{
	q->order = xrealloc(NULL, q->n * sizeof(*q->order));
	for (size_t i = 0; i < q->n; i++)
		q->order[i] = (uint32_t)i;
	for (size_t i = q->n - 1; i > 0; i--) {
		seed ^= seed >> 12;
		seed ^= seed << 25;
		seed ^= seed >> 27;
		size_t k = (size_t)((seed * 0x2545f4914f6cdd1dULL) >> 33) % (i + 1);
		uint32_t kept = q->order[i];
		q->order[i] = q->order[k];
		q->order[k] = kept;
	}
}

void queries_init(struct queries *q, const struct queries_opts *o)
{
	unsigned long from = 0, to = 999;

	memset(q, 0, sizeof(*q));
	if (o->range != NULL && (sscanf(o->range, "%lu:%lu", &from, &to) != 2 || from > to))
		fail("--range: '%s' is not FROM:TO", o->range);
	for (unsigned i = 0; i < o->n_patterns; i++)
		add_pattern(q, o, o->pattern[i], from, to);
	if (o->file != NULL)
		add_file(q, o);
	if (q->n == 0)
		fail("no queries: give --query 'NAME TYPE' or --queries FILE");
	if (o->shuffle > 0)
		shuffle(q, o->shuffle);
}

size_t queries_next(struct queries *q, unsigned char *p, unsigned id)
{
	size_t i = q->order != NULL ? q->order[q->next] : q->next;
	size_t len = q->start[i + 1] - q->start[i];

	memcpy(p, q->wire + q->start[i], len);
	put16(p, id);
	q->next = q->next + 1 == q->n ? 0 : q->next + 1;
	return len;
}

void queries_done(struct queries *q)
{
	free(q->wire);
	free(q->start);
	free(q->order);
}
