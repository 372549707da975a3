/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placeholders of log lines, one function each, and the JSON record made of the same functions. */
#include "plugin/log/layout.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "server/query.h"

/* ---- writing ---- */

static void put_bytes(struct log_out *out, const char *text, size_t len)
{
	len = MIN(len, (size_t)(out->end - out->p));
	memcpy(out->p, text, len);
	out->p += len;
}

static void put_str(struct log_out *out, const char *text)
{
	put_bytes(out, text, strlen(text));
}

/* `number` as decimal with at least `width` digits. */
static void put_number(struct log_out *out, uint64_t number, unsigned width)
{
	char buf[24];
	char *p = buf + sizeof(buf);
	for (unsigned i = 0; number != 0 || i < width; i++, number /= 10)
		*--p = (char)('0' + number % 10);
	put_bytes(out, p, (size_t)(buf + sizeof(buf) - p));
}

static void put_uint(struct log_out *out, uint64_t number)
{
	put_number(out, number, 1);
}

static void put_ip(struct log_out *out, const union net_addr *addr, bool brackets)
{
	char text[NET_ADDR_TEXT_MAX];
	size_t n = net_addr_ip_str(addr, text);
	brackets = brackets && addr->family == AF_INET6;
	if (brackets)
		put_str(out, "[");
	put_bytes(out, text, n);
	if (brackets)
		put_str(out, "]");
}

/* ---- placeholders ---- */

static void put_type(struct log_out *out, struct query *q)
{
	char buf[DNS_MNEMONIC_MAX];
	put_str(out, dns_type_str(q->req.qtype, buf));
}

static void put_class(struct log_out *out, struct query *q)
{
	char buf[DNS_MNEMONIC_MAX];
	put_str(out, dns_class_str(q->req.qclass, buf));
}

/* As the client asked, whatever a plugin below made of it. */
static void put_name(struct log_out *out, struct query *q)
{
	char text[DNS_NAME_TEXT_MAX];
	put_bytes(out, text, dns_name_to_text(q->question, true, text));
}

static void put_proto(struct log_out *out, struct query *q)
{
	put_str(out, query_proto_text(q));
}

/* The request as plugins left it. CoreDNS edits its OPT when it puts that into the reply, so
 * options that are not echoed no longer count. */
static void put_size(struct log_out *out, struct query *q)
{
	const struct dns_opt *opt = &q->req.opt;
	size_t n = q->req.len + q->req.question_len - q->question_len - opt->got_len;
	if (opt->present)
		n += DNS_OPT_BYTES + (size_t)opt->options_len;
	if (q->outcome == V_ANSWERED && opt->present && !q->own_opt && q->echo == NULL)
		n -= (size_t)(opt->options_len - q->resp.options_len);
	put_uint(out, n);
}

static void put_remote(struct log_out *out, struct query *q)
{
	put_ip(out, &q->client, true);
}

static void put_port(struct log_out *out, struct query *q)
{
	put_uint(out, net_addr_port(&q->client));
}

/* A UDP socket bound to all addresses is named by what it is bound to, as in CoreDNS. */
static void put_local(struct log_out *out, struct query *q)
{
	if (q->proto == QUERY_UDP && strncmp(query_server_label(q), "dns://:", 7) == 0)
		put_str(out, "[::]");
	else
		put_ip(out, &q->local, true);
}

static void put_id(struct log_out *out, struct query *q)
{
	put_uint(out, q->req.id);
}

static void put_opcode(struct log_out *out, struct query *q)
{
	put_uint(out, q->req.opcode);
}

static void put_do(struct log_out *out, struct query *q)
{
	const struct dns_opt *opt = &q->req.opt;
	put_str(out, opt->present && opt->dnssec_ok ? "true" : "false");
}

static void put_bufsize(struct log_out *out, struct query *q)
{
	put_uint(out, query_udp_size(q));
}

static void put_rcode(struct log_out *out, struct query *q)
{
	char buf[DNS_MNEMONIC_MAX];
	put_str(out, q->written ? dns_rcode_str(q->resp.rcode, buf) : "-");
}

static void put_rsize(struct log_out *out, struct query *q)
{
	if (!q->written)
		put_uint(out, 0);
	else if (q->outcome == V_FAIL)
		put_uint(out, DNS_HEADER_BYTES + (size_t)q->question_len);
	else
		put_uint(out, q->resp.full_size);
}

static void put_rflags(struct log_out *out, struct query *q)
{
	static const struct {
		uint16_t bit;
		char name[3];
	} flags[] = {
		{ DNS_FLAG_QR, "qr" }, { DNS_FLAG_AA, "aa" }, { DNS_FLAG_TC, "tc" },
		{ DNS_FLAG_RD, "rd" }, { DNS_FLAG_RA, "ra" }, { DNS_FLAG_Z, "z" },
		{ DNS_FLAG_AD, "ad" }, { DNS_FLAG_CD, "cd" },
	};
	const char *comma = "";
	if (!q->written) {
		put_str(out, "-");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if ((q->resp.flags & flags[i].bit) == 0)
			continue;
		put_str(out, comma);
		put_str(out, flags[i].name);
		comma = ",";
	}
}

/* Seconds, with as many decimals as say something. */
static void put_seconds(struct log_out *out, struct query *q)
{
	uint64_t now = clock_mono_ns();
	uint64_t ns = now > q->start_ns ? now - q->start_ns : 0;
	put_uint(out, ns / NS_PER_S);
	ns %= NS_PER_S;
	if (ns == 0)
		return;
	unsigned width = 9;
	for (; ns % 10 == 0; ns /= 10)
		width--;
	put_str(out, ".");
	put_number(out, ns, width);
}

