/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builtins on numbers: rounding, conversion, aggregates, bits. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "expr/builtin_priv.h"
#include "expr/expr_priv.h"
#include "expr/run_priv.h"
#include "expr/value_priv.h"

static int fail_argument(struct ev *ev, const char *name, const struct expr_value *value)
{
	return expr_fail(ev, "invalid argument for %s (type %s)", name,
			 expr_value_type_name(value));
}

BUILTIN(abs)
{
	(void)n;
	*ret = *a;
	if (!expr_is_number(a))
		return fail_argument(ev, "abs", a);
	if (a->type == EXPR_FLOAT)
		ret->f = fabs(a->f);
	else if (a->i < 0)
		ret->i = (int64_t) - (uint64_t)a->i;
	return 0;
}

static int rounded(struct ev *ev, const struct expr_value *a, const char *name,
		   double (*fn)(double), struct expr_value *ret)
{
	if (!expr_is_number(a))
		return fail_argument(ev, name, a);
	*ret = expr_float(fn(expr_to_float(a)));
	return 0;
}

BUILTIN(ceil)
{
	(void)n;
	return rounded(ev, a, "ceil", ceil, ret);
}

BUILTIN(floor)
{
	(void)n;
	return rounded(ev, a, "floor", floor, ret);
}

BUILTIN(round)
{
	(void)n;
	return rounded(ev, a, "round", round, ret);
}

/* Go's strconv.Atoi: an optional sign and decimal digits, nothing else. */
static int parse_int(struct slice s, int64_t *ret)
{
	bool neg = s.n > 0 && s.p[0] == '-';
	uint64_t v;
	if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'))
		s = slice_from(s, 1);
	if (slice_u64(s, &v) < 0 || v > (uint64_t)INT64_MAX + neg)
		return ERR_RANGE;
	*ret = (int64_t)(neg ? -v : v);
	return 0;
}

BUILTIN(int)
{
	int64_t i;
	(void)n;
	if (expr_is_number(a)) {
		*ret = expr_int(a->type == EXPR_INT ? a->i : expr_float_to_int(a->f));
		return 0;
	}
	if (a->type != EXPR_STRING)
		return expr_fail(ev, "invalid operation: int(%s)", expr_value_type_name(a));
	if (parse_int(a->s, &i) < 0)
		return expr_fail(ev, "invalid operation: int(%.*s)", (int)MIN(a->s.n, 100U),
				 a->s.p);
	*ret = expr_int(i);
	return 0;
}

/* Only the letters Go's ParseFloat knows; underscores stand between digits. */
static bool float_syntax(struct slice s, char *out, size_t n)
{
	static const char allowed[] = "0123456789abcdefABCDEFxXpP+-._";
	size_t start = s.n > 0 && (s.p[0] == '+' || s.p[0] == '-');
	struct slice body = slice_from(s, start);
	bool word = slice_eq_nocase(body, SLICE("inf")) ||
		    slice_eq_nocase(body, SLICE("infinity")) ||
		    (slice_eq_nocase(body, SLICE("nan")) && start == 0);
	size_t k = 0;
	if (s.n == 0 || s.n >= n || (body.n > 0 && body.p[0] == '_'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!word && (s.p[i] == '\0' || strchr(allowed, s.p[i]) == NULL))
			return false;
		if (s.p[i] != '_')
			out[k++] = s.p[i];
		else if (i + 1 == s.n || !ascii_isdigit(s.p[i - 1]) || !ascii_isdigit(s.p[i + 1]))
			return false;
	}
	out[k] = '\0';
	return true;
}

