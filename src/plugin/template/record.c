/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One record template: as much of it as possible becomes wire data at load, the rest is text made
 * of pieces, or the template language. */
#include "plugin/template/record.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/charset.h"
#include "base/vec.h"
#include "dns/rrtext/rrtext.h"
#include "plugin/template/count.h"
#include "plugin/template/data.h"
#include "plugin/template/serve.h"

/* ---- at load ---- */

static const struct {
	const char *path;
	enum template_op_kind kind;
} simple_fields[] = {
	{ ".Name", OP_NAME }, { ".Zone", OP_ZONE },	{ ".Class", OP_CLASS },
	{ ".Type", OP_TYPE }, { ".Remote", OP_REMOTE }, { ".Regex", OP_REGEX },
};

static bool make_group_op(const struct template_rule *rule, struct slice key,
			  struct template_op *op)
{
	if (slice_find(key, '.') >= 0)
		return false;
	op->kind = OP_GROUP;
	op->group = xcalloc(rule->n_matcher, sizeof(*op->group));
	for (size_t i = 0; i < rule->n_matcher; i++) {
		const struct template_matcher *m = &rule->matcher[i];
		op->group[i] = -1;
		for (size_t k = 0; k < m->n_keys; k++) {
			if (slice_eq(m->key[k].name, key))
				op->group[i] = (int16_t)m->key[k].group;
		}
	}
	return true;
}

static bool make_op(const struct template_rule *rule, struct tmpl_part part, struct template_op *op)
{
	if (part.kind == TMPL_PART_TEXT) {
		*op = (struct template_op){ .kind = OP_TEXT, .text = part.text };
		return true;
	}
	if (part.kind == TMPL_PART_OTHER)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(simple_fields); i++) {
		if (slice_is(part.text, simple_fields[i].path)) {
			op->kind = simple_fields[i].kind;
			return true;
		}
	}
	struct slice group = SLICE(".Group.");
	return slice_starts(part.text, group) &&
	       make_group_op(rule, slice_from(part.text, group.n), op);
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

/* False when some part is not simple. */
static bool make_ops(const struct template_rule *rule, struct template_record *rec)
{
	size_t n = tmpl_n_parts(rec->tmpl);
	rec->op = xcalloc(n + 1, sizeof(*rec->op));
	for (size_t i = 0; i < n; i++) {
		if (!make_op(rule, tmpl_part(rec->tmpl, i), &rec->op[rec->n_op]))
			return false;
		rec->n_op++;
	}
	rec->own_name = n > 1 && rec->op[0].kind == OP_NAME && rec->op[1].kind == OP_TEXT &&
			is_blank(rec->op[1].text.p[0]);
	return true;
}

static size_t first_op(const struct template_record *rec)
{
	return rec->own_name ? 1 : 0;
}

/* Keeps a record parsed at load. */
static void keep_rr(struct template_record *rec, const struct dns_rr *rr)
{
	rec->rr = *rr;
	rec->rr.owner = rec->own_name ? NULL : xmemdup(rr->owner, rr->owner_len);
	rec->rr.rdata = xmemdup(rr->rdata, rr->rdlen != 0 ? rr->rdlen : 1);
}

/* Parses a text at load into rec->rr; false when it is no record (queries will fail). */
static bool try_text(struct template_record *rec, struct dns_rrtext *rrtext, struct slice text)
{
	struct arena a;
	struct dns_rr rr;
	arena_init(&a);
	bool ok = dns_rrtext_parse(rrtext, text, &a, &rr) == 0;
	if (ok)
		keep_rr(rec, &rr);
	arena_done(&a);
	return ok;
}

static bool try_wire(struct template_record *rec, struct dns_rrtext *rrtext)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (rec->own_name)
		strbuf_addc(&text, '.');
	for (size_t i = first_op(rec); i < rec->n_op; i++) {
		if (rec->op[i].kind != OP_TEXT)
			return false;
		strbuf_add_slice(&text, rec->op[i].text);
	}
	return try_text(rec, rrtext, strbuf_slice(&text));
}

/* ` 60 IN A 10.{{...}}`: the text up to its last blank must be a record's head. The pieces after it
 * are the address, if they hold nothing but its characters. */
static bool try_address(struct template_record *rec, struct dns_rrtext *rrtext)
{
	static const char *const samples[] = { "0.0.0.0", "::" };
	if (!rec->own_name)
		return false;
	for (size_t i = 2; i < rec->n_op; i++) {
		for (size_t k = 0; rec->op[i].kind == OP_TEXT && k < rec->op[i].text.n; k++) {
			if (!charset_has("0123456789abcdefABCDEF.:", rec->op[i].text.p[k]))
				return false;
		}
	}
	struct slice head = rec->op[1].text;
	while (!is_blank(head.p[head.n - 1]))
		head.n--;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, ".%.*s%s", (int)head.n, head.p, samples[i]);
		if (!try_text(rec, rrtext, strbuf_slice(&text)))
			continue;
		if (rec->rr.type == (i == 0 ? DNS_TYPE_A : DNS_TYPE_AAAA)) {
			rec->head_n = head.n;
			return true;
		}
		free((void *)(uintptr_t)rec->rr.rdata);
		rec->rr = (struct dns_rr){ 0 };
	}
	return false;
}

