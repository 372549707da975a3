/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a master file line by line: directives here, records through the record text parser. */
#include "dns/zone/zonefile.h"

#include "base/err.h"
#include "dns/rrtext/lex.h"
#include "dns/rrtext/parser.h"
#include "dns/zone/generate_priv.h"

enum { GENERATED_TTL_S = 3600 };

struct reader {
	const struct dns_zonefile *f;
	struct dns_rrtext *text; /* buffers and scanner, used again for each record */
	struct srcerr *err;
	unsigned includes;
};

/* A file being read, or the line that a $GENERATE makes. */
struct source {
	struct reader *r;
	const char *path;
	struct slice all;
	const struct source *parent; /* of a generated line: errors have its place */
	const char *parent_at;
	uint8_t origin[DNS_NAME_MAX];
	struct rrtext_head head; /* of the record before: what is left out is taken from it */
	bool has_owner;
	bool has_ttl; /* default_ttl is known */
	bool ttl_by_directive;
	uint32_t default_ttl;
	unsigned depth; /* of inclusion */
};

/* ---- errors ---- */

static struct srcpos position_of(const struct source *source, const char *at)
{
	struct srcpos pos = { .file = source->path, .line = 1, .col = 1 };
	for (const char *p = source->all.p; p < at; p++) {
		if (*p == '\n') {
			pos.line++;
			pos.col = 1;
		} else if (((unsigned char)*p & 0xc0) != 0x80) {
			pos.col++;
		}
	}
	return pos;
}

static int fail_at(const struct source *source, const char *at, const char *why)
{
	if (source->parent != NULL)
		return srcerr_set(source->r->err, position_of(source->parent, source->parent_at),
				  "in a record of $GENERATE: %s", why);
	return srcerr_set(source->r->err, position_of(source, at), "%s", why);
}

/* The error of the lexer or of a field's parser. */
static int lex_fail(const struct source *source, const struct rrtext_lexer *lx)
{
	if (lx->end < source->all.p + source->all.n && lx->p >= lx->end)
		return fail_at(source, lx->at, "record longer than 65536 bytes");
	return fail_at(source, lx->at, lx->error != NULL ? lx->error : "malformed record");
}

/* ---- records ---- */

/* RFC 2308 §4 as CoreDNS has it: the last $TTL, else the last TTL given. */
static void take_ttl(struct source *source)
{
	struct rrtext_head *h = &source->head;
	if (!h->has_ttl) {
		if (source->has_ttl)
			h->ttl = source->default_ttl;
	} else if (!source->ttl_by_directive) {
		source->default_ttl = h->ttl;
		source->has_ttl = true;
	}
}

static int emit_record(struct source *source, const char *start, size_t rdlen)
{
	struct reader *r = source->r;
	const struct rrtext_head *h = &source->head;
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct dns_rr rr = {
		.owner = h->owner,
		.owner_len = h->owner_len,
		.type = h->type,
		.cls = h->cls,
		.ttl = h->ttl,
		.rdata = r->text->rdata,
		.rdlen = (uint16_t)rdlen,
	};
	int e = r->f->record(r->f->ctx, &rr, &why);
	if (e < 0 && why.n != 0)
		IGNORE(fail_at(source, start, why.s) ==
		       0); /* the caller's code is the one to return */
	return e < 0 ? e : 0;
}

/* From behind the owner to the end of the record. */
static int read_record(struct source *source, const char *start, bool indented)
{
	struct dns_rrtext *t = source->r->text;
	struct rrtext_lexer *lx = &t->lex;
	struct rrtext_head *h = &source->head;
	struct rrtext_out out = { t->rdata, t->rdata + sizeof(t->rdata) };
	h->cls = DNS_CLASS_IN;
	if (dns_rrtext_head(lx, h) < 0)
		return lex_fail(source, lx);
	if (!source->has_owner)
		return fail_at(source, start,
			       "no owner name, and no record before to take it from");
	if (!h->has_ttl && !h->has_class && !indented && !source->has_ttl)
		return fail_at(source, lx->at, "no TTL, and neither $TTL nor a TTL before");
	take_ttl(source);
	if (dns_rrtext_rdata(t, h->type, &out) < 0)
		return lex_fail(source, lx);
	return emit_record(source, start, (size_t)(out.p - t->rdata));
}

/* ---- directives ---- */

static int finish_line(const struct source *source, struct rrtext_lexer *lx)
{
	return dns_rrtext_finish(lx) < 0 ? lex_fail(source, lx) : 0;
}

static int read_name(const struct source *source, struct rrtext_lexer *lx,
		     uint8_t out[DNS_NAME_MAX])
{
	struct slice w;
	if (dns_rrtext_word(lx, &w) < 0)
		return lex_fail(source, lx);
	int n = dns_rrtext_name(lx, w, out);
	return n < 0 ? fail_at(source, lx->at, "bad domain name") : n;
}

