/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the labels of a question to what it asks for, from right to left. */
#include "plugin/kubernetes/qparse.h"

/* Labels left of the zone, the leftmost first. */
struct labels {
	const struct dns_qname *q;
	unsigned n; /* not yet taken, from the left */
};

static struct slice label_at(const struct labels *labels, unsigned index)
{
	const uint8_t *p = labels->q->wire + labels->q->label[index];
	return (struct slice){ (const char *)p + 1, p[0] };
}

static struct slice take_right(struct labels *labels)
{
	return label_at(labels, --labels->n);
}

static bool has_underscore(struct slice text)
{
	return text.n != 0 && text.p[0] == '_';
}

static struct slice strip_underscore(struct slice text)
{
	return has_underscore(text) ? (struct slice){ text.p + 1, text.n - 1 } : text;
}

static bool is_word(struct slice text, const char *word)
{
	return slice_eq(text, slice_of(word));
}

/* zone.(pin|prefer)._zone */
static bool take_zone(const struct labels *labels, struct kubernetes_qparse *qparse)
{
	struct slice how = label_at(labels, labels->n - 2);
	if (qparse->is_pod || !is_word(label_at(labels, labels->n - 1), "_zone") ||
	    (!is_word(how, "pin") && !is_word(how, "prefer")))
		return false;
	qparse->n_zone_labels = labels->n - 2;
	qparse->zone_prefer = is_word(how, "prefer");
	return true;
}

/* What stands before the service; false when nothing can be meant by it. */
static bool take_rest(struct labels *labels, const struct kubernetes_qparse_opts *opts,
		      struct kubernetes_qparse *qparse)
{
	switch (labels->n) {
	case 0:
		return true;
	case 1:
		qparse->endpoint = label_at(labels, 0);
		return true;
	case 2:
		if (opts->multicluster && !has_underscore(label_at(labels, 0)) &&
		    !has_underscore(label_at(labels, 1))) {
			qparse->endpoint = label_at(labels, 0);
			qparse->cluster = label_at(labels, 1);
			return true;
		}
		/* The underscores may be left out. */
		qparse->port = strip_underscore(label_at(labels, 0));
		qparse->protocol = strip_underscore(label_at(labels, 1));
		return true;
	default:
		return opts->zonal && !opts->multicluster && take_zone(labels, qparse);
	}
}

static void parse_below_type(struct labels *labels, const struct kubernetes_qparse_opts *opts,
			     struct kubernetes_qparse *qparse)
{
	qparse->what = KUBERNETES_TYPE;
	if (labels->n == 0)
		return;
	qparse->ns = take_right(labels);
	qparse->what = KUBERNETES_NAMESPACE;
	if (labels->n == 0)
		return;
	qparse->service = take_right(labels);
	qparse->what = qparse->is_pod ? KUBERNETES_POD : KUBERNETES_SERVICE;
	if (!take_rest(labels, opts, qparse))
		qparse->what = KUBERNETES_NONSENSE;
}

void kubernetes_qparse(const struct dns_qname *qname, unsigned zone_labels,
		       const struct kubernetes_qparse_opts *opts, struct kubernetes_qparse *ret)
{
	struct labels l = { qname, qname->n_labels - zone_labels };
	*ret = (struct kubernetes_qparse){ .what = KUBERNETES_APEX };
	if (l.n == 0)
		return;
	struct slice last = take_right(&l);
	ret->what = KUBERNETES_NONSENSE;
	if (is_word(last, "svc") || is_word(last, "pod")) {
		ret->is_pod = last.p[0] == 'p';
		parse_below_type(&l, opts, ret);
	} else if (is_word(last, "dns-version") && l.n == 0) {
		ret->what = KUBERNETES_VERSION;
	} else if (is_word(last, "dns") && l.n == 1 && is_word(label_at(&l, 0), "ns")) {
		ret->what = KUBERNETES_NS_HOST;
	}
}