BUILTIN(float)
{
	char text[400], *end;
	(void)n;
	if (expr_is_number(a)) {
		*ret = expr_float(expr_to_float(a));
		return 0;
	}
	if (a->type != EXPR_STRING)
		return expr_fail(ev, "invalid operation: float(%s)", expr_value_type_name(a));
	if (!float_syntax(a->s, text, sizeof(text)))
		goto wrong;
	bool hex = strpbrk(text, "xX") != NULL;
	errno = 0;
	double f = strtod(text, &end);
	/* Go demands an exponent with hexadecimal digits, and takes no value out of range. */
	if (*end != '\0' || (hex && strpbrk(text, "pP") == NULL) || (errno == ERANGE && isinf(f)))
		goto wrong;
	*ret = expr_float(f);
	return 0;
wrong:
	return expr_fail(ev, "invalid operation: float(%.*s)", (int)MIN(a->s.n, 100U), a->s.p);
}

int expr_to_int(struct ev *ev, const struct expr_value *v, int64_t *ret)
{
	if (!expr_is_number(v))
		return expr_fail(ev, "invalid operation: int(%s)", expr_value_type_name(v));
	*ret = v->type == EXPR_INT ? v->i : expr_float_to_int(v->f);
	return 0;
}

/* Squares fraction and exponent apart, as Go does; what is special is left to libc. */
double expr_pow(double x, double y)
{
	double whole, part = modf(fabs(y), &whole), result = 1;
	int power, result_power = 0;
	if (!isfinite(x) || !isfinite(y) || x == 0 || whole >= 1048576 || fabs(y) == 0.5 ||
	    (part != 0 && x < 0))
		return pow(x, y);
	if (part > 0.5) {
		part--;
		whole++;
	}
	if (part != 0)
		result = exp(part * log(x));
	double fraction = frexp(x, &power);
	for (uint32_t i = (uint32_t)whole; i != 0; i >>= 1) {
		if (power < -4096 || power > 4096)
			return pow(x, y); /* overflows or vanishes */
		if (i & 1) {
			result *= fraction;
			result_power += power;
		}
		fraction *= fraction;
		power *= 2;
		if (fraction < 0.5) {
			fraction += fraction;
			power--;
		}
	}
	return y < 0 ? ldexp(1 / result, -result_power) : ldexp(result, result_power);
}

/* --- aggregates, which look into lists in lists --- */

typedef int (*visit_fn)(struct ev *ev, void *state, const struct expr_value *value);

static int visit_numbers(struct ev *ev, const struct expr_value *value, const char *name,
			 visit_fn visit, void *state)
{
	int r = expr_spend(ev, 1);
	if (r < 0)
		return r;
	if (expr_is_number(value))
		return visit(ev, state, value);
	if (!expr_is_list(value))
		return fail_argument(ev, name, value);
	for (size_t i = 0; i < expr_list_len(value); i++) {
		struct expr_value item = expr_list_at(value, i);
		r = visit_numbers(ev, &item, name, visit, state);
		if (r < 0)
			return r;
	}
	return 0;
}

static int visit_all(struct ev *ev, const struct expr_value *value, unsigned count,
		     const char *name, visit_fn visit, void *state)
{
	for (unsigned i = 0; i < count; i++) {
		int r = visit_numbers(ev, &value[i], name, visit, state);
		if (r < 0)
			return r;
	}
	return 0;
}

struct best {
	enum op worse;
	struct expr_value v;
};

static int visit_best(struct ev *ev, void *state, const struct expr_value *value)
{
	struct best *b = state;
	int r = b->v.type == EXPR_NIL ? 1 : expr_order(ev, b->worse, &b->v, value);
	if (r > 0)
		b->v = *value;
	return MIN(r, 0);
}

static int best_of(struct ev *ev, const struct expr_value *value, unsigned count, enum op worse,
		   struct expr_value *ret)
{
	struct best b = { .worse = worse, .v = expr_nil() };
	/* One argument that is no number is its own best, in expr-lang. */
	if (count == 1 && !expr_is_list(value)) {
		*ret = *value;
		return 0;
	}
	int r = visit_all(ev, value, count, worse == OP_LT ? "max" : "min", visit_best, &b);
	*ret = b.v;
	return r;
}

