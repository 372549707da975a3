/* Placeholders of log lines, one function each, and the JSON record made of the same functions. */
#include "plugin/log/layout.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "server/query.h"

/* ---- writing ---- */

static void put_bytes(struct log_out *o, const char *s, size_t n)
{
	n = MIN(n, (size_t)(o->end - o->p));
	memcpy(o->p, s, n);
	o->p += n;
}

static void put_str(struct log_out *o, const char *s)
{
	put_bytes(o, s, strlen(s));
}

/* `n` as decimal with at least `width` digits. */
static void put_number(struct log_out *o, uint64_t n, unsigned width)
{
	char buf[24];
	char *p = buf + sizeof(buf);
	for (unsigned i = 0; n != 0 || i < width; i++, n /= 10)
		*--p = (char)('0' + n % 10);
	put_bytes(o, p, (size_t)(buf + sizeof(buf) - p));
}

static void put_uint(struct log_out *o, uint64_t n)
{
	put_number(o, n, 1);
}

static void put_ip(struct log_out *o, const union net_addr *a, bool brackets)
{
	char text[NET_ADDR_TEXT_MAX];
	size_t n = net_addr_ip_str(a, text);
	brackets = brackets && a->family == AF_INET6;
	if (brackets)
		put_str(o, "[");
	put_bytes(o, text, n);
	if (brackets)
		put_str(o, "]");
}

/* ---- placeholders ---- */

static void put_type(struct log_out *o, struct query *q)
{
	char buf[DNS_MNEMONIC_MAX];
	put_str(o, dns_type_str(q->req.qtype, buf));
}

static void put_class(struct log_out *o, struct query *q)
{
	char buf[DNS_MNEMONIC_MAX];
	put_str(o, dns_class_str(q->req.qclass, buf));
}

/* As the client asked, whatever a plugin below made of it. */
static void put_name(struct log_out *o, struct query *q)
{
	char text[DNS_NAME_TEXT_MAX];
	put_bytes(o, text, dns_name_to_text(q->question, true, text));
}

static void put_proto(struct log_out *o, struct query *q)
{
	put_str(o, query_proto_text(q));
}

/* The request as plugins left it. CoreDNS edits its OPT when it puts that into the reply, so
 * options that are not echoed no longer count. */
static void put_size(struct log_out *o, struct query *q)
{
	const struct dns_opt *opt = &q->req.opt;
	size_t n = q->req.len + q->req.question_len - q->question_len - opt->got_len;
	if (opt->present)
		n += DNS_OPT_BYTES + (size_t)opt->options_len;
	if (q->outcome == V_ANSWERED && opt->present && !q->own_opt && q->echo == NULL)
		n -= (size_t)(opt->options_len - q->resp.options_len);
	put_uint(o, n);
}

static void put_remote(struct log_out *o, struct query *q)
{
	put_ip(o, &q->client, true);
}

static void put_port(struct log_out *o, struct query *q)
{
	put_uint(o, net_addr_port(&q->client));
}

/* A UDP socket bound to all addresses is named by what it is bound to, as in CoreDNS. */
static void put_local(struct log_out *o, struct query *q)
{
	if (q->proto == QUERY_UDP && strncmp(query_server_label(q), "dns://:", 7) == 0)
		put_str(o, "[::]");
	else
		put_ip(o, &q->local, true);
}

static void put_id(struct log_out *o, struct query *q)
{
	put_uint(o, q->req.id);
}

static void put_opcode(struct log_out *o, struct query *q)
{
	put_uint(o, q->req.opcode);
}

static void put_do(struct log_out *o, struct query *q)
{
	const struct dns_opt *opt = &q->req.opt;
	put_str(o, opt->present && opt->dnssec_ok ? "true" : "false");
}

static void put_bufsize(struct log_out *o, struct query *q)
{
	put_uint(o, query_udp_size(q));
}

static void put_rcode(struct log_out *o, struct query *q)
{
	char buf[DNS_MNEMONIC_MAX];
	put_str(o, q->written ? dns_rcode_str(q->resp.rcode, buf) : "-");
}

