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

void slim_init(struct slim *slim, const char *kind, struct kube_intern *intern,
	       const struct kube_sax_row *rows, size_t count)
{
	slim->kind = kind;
	slim->intern = intern;
	slim->sax = kube_sax_new(rows, count);
	strbuf_init(&slim->kept);
	strbuf_init(&slim->shared);
}

void slim_done(struct slim *slim)
{
	kube_sax_free(slim->sax);
	strbuf_done(&slim->kept);
	strbuf_done(&slim->shared);
	vec_done(&slim->ports);
}

void slim_begin(struct slim *slim)
{
	strbuf_reset(&slim->kept);
	strbuf_reset(&slim->shared);
	strbuf_addc(&slim->kept, '\0');
	strbuf_addc(&slim->shared, '\0');
	slim->name = slim->rv = slim->ns = 0;
	slim->ports.n = 0;
}

uint32_t slim_text(struct strbuf *out, struct slice text)
{
	if (text.n == 0)
		return 0;
	uint32_t at = (uint32_t)out->n; /* below KUBE_CUT_OBJECT_MAX and some */
	strbuf_add_slice(out, text);
	strbuf_addc(out, '\0');
	return at;
}

static int port_number(struct slim_port *port, struct slice text)
{
	uint64_t v;
	if (slice_u64(text, &v) < 0 || v > 65535)
		return ERR_RANGE;
	port->port = (int32_t)v;
	return 0;
}

static int port_value(struct slim *slim, int id, enum kube_sax_type type, struct slice text)
{
	if (id == SLIM_PORT) {
		if (type == KUBE_SAX_MAP)
			vec_push(&slim->ports, (struct slim_port){ .port = -1 });
		return 0;
	}
	if (slim->ports.n == 0)
		return 0;
	struct slim_port *p = &slim->ports.v[slim->ports.n - 1];
	if (id == SLIM_PORT_NUMBER && type == KUBE_SAX_NUMBER)
		return port_number(p, text);
	if (id == SLIM_PORT_NAME && type == KUBE_SAX_STRING)
		p->name = slim_text(&slim->shared, text);
	if (id == SLIM_PORT_PROTOCOL && type == KUBE_SAX_STRING)
		p->protocol = slim_text(&slim->shared, text);
	return 0;
}

int slim_value(struct slim *slim, int id, enum kube_sax_type type, struct slice text)
{
	if (id >= SLIM_PORT)
		return port_value(slim, id, type, text);
	if (id < 0 || type != KUBE_SAX_STRING)
		return 0;
	/* Items of a list say no kind. */
	if (id == SLIM_KIND && !slice_is(text, slim->kind))
		return ERR_TYPE;
	if (id == SLIM_NAME)
		slim->name = slim_text(&slim->kept, text);
	if (id == SLIM_RV)
		slim->rv = slim_text(&slim->kept, text);
	if (id == SLIM_NS)
		slim->ns = slim_text(&slim->shared, text);
	return 0;
}

int slim_read(const struct slim *slim, struct slice json, kube_sax_fn fn, void *ctx)
{
	int r = kube_sax_parse(slim->sax, json, fn, ctx);
	return r == 0 && slim->name == 0 ? ERR_PARSE : r;
}

void slim_head(const struct slim *slim, struct kube_obj *obj, char *text,
	       void (*fn)(struct kube_obj *obj))
{
	memcpy(text, slim->kept.s, slim->kept.n);
	obj->ns = slim_intern(slim, slim->ns);
	obj->name = text + slim->name;
	obj->rv = text + slim->rv;
	obj->free = fn;
	obj->mark = obj->at = 0;
	obj->ignore = false;
	atomic_init(&obj->refs, 1);
}

void slim_ports(const struct slim *slim, struct kube_port *out)
{
	if (slim->ports.n == 0)
		*out = (struct kube_port){ .name = slim_intern(slim, 0),
					   .protocol = slim_intern(slim, 0),
					   .port = -1 };
	for (size_t i = 0; i < slim->ports.n; i++) {
		const struct slim_port *p = &slim->ports.v[i];
		out[i] = (struct kube_port){ .name = slim_intern(slim, p->name),
					     .protocol = slim_intern(slim, p->protocol),
					     .port = p->port };
	}
}

void slim_ports_drop(const struct kube_port *port, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		kube_intern_drop(port[i].name);
		kube_intern_drop(port[i].protocol);
	}
}