BUILTIN(max)
{
	return best_of(ev, a, n, OP_LT, ret);
}

BUILTIN(min)
{
	return best_of(ev, a, n, OP_GT, ret);
}

struct total {
	double sum;
	size_t n;
	struct expr_value *v; /* where to collect, when not NULL */
};

static int visit_total(struct ev *ev, void *state, const struct expr_value *value)
{
	struct total *t = state;
	(void)ev;
	t->sum += expr_to_float(value);
	if (t->v != NULL)
		t->v[t->n] = expr_float(expr_to_float(value));
	t->n++;
	return 0;
}

BUILTIN(mean)
{
	struct total t = { 0 };
	int r = visit_all(ev, a, n, "mean", visit_total, &t);
	*ret = expr_float(t.n != 0 ? t.sum / (double)t.n : 0);
	return r;
}

BUILTIN(median)
{
	struct total t = { 0 };
	int r = visit_all(ev, a, n, "median", visit_total, &t);
	if (r < 0)
		return r;
	*ret = expr_float(0);
	if (t.n == 0)
		return 0;
	struct expr_value *v = expr_alloc_values(ev, t.n);
	if (v == NULL)
		return ERR_LIMIT;
	size_t count = t.n;
	t = (struct total){ .v = v };
	r = visit_all(ev, a, n, "median", visit_total, &t);
	if (r == 0)
		r = expr_sort(ev, v, NULL, count, false);
	if (r < 0)
		return r;
	*ret = v[count / 2];
	if (count % 2 == 0)
		ret->f = (v[count / 2 - 1].f + v[count / 2].f) / 2;
	return 0;
}

/* --- bits --- */

static int want_ints(struct ev *ev, const struct expr_value *a, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++) {
		if (a[i].type != EXPR_INT)
			return expr_fail(ev, "cannot use %s as argument (type int) to call %s",
					 expr_value_type_name(&a[i]), name);
	}
	return 0;
}

static int want_shift(struct ev *ev, const struct expr_value *a, unsigned n, const char *name)
{
	int r = want_ints(ev, a, n, name);
	if (r == 0 && a[1].i < 0)
		return expr_fail(ev, "invalid operation: negative shift count %lld (type int)",
				 (long long)a[1].i);
	return r;
}

BUILTIN(bitand)
{
	int r = want_ints(ev, a, n, "bitand");
	*ret = expr_int(a[0].i & a[1].i);
	return r;
}

BUILTIN(bitor)
{
	int r = want_ints(ev, a, n, "bitor");
	*ret = expr_int(a[0].i | a[1].i);
	return r;
}

BUILTIN(bitxor)
{
	int r = want_ints(ev, a, n, "bitxor");
	*ret = expr_int(a[0].i ^ a[1].i);
	return r;
}

BUILTIN(bitnand)
{
	int r = want_ints(ev, a, n, "bitnand");
	*ret = expr_int(a[0].i & ~a[1].i);
	return r;
}

BUILTIN(bitnot)
{
	int r = want_ints(ev, a, n, "bitnot");
	*ret = expr_int(~a[0].i);
	return r;
}

BUILTIN(bitshl)
{
	int r = want_shift(ev, a, n, "bitshl");
	*ret = expr_int(r == 0 && a[1].i < 64 ? (int64_t)((uint64_t)a[0].i << a[1].i) : 0);
	return r;
}

BUILTIN(bitshr)
{
	int r = want_shift(ev, a, n, "bitshr");
	*ret = expr_int(r == 0 ? a[0].i >> MIN(a[1].i, 63) : 0);
	return r;
}

BUILTIN(bitushr)
{
	int r = want_shift(ev, a, n, "bitushr");
	*ret = expr_int(r == 0 && a[1].i < 64 ? (int64_t)((uint64_t)a[0].i >> a[1].i) : 0);
	return r;
}