int template_record_compile(struct template_rule *rule, struct template_record *rec,
			    struct dns_rrtext *rrtext, struct srcerr *err)
{
	struct strbuf text = STRBUF_INIT;
	struct srcerr inner = { .text = "" };
	struct srcpos at = rec->word.pos;
	/* A word that holds blanks was quoted: its text starts behind the quote. */
	if (strpbrk(rec->word.s, " \t\n") != NULL)
		at.col++;
	int r = tmpl_parse(slice_of(rec->word.s), at, &template_envs[rec->section], &rec->tmpl,
			   &inner);
	if (r < 0)
		return srcerr_set(err, inner.pos, "could not compile template: %s", inner.text);
	tmpl_text(rec->tmpl, &text);
	rec->text = strbuf_take(&text);
	if (!make_ops(rule, rec))
		rec->form = FORM_PROGRAM;
	else if (try_wire(rec, rrtext))
		rec->form = FORM_WIRE;
	else if (try_address(rec, rrtext))
		rec->form = FORM_ADDRESS;
	else
		rec->form = FORM_TEXT;
	return 0;
}

void template_record_done(struct template_record *rec)
{
	for (size_t i = 0; rec->op != NULL && i < tmpl_n_parts(rec->tmpl); i++)
		free(rec->op[i].group);
	free(rec->op);
	free((void *)(uintptr_t)rec->rr.owner);
	free((void *)(uintptr_t)rec->rr.rdata);
	free((void *)(uintptr_t)rec->text);
	tmpl_free(rec->tmpl);
}

/* ---- per query ---- */

static struct slice op_text(const struct template_run *run, const struct template_op *op)
{
	switch (op->kind) {
	case OP_TEXT:
		return op->text;
	case OP_NAME:
		return run->name;
	case OP_ZONE:
		return slice_of(run->zone->text);
	case OP_CLASS:
		return template_class_text(run);
	case OP_TYPE:
		return template_type_text(run);
	case OP_REMOTE:
		return query_client_text(run->q);
	case OP_REGEX:
		return template_regex_text(run);
	case OP_GROUP:
		return op->group[run->matcher] >= 0 ? run->group[op->group[run->matcher]]
						    : SLICE("<no value>");
	}
	return SLICE("");
}

/* Text of ops being made in a buffer. */
struct rendering {
	char *buf;
	size_t cap;
	size_t n;
};

/* Adds the texts of the ops from `from` on, without the first `skip` bytes; ERR_SPACE. */
static int render_ops(const struct template_run *run, const struct template_record *rec,
		      size_t from, size_t skip, struct rendering *out)
{
	for (size_t i = from; i < rec->n_op; i++) {
		struct slice s = op_text(run, &rec->op[i]);
		if (skip != 0)
			s = slice_from(s, skip);
		skip = 0;
		if (s.n > out->cap - out->n)
			return ERR_SPACE;
		memcpy(out->buf + out->n, s.p, s.n);
		out->n += s.n;
	}
	return 0;
}

/* Plain dotted decimal; anything else is left to the record parser. */
static bool parse_ip4(struct slice text, uint8_t out[4])
{
	size_t at = 0;
	for (int i = 0; i < 4; i++) {
		size_t start = at;
		unsigned v = 0;
		for (; at < text.n && ascii_isdigit(text.p[at]) && at - start < 3; at++)
			v = v * 10 + (unsigned)(text.p[at] - '0');
		if (at == start || v > 255 || (text.p[start] == '0' && at - start > 1))
			return false;
		out[i] = (uint8_t)v;
		if (i < 3 && (at == text.n || text.p[at++] != '.'))
			return false;
	}
	return at == text.n;
}

/* buf has room for a terminator. */
static bool parse_ip6(struct slice text, char *buf, uint8_t out[16])
{
	buf[text.n] = '\0';
	return memchr(text.p, '.', text.n) == NULL && memchr(text.p, '\0', text.n) == NULL &&
	       inet_pton(AF_INET6, buf, out) == 1;
}