static void put_rsize(struct log_out *o, struct query *q)
{
	if (!q->written)
		put_uint(o, 0);
	else if (q->outcome == V_FAIL)
		put_uint(o, DNS_HEADER_BYTES + (size_t)q->question_len);
	else
		put_uint(o, q->resp.full_size);
}

static void put_rflags(struct log_out *o, struct query *q)
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
		put_str(o, "-");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if ((q->resp.flags & flags[i].bit) == 0)
			continue;
		put_str(o, comma);
		put_str(o, flags[i].name);
		comma = ",";
	}
}

/* Seconds, with as many decimals as say something. */
static void put_seconds(struct log_out *o, struct query *q)
{
	uint64_t now = clock_mono_ns();
	uint64_t ns = now > q->start_ns ? now - q->start_ns : 0;
	put_uint(o, ns / NS_PER_S);
	ns %= NS_PER_S;
	if (ns == 0)
		return;
	unsigned width = 9;
	for (; ns % 10 == 0; ns /= 10)
		width--;
	put_str(o, ".");
	put_number(o, ns, width);
}

static void put_duration(struct log_out *o, struct query *q)
{
	put_seconds(o, q);
	put_str(o, "s");
}

static const struct {
	const char *name;
	void (*put)(struct log_out *o, struct query *q);
} placeholders[] = {
	{ "{type}", put_type },		{ "{name}", put_name },	  { "{class}", put_class },
	{ "{proto}", put_proto },	{ "{size}", put_size },	  { "{remote}", put_remote },
	{ "{port}", put_port },		{ "{local}", put_local }, { "{>id}", put_id },
	{ "{>opcode}", put_opcode },	{ "{>do}", put_do },	  { "{>bufsize}", put_bufsize },
	{ "{rcode}", put_rcode },	{ "{rsize}", put_rsize }, { "{>rflags}", put_rflags },
	{ "{duration}", put_duration },
};

/* ---- at load ---- */

static void expand(struct strbuf *b, const char *text)
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
			strbuf_addc(b, *text++);
			continue;
		}
		strbuf_adds(b, whole[i].text);
		text += strlen(whole[i].name);
	}
}

/* A placeholder in braces; false when it is none. */
static bool placeholder(struct slice s, struct log_segment *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(placeholders); i++) {
		if (slice_is(s, placeholders[i].name)) {
			*ret = (struct log_segment){ .put = placeholders[i].put };
			return true;
		}
	}
	if (!slice_starts(s, SLICE("{/")))
		return false;
	*ret = (struct log_segment){ .text = { s.p + 2, s.n - 3 }, .label = true };
	return true;
}

void log_layout_parse(struct log_layout *f, struct arena *a, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
	VEC(struct log_segment) seg = { 0 };
	expand(&whole, text);
	const char *s = arena_strndup(a, whole.s, whole.n);
	const char *literal = s, *open = NULL;
	for (; *s != '\0'; s++) {
		/* The last brace opened before a closing one counts: `{ {name} }` has a name. */
		struct log_segment seg_here;
		if (*s == '{')
			open = s;
		if (*s != '}' || open == NULL)
			continue;
		bool found = placeholder((struct slice){ open, (size_t)(s + 1 - open) }, &seg_here);
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
	f->v = arena_memdup(a, seg.v, seg.n * sizeof(*seg.v));
	f->n = seg.n;
	vec_done(&seg);
}

/* ---- per query ---- */

struct slice log_layout_put(const struct log_layout *f, struct query *q, char out[LOG_LINE_BYTES])
{
	struct log_out o = { .p = out, .end = out + LOG_LINE_BYTES };
	for (size_t i = 0; i < f->n; i++) {
		const struct log_segment *s = &f->v[i];
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

static void put_client_ip(struct log_out *o, struct query *q)
{
	put_ip(o, &q->client, false);
}

/* Printable ASCII, in which only the quote and the backslash need a backslash. */
static void put_json_name(struct log_out *o, struct query *q)
{
	char text[DNS_NAME_TEXT_MAX];
	size_t n = dns_name_to_text(q->question, true, text);
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			put_str(o, "\\");
		put_bytes(o, &text[i], 1);
	}
}

static const struct {
	const char *name;
	void (*put)(struct log_out *o, struct query *q);
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