static int dir_ttl(struct source *source, struct rrtext_lexer *lx)
{
	struct slice w;
	if (dns_rrtext_word(lx, &w) < 0)
		return lex_fail(source, lx);
	if (dns_rrtext_ttl(w, &source->default_ttl) < 0)
		return fail_at(source, lx->at, "bad TTL");
	source->has_ttl = source->ttl_by_directive = true;
	return finish_line(source, lx);
}

static int dir_origin(struct source *source, struct rrtext_lexer *lx)
{
	uint8_t name[DNS_NAME_MAX];
	int n = read_name(source, lx, name);
	if (n < 0)
		return n;
	memcpy(source->origin, name, (size_t)n);
	return finish_line(source, lx);
}

static int read_source(struct source *source);

/* Relative paths lie beside the including file. */
static int included_path(const struct source *source, struct slice name, char *out, size_t size)
{
	const char *slash = strrchr(source->path, '/');
	int dir = name.p[0] == '/' || slash == NULL ? 0 : (int)(slash - source->path) + 1;
	if (name.n > DNS_ZONEFILE_PATH_MAX)
		return ERR_LIMIT;
	int len = snprintf(out, size, "%.*s%.*s", dir, source->path, (int)name.n, name.p);
	return (size_t)len < size ? 0 : ERR_LIMIT;
}

static int read_included(const struct source *source, const char *at, const char *path,
			 const uint8_t *origin)
{
	struct reader *r = source->r;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct source in = {
		.r = r,
		.path = path,
		.has_ttl = source->has_ttl,
		.ttl_by_directive = source->ttl_by_directive,
		.default_ttl = source->default_ttl,
		.depth = source->depth + 1,
	};
	if (r->f->include == NULL)
		return fail_at(source, at, "$INCLUDE is not allowed here");
	if (in.depth > DNS_ZONEFILE_INCLUDE_DEPTH)
		return fail_at(source, at, "$INCLUDE nested more than 7 deep");
	if (++r->includes > DNS_ZONEFILE_INCLUDES_MAX)
		return fail_at(source, at, "more than 10000 files included");
	int e = r->f->include(r->f->ctx, path, &text);
	if (e < 0)
		return srcerr_set(r->err, position_of(source, at), "cannot read '%s': %s", path,
				  err_str(e));
	in.all = strbuf_slice(&text);
	memcpy(in.origin, origin, dns_name_len(origin));
	return read_source(&in);
}

static int dir_include(struct source *source, struct rrtext_lexer *lx)
{
	char path[2 * DNS_ZONEFILE_PATH_MAX];
	uint8_t origin[DNS_NAME_MAX];
	struct rrtext_token t;
	struct slice name;
	if (dns_rrtext_word(lx, &name) < 0)
		return lex_fail(source, lx);
	const char *at = lx->at;
	if (included_path(source, name, path, sizeof(path)) < 0)
		return fail_at(source, at, "path is too long");
	memcpy(origin, source->origin, dns_name_len(source->origin));
	struct rrtext_lexer ahead = *lx;
	if (dns_rrtext_lex_next(&ahead, &t) != RRTEXT_END) {
		int n = read_name(source, lx, origin);
		if (n < 0)
			return n;
	}
	int r = finish_line(source, lx);
	if (r < 0)
		return r;
	/* The included file's records use the same lexer. */
	struct rrtext_lexer saved = *lx;
	r = read_included(source, at, path, origin);
	*lx = saved;
	return r;
}

/* The rest of the line as one text, comments and parentheses gone. */
static int rest_of_line(const struct source *source, struct rrtext_lexer *lx, struct strbuf *out)
{
	struct rrtext_token t;
	enum rrtext_kind k;
	while ((k = dns_rrtext_lex_next(lx, &t)) == RRTEXT_WORD || k == RRTEXT_QUOTED) {
		if (out->n != 0 && !t.glued)
			strbuf_addc(out, ' ');
		if (k == RRTEXT_QUOTED)
			strbuf_addc(out, '"');
		strbuf_add_slice(out, t.text);
		if (k == RRTEXT_QUOTED)
			strbuf_addc(out, '"');
	}
	return k == RRTEXT_END ? 0 : lex_fail(source, lx);
}

static int generate_one(const struct source *source, const char *at, const struct strbuf *line)
{
	struct source in = {
		.r = source->r,
		.path = source->path,
		.all = strbuf_slice(line),
		.parent = source,
		.parent_at = at,
		.has_ttl = true,
		.default_ttl = GENERATED_TTL_S,
		.depth = source->depth,
	};
	memcpy(in.origin, source->origin, dns_name_len(source->origin));
	return read_source(&in);
}

