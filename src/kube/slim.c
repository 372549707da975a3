#include "kube/slim.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/slim_priv.h"

int kube_ip_parse(struct slice text, struct kube_ip *ret)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char buf[INET6_ADDRSTRLEN];
	struct kube_ip ip;
	if (text.n == 0 || text.n >= sizeof(buf) || memchr(text.p, 0, text.n) != NULL)
		return ERR_PARSE;
	memcpy(buf, text.p, text.n);
	buf[text.n] = '\0';
	if (inet_pton(AF_INET, buf, ip.b + 12) == 1)
		memcpy(ip.b, mapped, sizeof(mapped));
	else if (inet_pton(AF_INET6, buf, ip.b) != 1)
		return ERR_PARSE;
	*ret = ip;
	return 0;
}

bool kube_ip_is4(const struct kube_ip *ip)
{
	return memcmp(ip->b, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12) == 0;
}

void slim_init(struct slim *s, const char *kind, struct kube_intern *t,
	       const struct kube_sax_row *rows, size_t n)
{
	s->kind = kind;
	s->intern = t;
	s->sax = kube_sax_new(rows, n);
	strbuf_init(&s->kept);
	strbuf_init(&s->shared);
}

void slim_done(struct slim *s)
{
	kube_sax_free(s->sax);
	strbuf_done(&s->kept);
	strbuf_done(&s->shared);
	vec_done(&s->ports);
}

void slim_begin(struct slim *s)
{
	strbuf_reset(&s->kept);
	strbuf_reset(&s->shared);
	strbuf_addc(&s->kept, '\0');
	strbuf_addc(&s->shared, '\0');
	s->name = s->rv = s->ns = 0;
	s->ports.n = 0;
}

uint32_t slim_text(struct strbuf *b, struct slice text)
{
	if (text.n == 0)
		return 0;
	uint32_t at = (uint32_t)b->n; /* below KUBE_CUT_OBJECT_MAX and some */
	strbuf_add_slice(b, text);
	strbuf_addc(b, '\0');
	return at;
}

static int port_number(struct slim_port *p, struct slice text)
{
	uint64_t v;
	if (slice_u64(text, &v) < 0 || v > 65535)
		return ERR_RANGE;
	p->port = (int32_t)v;
	return 0;
}

static int port_value(struct slim *s, int id, enum kube_sax_type type, struct slice text)
{
	if (id == SLIM_PORT) {
		if (type == KUBE_SAX_MAP)
			vec_push(&s->ports, (struct slim_port){ .port = -1 });
		return 0;
	}
	if (s->ports.n == 0)
		return 0;
	struct slim_port *p = &s->ports.v[s->ports.n - 1];
	if (id == SLIM_PORT_NUMBER && type == KUBE_SAX_NUMBER)
		return port_number(p, text);
	if (id == SLIM_PORT_NAME && type == KUBE_SAX_STRING)
		p->name = slim_text(&s->shared, text);
	if (id == SLIM_PORT_PROTOCOL && type == KUBE_SAX_STRING)
		p->protocol = slim_text(&s->shared, text);
	return 0;
}

int slim_value(struct slim *s, int id, enum kube_sax_type type, struct slice text)
{
	if (id >= SLIM_PORT)
		return port_value(s, id, type, text);
	if (id < 0 || type != KUBE_SAX_STRING)
		return 0;
	/* Items of a list say no kind. */
	if (id == SLIM_KIND && !slice_is(text, s->kind))
		return ERR_TYPE;
	if (id == SLIM_NAME)
		s->name = slim_text(&s->kept, text);
	if (id == SLIM_RV)
		s->rv = slim_text(&s->kept, text);
	if (id == SLIM_NS)
		s->ns = slim_text(&s->shared, text);
	return 0;
}

int slim_read(const struct slim *s, struct slice json, kube_sax_fn fn, void *ctx)
{
	int r = kube_sax_parse(s->sax, json, fn, ctx);
	return r == 0 && s->name == 0 ? ERR_PARSE : r;
}

void slim_head(const struct slim *s, struct kube_obj *o, char *text, void (*fn)(struct kube_obj *o))
{
	memcpy(text, s->kept.s, s->kept.n);
	o->ns = slim_intern(s, s->ns);
	o->name = text + s->name;
	o->rv = text + s->rv;
	o->free = fn;
	o->mark = o->at = 0;
	o->ignore = false;
	atomic_init(&o->refs, 1);
}

void slim_ports(const struct slim *s, struct kube_port *out)
{
	if (s->ports.n == 0)
		*out = (struct kube_port){ .name = slim_intern(s, 0),
					   .protocol = slim_intern(s, 0),
					   .port = -1 };
	for (size_t i = 0; i < s->ports.n; i++) {
		const struct slim_port *p = &s->ports.v[i];
		out[i] = (struct kube_port){ .name = slim_intern(s, p->name),
					     .protocol = slim_intern(s, p->protocol),
					     .port = p->port };
	}
}

void slim_ports_drop(const struct kube_port *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		kube_intern_drop(p[i].name);
		kube_intern_drop(p[i].protocol);
	}
}
