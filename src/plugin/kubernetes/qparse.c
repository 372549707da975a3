/* From the labels of a question to what it asks for, from right to left. */
#include "plugin/kubernetes/qparse.h"

/* Labels left of the zone, the leftmost first. */
struct labels {
	const struct dns_qname *q;
	unsigned n; /* not yet taken, from the left */
};

static struct slice label_at(const struct labels *l, unsigned i)
{
	const uint8_t *p = l->q->wire + l->q->label[i];
	return (struct slice){ (const char *)p + 1, p[0] };
}

static struct slice take_right(struct labels *l)
{
	return label_at(l, --l->n);
}

static bool has_underscore(struct slice s)
{
	return s.n != 0 && s.p[0] == '_';
}

static struct slice strip_underscore(struct slice s)
{
	return has_underscore(s) ? (struct slice){ s.p + 1, s.n - 1 } : s;
}

static bool is(struct slice s, const char *word)
{
	return slice_eq(s, slice_of(word));
}

/* zone.(pin|prefer)._zone */
static bool take_zone(const struct labels *l, struct kubernetes_qparse *p)
{
	struct slice how = label_at(l, l->n - 2);
	if (p->is_pod || !is(label_at(l, l->n - 1), "_zone") ||
	    (!is(how, "pin") && !is(how, "prefer")))
		return false;
	p->n_zone_labels = l->n - 2;
	p->zone_prefer = is(how, "prefer");
	return true;
}

/* What stands before the service; false when nothing can be meant by it. */
static bool take_rest(struct labels *l, const struct kubernetes_qparse_opts *o,
		      struct kubernetes_qparse *p)
{
	switch (l->n) {
	case 0:
		return true;
	case 1:
		p->endpoint = label_at(l, 0);
		return true;
	case 2:
		if (o->multicluster && !has_underscore(label_at(l, 0)) &&
		    !has_underscore(label_at(l, 1))) {
			p->endpoint = label_at(l, 0);
			p->cluster = label_at(l, 1);
			return true;
		}
		/* The underscores may be left out. */
		p->port = strip_underscore(label_at(l, 0));
		p->protocol = strip_underscore(label_at(l, 1));
		return true;
	default:
		return o->zonal && !o->multicluster && take_zone(l, p);
	}
}

static void parse_below_type(struct labels *l, const struct kubernetes_qparse_opts *o,
			     struct kubernetes_qparse *p)
{
	p->what = KUBERNETES_TYPE;
	if (l->n == 0)
		return;
	p->ns = take_right(l);
	p->what = KUBERNETES_NAMESPACE;
	if (l->n == 0)
		return;
	p->service = take_right(l);
	p->what = p->is_pod ? KUBERNETES_POD : KUBERNETES_SERVICE;
	if (!take_rest(l, o, p))
		p->what = KUBERNETES_NONSENSE;
}

void kubernetes_qparse(const struct dns_qname *q, unsigned zone_labels,
		       const struct kubernetes_qparse_opts *o, struct kubernetes_qparse *ret)
{
	struct labels l = { q, q->n_labels - zone_labels };
	*ret = (struct kubernetes_qparse){ .what = KUBERNETES_APEX };
	if (l.n == 0)
		return;
	struct slice last = take_right(&l);
	ret->what = KUBERNETES_NONSENSE;
	if (is(last, "svc") || is(last, "pod")) {
		ret->is_pod = last.p[0] == 'p';
		parse_below_type(&l, o, ret);
	} else if (is(last, "dns-version") && l.n == 0) {
		ret->what = KUBERNETES_VERSION;
	} else if (is(last, "dns") && l.n == 1 && is(label_at(&l, 0), "ns")) {
		ret->what = KUBERNETES_NS_HOST;
	}
}
