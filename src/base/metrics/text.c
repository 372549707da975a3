/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prometheus' text form 0.0.4, byte for byte as its Go client prints it: families by name, series
 * by label values, labels by name, numbers in Go's shortest %g. */
#include "base/metrics/text_priv.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/metrics/metrics_priv.h"
#include "base/metrics/text_test.h"

/* The fewest digits that read back as the same number, in the form d.ddde+XX; returns how many. */
static int print_shortest(double number, char *buf, size_t len)
{
	int after_point = 0;
	for (; after_point < 16; after_point++) {
		snprintf(buf, len, "%.*e", after_point, number);
		if (strtod(buf, NULL) == number)
			return after_point + 1;
	}
	snprintf(buf, len, "%.*e", after_point, number);
	return after_point + 1;
}

void metrics_add_number(struct strbuf *out, double number)
{
	char buf[64];
	if (isnan(number)) {
		strbuf_adds(out, "NaN");
	} else if (isinf(number)) {
		strbuf_adds(out, number > 0 ? "+Inf" : "-Inf");
	} else if (fabs(number) < 1e6 && floor(number) >= number) {
		strbuf_addf(out, "%d", (int)number);
	} else {
		int digits = print_shortest(number, buf, sizeof(buf));
		int exponent = (int)strtol(strchr(buf, 'e') + 1, NULL, 10);
		/* Go's bounds for the shortest %g. */
		if (exponent < -4 || exponent >= 6)
			strbuf_adds(out, buf);
		else
			strbuf_addf(out, "%.*f", MAX(digits - 1 - exponent, 0), number);
	}
}

static void add_escaped(struct strbuf *out, const char *text, bool quote_too)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			strbuf_adds(out, "\\n");
		else if (*text == '\\' || (quote_too && *text == '"'))
			strbuf_add(out, (const char[]){ '\\', *text }, 2);
		else
			strbuf_addc(out, *text);
	}
}

/* How to print one family: its labels in order of name. */
struct view {
	const struct metrics_family *f;
	size_t n;
	size_t order[METRICS_MAX_LABELS];
};

static void view_init(struct view *view, const struct metrics_family *family)
{
	*view = (struct view){ .f = family, .n = metrics_label_count(family) };
	for (size_t i = 0; i < view->n; i++) {
		size_t at = i;
		for (; at > 0 && strcmp(family->labels[view->order[at - 1]], family->labels[i]) > 0;
		     at--)
			view->order[at] = view->order[at - 1];
		view->order[at] = i;
	}
}

static const char *value_at(const struct metrics_series *series, size_t label)
{
	const char *v = series->values;
	while (label-- > 0)
		v += strlen(v) + 1;
	return v;
}

static int by_label_values(const void *left, const void *right, void *ctx)
{
	const struct metrics_series *x = *(const struct metrics_series *const *)left;
	const struct metrics_series *y = *(const struct metrics_series *const *)right;
	const struct view *v = ctx;
	for (size_t i = 0; i < v->n; i++) {
		int c = strcmp(value_at(x, v->order[i]), value_at(y, v->order[i]));
		if (c != 0)
			return c;
	}
	return 0;
}

static int by_family_name(const void *left, const void *right)
{
	const struct metrics_group *x = *(const struct metrics_group *const *)left;
	const struct metrics_group *y = *(const struct metrics_group *const *)right;
	return strcmp(x->family.name, y->family.name);
}

/* `name_suffix{labels} value`; `le`, when not NULL, is the last label. */
static void print_sample(const struct view *view, const struct metrics_series *series,
			 const char *suffix, const double *le, double value, struct strbuf *out)
{
	strbuf_adds(out, view->f->name);
	strbuf_adds(out, suffix);
	char before = '{';
	for (size_t i = 0; i < view->n; i++) {
		strbuf_addc(out, before);
		strbuf_adds(out, view->f->labels[view->order[i]]);
		strbuf_adds(out, "=\"");
		add_escaped(out, value_at(series, view->order[i]), true);
		strbuf_addc(out, '"');
		before = ',';
	}
	if (le != NULL) {
		strbuf_addc(out, before);
		strbuf_adds(out, "le=\"");
		metrics_add_number(out, *le);
		strbuf_addc(out, '"');
		before = ',';
	}
	if (before == ',')
		strbuf_addc(out, '}');
	strbuf_addc(out, ' ');
	metrics_add_number(out, value);
	strbuf_addc(out, '\n');
}

static void print_histogram(const struct view *view, const struct metrics_series *series,
			    struct strbuf *out)
{
	double count = 0;
	for (size_t i = 0; i <= view->f->n_buckets; i++) {
		double le = i < view->f->n_buckets ? view->f->buckets[i] : (double)INFINITY;
		count += (double)metrics_cell_sum(series, i);
		print_sample(view, series, "_bucket", &le, count, out);
	}
	print_sample(view, series, "_sum", NULL, metrics_histogram_sum(series), out);
	print_sample(view, series, "_count", NULL, count, out);
}

static void print_group(const struct metrics_group *group, struct strbuf *out)
{
	static const char *const kinds[] = {
		[METRICS_COUNTER] = "counter",
		[METRICS_GAUGE] = "gauge",
		[METRICS_HISTOGRAM] = "histogram",
	};
	const struct metrics_series **live = xcalloc(group->series.n + 1, sizeof(const void *));
	size_t n = 0, pos = 0;
	const struct map_entry *e;
	while ((e = map_next(&group->series, &pos)) != NULL) {
		const struct metrics_series *s = e->value;
		if (!s->dropped)
			live[n++] = s;
	}
	struct view v;
	view_init(&v, &group->family);
	qsort_r(live, n, sizeof(live[0]), by_label_values, &v);
	if (n > 0) {
		strbuf_addf(out, "# HELP %s ", v.f->name);
		add_escaped(out, v.f->help != NULL ? v.f->help : "", false);
		strbuf_addf(out, "\n# TYPE %s %s\n", v.f->name, kinds[v.f->kind]);
	}
	for (size_t i = 0; i < n; i++) {
		if (v.f->kind == METRICS_HISTOGRAM)
			print_histogram(&v, live[i], out);
		else
			print_sample(&v, live[i], "", NULL, metrics_value(live[i]), out);
	}
	free(live);
}

void metrics_print_families(const struct map *families, struct strbuf *out)
{
	const struct metrics_group **sorted = xcalloc(families->n + 1, sizeof(const void *));
	size_t n = 0, pos = 0;
	const struct map_entry *e;
	while ((e = map_next(families, &pos)) != NULL)
		sorted[n++] = e->value;
	qsort(sorted, n, sizeof(sorted[0]), by_family_name);
	for (size_t i = 0; i < n; i++)
		print_group(sorted[i], out);
	free(sorted);
}