static void put_duration(struct log_out *out, struct query *q)
{
	put_seconds(out, q);
	put_str(out, "s");
}

static const struct {
	const char *name;
	void (*put)(struct log_out *out, struct query *q);
} placeholders[] = {
	{ "{type}", put_type },		{ "{name}", put_name },	  { "{class}", put_class },
	{ "{proto}", put_proto },	{ "{size}", put_size },	  { "{remote}", put_remote },
	{ "{port}", put_port },		{ "{local}", put_local }, { "{>id}", put_id },
	{ "{>opcode}", put_opcode },	{ "{>do}", put_do },	  { "{>bufsize}", put_bufsize },
	{ "{rcode}", put_rcode },	{ "{rsize}", put_rsize }, { "{>rflags}", put_rflags },
	{ "{duration}", put_duration },
};

/* ---- at load ---- */

static void expand_names(struct strbuf *out, const char *text)
{
	static const struct {
		const char *name;
		const char *text;
	} whole[] = { { "{common}", LOG_LAYOUT_COMMON }, { "{combined}", LOG_LAYOUT_COMBINED } };
	while (*text != '\0') {
		size_t i = 0;
		while (i < ARRAY_LEN(whole) &&
		       strncmp(text, whole[i].name, strlen(whole[i].name)) != 0)
			i++;
		if (i == ARRAY_LEN(whole)) {
			strbuf_addc(out, *text++);
			continue;
		}
		strbuf_adds(out, whole[i].text);
		text += strlen(whole[i].name);
	}
}

/* A placeholder in braces; false when it is none. */
static bool parse_placeholder(struct slice text, struct log_segment *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(placeholders); i++) {
		if (slice_is(text, placeholders[i].name)) {
			*ret = (struct log_segment){ .put = placeholders[i].put };
			return true;
		}
	}
	if (!slice_starts(text, SLICE("{/")))
		return false;
	*ret = (struct log_segment){ .text = { text.p + 2, text.n - 3 }, .label = true };
	return true;
}

void log_layout_parse(struct log_layout *layout, struct arena *arena, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
	VEC(struct log_segment) seg = { 0 };
	expand_names(&whole, text);
	const char *s = arena_strndup(arena, whole.s, whole.n);
	const char *literal = s, *open = NULL;
	for (; *s != '\0'; s++) {
		/* The last brace opened before a closing one counts: `{ {name} }` has a name. */
		struct log_segment seg_here;
		if (*s == '{')
			open = s;
		if (*s != '}' || open == NULL)
			continue;
		bool found = parse_placeholder((struct slice){ open, (size_t)(s + 1 - open) },
					       &seg_here);
		if (found && open > literal)
			vec_push(&seg, (struct log_segment){
					       .text = { literal, (size_t)(open - literal) } });
		if (found) {
			vec_push(&seg, seg_here);
			literal = s + 1;
		}
		open = NULL;
	}
	if (s > literal)
		vec_push(&seg, (struct log_segment){ .text = { literal, (size_t)(s - literal) } });
	layout->v = arena_memdup(arena, seg.v, seg.n * sizeof(*seg.v));
	layout->n = seg.n;
	vec_done(&seg);
}

/* ---- per query ---- */

struct slice log_layout_put(const struct log_layout *layout, struct query *q,
			    char out[LOG_LINE_BYTES])
{
	struct log_out o = { .p = out, .end = out + LOG_LINE_BYTES };
	for (size_t i = 0; i < layout->n; i++) {
		const struct log_segment *s = &layout->v[i];
		if (s->put != NULL) {
			s->put(&o, q);
			continue;
		}
		struct slice text = s->label ? query_meta_get(q, s->text) : s->text;
		if (text.p != NULL)
			put_bytes(&o, text.p, text.n);
		else
			put_str(&o, "-");
	}
	return (struct slice){ out, (size_t)(o.p - out) };
}

static void put_client_ip(struct log_out *out, struct query *q)
{
	put_ip(out, &q->client, false);
}

/* Printable ASCII, in which only the quote and the backslash need a backslash. */
static void put_json_name(struct log_out *out, struct query *q)
{
	char text[DNS_NAME_TEXT_MAX];
	size_t n = dns_name_to_text(q->question, true, text);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			put_str(out, "\\");
		put_bytes(out, &text[i], 1);
	}
}

static const struct {
	const char *name;
	void (*put)(struct log_out *out, struct query *q);
	bool quoted;
} members[] = {
	{ "client_ip", put_client_ip, true },
	{ "client_port", put_port, false },
	{ "qname", put_json_name, true },
	{ "qtype", put_type, true },
	{ "qclass", put_class, true },
	{ "protocol", put_proto, true },
	{ "id", put_id, false },
	{ "opcode", put_opcode, false },
	{ "request_size", put_size, false },
	{ "dnssec_ok", put_do, false },
	{ "bufsize", put_bufsize, false },
	{ "rcode", put_rcode, true },
	{ "response_size", put_rsize, false },
	{ "duration_seconds", put_seconds, false },
};

struct slice log_layout_json(struct query *q, char out[LOG_JSON_BYTES])
{
	struct log_out o = { .p = out, .end = out + LOG_JSON_BYTES };
	put_str(&o, ",\"plugin\":\"log\"");
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const char *quote = members[i].quoted ? "\"" : "";
		put_str(&o, ",\"");
		put_str(&o, members[i].name);
		put_str(&o, "\":");
		if (members[i].put == put_rcode && !q->written) {
			put_str(&o, "null");
			continue;
		}
		put_str(&o, quote);
		members[i].put(&o, q);
		put_str(&o, quote);
	}
	return (struct slice){ out, (size_t)(o.p - out) };
}
