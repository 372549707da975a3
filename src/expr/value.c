/* Values: reading lists and maps, and rendering as Go's %v does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "expr/expr_priv.h"

size_t expr_list_len(const struct expr_value *v)
{
	if (v->type == EXPR_LIST)
		return v->list.n;
	return v->type == EXPR_BYTES ? v->s.n : 0;
}

struct expr_value expr_list_at(const struct expr_value *v, size_t i)
{
	if (v->type == EXPR_BYTES)
		return expr_int((unsigned char)v->s.p[i]);
	if (v->range)
		return expr_int(v->list.from + (int64_t)i);
	return v->list.v[i];
}

/* Maps of Go order keys of any type by type first. */
int expr_key_cmp(const struct expr_value *a, const struct expr_value *b)
{
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->type == EXPR_STRING)
		return slice_cmp(a->s, b->s);
	if (a->type == EXPR_INT)
		return a->i < b->i ? -1 : a->i > b->i;
	if (a->type == EXPR_FLOAT)
		return a->f < b->f ? -1 : a->f > b->f;
	if (a->type == EXPR_BOOL)
		return (int)a->b - (int)b->b;
	return 0;
}

const struct expr_value *expr_map_get(const struct expr_value *m, const struct expr_value *key)
{
	size_t lo = 0, hi = expr_is_map(m) ? m->map.n : 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = expr_key_cmp(key, &m->map.v[mid].key);
		if (c == 0)
			return &m->map.v[mid].value;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

const char *expr_value_type_name(const struct expr_value *v)
{
	static const char *const names[] = {
		[EXPR_NIL] = "<nil>",
		[EXPR_BOOL] = "bool",
		[EXPR_INT] = "int",
		[EXPR_FLOAT] = "float64",
		[EXPR_STRING] = "string",
		[EXPR_BYTES] = "[]uint8",
		[EXPR_LIST] = "[]interface {}",
		[EXPR_MAP] = "map[string]interface {}",
		[EXPR_ANYMAP] = "map[interface {}]interface {}",
		[EXPR_STRINGS] = "[]string",
		[EXPR_ANY] = "interface {}",
	};
	return names[v->type];
}

int64_t expr_float_to_int(double f)
{
	if (!(f >= -9223372036854775808.0 && f < 9223372036854775808.0))
		return INT64_MIN;
	return (int64_t)f;
}

/* --- text --- */

void expr_out(struct out *o, const char *p, size_t n)
{
	if (o->full || n > o->max - o->n) {
		o->full = true;
		return;
	}
	if (o->p != NULL && n != 0)
		memcpy(o->p + o->n, p, n);
	o->n += n;
}

void expr_out_str(struct out *o, const char *s)
{
	expr_out(o, s, strlen(s));
}

/* The shortest "d.ddde±xx" that reads back as `f`. Up to 15 digits a decimal names one double, so
 * 15 without their trailing zeros are the shortest when they suffice; not so for subnormals. */
static void shortest(double f, char *out, size_t n)
{
	for (int prec = fabs(f) < 2.3e-308 ? 0 : 14; prec <= 16; prec++) {
		snprintf(out, n, "%.*e", prec, f);
		if (strtod(out, NULL) == f)
			return;
	}
}

void expr_format_float(double f, int low, int high, char out[EXPR_FLOAT_BYTES])
{
	char sci[40], digits[24];
	size_t nd = 0, n = 0;
	if (isnan(f) || isinf(f)) {
		snprintf(out, EXPR_FLOAT_BYTES, "%s", isnan(f) ? "NaN" : f > 0 ? "+Inf" : "-Inf");
		return;
	}
	shortest(f, sci, sizeof(sci));
	const char *e = strchr(sci, 'e');
	for (const char *p = sci; p < e; p++) {
		if (ascii_isdigit(*p))
			digits[nd++] = *p;
	}
	while (nd > 1 && digits[nd - 1] == '0')
		nd--;
	digits[nd] = '\0';
	int exp = (int)strtol(e + 1, NULL, 10);
	if (signbit(f))
		out[n++] = '-';
	if (exp < low || exp >= high)
		snprintf(out + n, EXPR_FLOAT_BYTES - n, "%c%s%se%c%02d", digits[0],
			 nd > 1 ? "." : "", digits + 1, exp < 0 ? '-' : '+', abs(exp));
	else if (exp < 0)
		snprintf(out + n, EXPR_FLOAT_BYTES - n, "0.%.*s%s", -exp - 1,
			 "00000000000000000000", digits);
	else if ((size_t)exp + 1 >= nd)
		snprintf(out + n, EXPR_FLOAT_BYTES - n, "%s%.*s", digits, exp + 1 - (int)nd,
			 "0000000000000000000000000");
	else
		snprintf(out + n, EXPR_FLOAT_BYTES - n, "%.*s.%s", exp + 1, digits,
			 digits + exp + 1);
}

static void out_list(struct out *o, const struct expr_value *v)
{
	expr_out(o, "[", 1);
	for (size_t i = 0; i < expr_list_len(v) && !o->full; i++) {
		struct expr_value item = expr_list_at(v, i);
		if (i > 0)
			expr_out(o, " ", 1);
		expr_out_value(o, &item);
	}
	expr_out(o, "]", 1);
}

static void out_map(struct out *o, const struct expr_value *v)
{
	expr_out_str(o, "map[");
	for (size_t i = 0; i < v->map.n && !o->full; i++) {
		if (i > 0)
			expr_out(o, " ", 1);
		expr_out_value(o, &v->map.v[i].key);
		expr_out(o, ":", 1);
		expr_out_value(o, &v->map.v[i].value);
	}
	expr_out(o, "]", 1);
}

void expr_out_value(struct out *o, const struct expr_value *v)
{
	char text[EXPR_FLOAT_BYTES];
	switch (v->type) {
	case EXPR_BOOL:
		expr_out_str(o, v->b ? "true" : "false");
		break;
	case EXPR_INT:
		snprintf(text, sizeof(text), "%lld", (long long)v->i);
		expr_out_str(o, text);
		break;
	case EXPR_FLOAT:
		expr_format_float(v->f, -4, 6, text);
		expr_out_str(o, text);
		break;
	case EXPR_STRING:
		expr_out(o, v->s.p, v->s.n);
		break;
	case EXPR_BYTES:
	case EXPR_LIST:
		out_list(o, v);
		break;
	case EXPR_MAP:
	case EXPR_ANYMAP:
		out_map(o, v);
		break;
	case EXPR_NIL:
	case EXPR_STRINGS:
	case EXPR_ANY:
		expr_out_str(o, "<nil>");
		break;
	}
}

int expr_value_print(const struct expr_value *v, char *out, size_t n, size_t *ret_len)
{
	if (n == 0)
		return ERR_SPACE;
	struct out o = { .p = out, .max = n - 1 };
	expr_out_value(&o, v);
	if (o.full)
		return ERR_SPACE;
	out[o.n] = '\0';
	*ret_len = o.n;
	return 0;
}