static int dir_generate(struct source *source, struct rrtext_lexer *lx)
{
	CLEANUP(strbuf_done) struct strbuf pattern = STRBUF_INIT, line = STRBUF_INIT;
	struct zonefile_range range;
	const char *why;
	struct slice w;
	if (dns_rrtext_word(lx, &w) < 0)
		return lex_fail(source, lx);
	const char *at = lx->at;
	if (dns_zonefile_range(w, &range, &why) < 0)
		return fail_at(source, at, why);
	int r = rest_of_line(source, lx, &pattern);
	struct rrtext_lexer saved = *lx;
	for (int64_t v = range.from; r == 0; v += range.step) {
		strbuf_reset(&line);
		if (dns_zonefile_expand(strbuf_slice(&pattern), &range, v, &line, &why) < 0)
			return fail_at(source, at, why);
		r = generate_one(source, at, &line);
		if (v > range.to - range.step)
			break;
	}
	*lx = saved;
	return r;
}

static const struct {
	const char *name;
	int (*fn)(struct source *source, struct rrtext_lexer *lx);
} directives[] = {
	{ "$TTL", dir_ttl },
	{ "$ORIGIN", dir_origin },
	{ "$INCLUDE", dir_include },
	{ "$GENERATE", dir_generate },
};

/* ---- lines ---- */

/* The first word of a line that does not start with a blank. */
static int read_line(struct source *source, const char *start, struct slice word)
{
	struct rrtext_lexer *lx = &source->r->text->lex;
	for (size_t i = 0; word.p[0] == '$' && i < ARRAY_LEN(directives); i++) {
		if (!slice_eq_nocase(word, slice_of(directives[i].name)))
			continue;
		if (source->parent != NULL)
			return fail_at(source, start, "directives cannot be generated");
		return directives[i].fn(source, lx);
	}
	int n = dns_rrtext_name(lx, word, source->head.owner);
	if (n < 0)
		return fail_at(source, start, "bad owner name");
	source->head.owner_len = (uint8_t)n;
	source->has_owner = true;
	return read_record(source, start, false);
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

/* One line, or a record over several; the lexer is behind it afterwards. */
static int read_entry(struct source *source, const char *pos)
{
	struct rrtext_lexer *lx = &source->r->text->lex;
	const char *end = source->all.p + source->all.n;
	struct rrtext_token t;
	size_t n = MIN((size_t)(end - pos), (size_t)DNS_ZONEFILE_RECORD_MAX);
	*lx = (struct rrtext_lexer){ .p = pos,
				     .end = pos + n,
				     .at = pos,
				     .joined = source->r->text->joined,
				     .origin = source->origin };
	bool indented = is_blank(*pos);
	struct rrtext_lexer before = *lx;
	int r = 0;
	switch (dns_rrtext_lex_next(lx, &t)) {
	case RRTEXT_END:
		break;
	case RRTEXT_WORD:
		if (!indented) {
			r = read_line(source, lx->at, t.text);
			break;
		}
		*lx = before;
		r = read_record(source, lx->at, true);
		break;
	case RRTEXT_QUOTED:
		return fail_at(source, pos, "unexpected quotes");
	case RRTEXT_BAD:
		return lex_fail(source, lx);
	}
	if (r == 0 && lx->p == lx->end && lx->end < end)
		return fail_at(source, pos, "record longer than 65536 bytes");
	return r;
}

static const char *skip_comments(const char *pos, const char *end)
{
	for (;;) {
		const char *q = pos;
		while (q < end && (is_blank(*q) || *q == '\r'))
			q++;
		if (q < end && *q != ';' && *q != '\n')
			return pos;
		q = q < end ? memchr(q, '\n', (size_t)(end - q)) : NULL;
		if (q == NULL)
			return end;
		pos = q + 1;
	}
}

static int read_source(struct source *source)
{
	const char *end = source->all.p + source->all.n;
	const struct rrtext_lexer *lx = &source->r->text->lex;
	if (source->all.n > DNS_ZONEFILE_BYTES_MAX)
		return fail_at(source, source->all.p, "file larger than 1 GiB");
	for (const char *p = skip_comments(source->all.p, end); p < end;) {
		int r = read_entry(source, p);
		if (r < 0)
			return r;
		p = skip_comments(lx->p + (lx->p < end), end);
	}
	return 0;
}

int dns_zonefile_read(const struct dns_zonefile *zonefile, struct slice text, struct srcerr *err)
{
	struct reader r = { .f = zonefile, .text = dns_rrtext_new(), .err = err };
	struct source s = { .r = &r, .path = zonefile->path, .all = text };
	memcpy(s.origin, zonefile->origin, dns_name_len(zonefile->origin));
	int e = read_source(&s);
	dns_rrtext_free(r.text);
	return e;
}