/* 0; ERR_NOTFOUND: not an address at first sight. */
static int make_address(const struct template_run *run, const struct template_record *rec,
			struct dns_rr *rr)
{
	char buf[64];
	struct rendering out = { buf, sizeof(buf) - 1, 0 };
	*rr = rec->rr;
	uint8_t *ip = arena_alloc(&run->q->arena, rr->rdlen);
	if (ip == NULL)
		return ERR_SPACE;
	rr->rdata = ip;
	if (render_ops(run, rec, 1, rec->head_n, &out) < 0)
		return ERR_NOTFOUND;
	struct slice text = { buf, out.n };
	bool ok = rr->type == DNS_TYPE_A ? parse_ip4(text, ip) : parse_ip6(text, buf, ip);
	return ok ? 0 : ERR_NOTFOUND;
}

/* The worker's buffer for record texts. */
static char *text_buffer(const struct template_run *run)
{
	void **at = &run->self->worker_data[query_slot(run->q)];
	if (*at == NULL)
		*at = xmalloc(TEMPLATE_TEXT_MAX);
	return *at;
}

static int fail_record(struct template_run *run, const struct template_record *rec, int error,
		       struct slice text, const char **ret_why)
{
	enum { SHOWN_MAX = 200 };
	const char *reason = error == ERR_NOTFOUND ? "no record in the text"
			     : error == ERR_SPACE  ? "out of query memory"
						   : dns_rrtext_error(query_rrtext(run->q));
	template_count_failure(run, rec, TEMPLATE_BAD_RECORD);
	const char *why = arena_printf(&run->q->arena, "dns: %s: \"%.*s\"", reason,
				       (int)MIN(text.n, (size_t)SHOWN_MAX), text.p);
	*ret_why = why != NULL ? why : "dns: bad record";
	return ERR_PARSE;
}

/* With a simple template whose owner is the name asked, the root stands for it while parsing. */
static int make_own_text(struct template_run *run, const struct template_record *rec,
			 struct dns_rr *rr)
{
	struct rendering out = { text_buffer(run), TEMPLATE_TEXT_MAX, 1 };
	out.buf[0] = '.';
	int r = render_ops(run, rec, 1, 0, &out);
	if (r < 0)
		return r;
	struct slice text = { out.buf, out.n };
	return dns_rrtext_parse(query_rrtext(run->q), text, &run->q->arena, rr);
}

static int make_text(struct template_run *run, const struct template_record *rec, struct dns_rr *rr,
		     const char **ret_why)
{
	struct rendering out = { text_buffer(run), TEMPLATE_TEXT_MAX, 0 };
	if (rec->own_name && make_own_text(run, rec, rr) == 0)
		return 0;
	int r = template_need_name(run);
	if (r == 0)
		r = render_ops(run, rec, 0, 0, &out);
	struct slice text = { out.buf, out.n };
	if (r == 0)
		r = dns_rrtext_parse(query_rrtext(run->q), text, &run->q->arena, rr);
	return r == 0 ? 0 : fail_record(run, rec, r, text, ret_why);
}

static int make_program(struct template_run *run, const struct template_record *rec,
			struct dns_rr *rr, const char **ret_why)
{
	char why[256];
	char *buf = text_buffer(run);
	struct tmpl_run tr = {
		.root = tmpl_object(&template_data_class, run),
		.arena = &run->q->arena,
		.err = why,
		.err_cap = sizeof(why),
	};
	size_t n;
	int r = template_need_name(run);
	if (r < 0) {
		*ret_why = "out of query memory";
		return r;
	}
	r = tmpl_exec(rec->tmpl, &tr, buf, TEMPLATE_TEXT_MAX, &n);
	if (r < 0) {
		template_count_failure(run, rec, TEMPLATE_FAILED);
		const char *copy = arena_strdup(&run->q->arena, why);
		*ret_why = copy != NULL ? copy : "template: out of query memory";
		return r;
	}
	struct slice text = { buf, n };
	r = dns_rrtext_parse(query_rrtext(run->q), text, &run->q->arena, rr);
	return r == 0 ? 0 : fail_record(run, rec, r, text, ret_why);
}

int template_record_make(struct template_run *run, const struct template_record *rec,
			 struct dns_rr **ret, const char **ret_why)
{
	struct query *q = run->q;
	struct dns_rr *rr = arena_alloc(&q->arena, sizeof(*rr));
	*ret_why = "out of query memory";
	if (rr == NULL)
		return ERR_SPACE;
	int r = 0;
	if (rec->form == FORM_WIRE)
		*rr = rec->rr;
	else if (rec->form == FORM_ADDRESS)
		r = make_address(run, rec, rr);
	if (rec->form == FORM_TEXT || r == ERR_NOTFOUND)
		r = make_text(run, rec, rr, ret_why);
	else if (rec->form == FORM_PROGRAM)
		r = make_program(run, rec, rr, ret_why);
	if (r < 0)
		return r;
	if (rec->own_name) {
		rr->owner = q->qname.wire;
		rr->owner_len = q->qname.len;
	}
	rr->next = NULL;
	*ret = rr;
	return 0;
}
