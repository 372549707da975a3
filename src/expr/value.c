/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: reading lists and maps, and rendering as Go's %v does. */
#include "expr/value_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "expr/expr_priv.h"

size_t expr_list_len(const struct expr_value *value)
{
	if (value->type == EXPR_LIST)
		return value->list.n;
	return value->type == EXPR_BYTES ? value->s.n : 0;
}

struct expr_value expr_list_at(const struct expr_value *value, size_t index)
{
	if (value->type == EXPR_BYTES)
		return expr_int((unsigned char)value->s.p[index]);
	if (value->range)
		return expr_int(value->list.from + (int64_t)index);
	return value->list.v[index];
}

/* Maps of Go order keys of any type by type first. */
int expr_key_cmp(const struct expr_value *left, const struct expr_value *right)
{
	if (left->type != right->type)
		return left->type < right->type ? -1 : 1;
	if (left->type == EXPR_STRING)
		return slice_cmp(left->s, right->s);
	if (left->type == EXPR_INT)
		return left->i < right->i ? -1 : left->i > right->i;
	if (left->type == EXPR_FLOAT)
		return left->f < right->f ? -1 : left->f > right->f;
	if (left->type == EXPR_BOOL)
		return (int)left->b - (int)right->b;
	return 0;
}

const struct expr_value *expr_map_get(const struct expr_value *value, const struct expr_value *key)
{
	size_t lo = 0, hi = expr_is_map(value) ? value->map.n : 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = expr_key_cmp(key, &value->map.v[mid].key);
		if (c == 0)
			return &value->map.v[mid].value;
		if (c < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

const char *expr_value_type_name(const struct expr_value *value)
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
	return names[value->type];
}

int64_t expr_float_to_int(double number)
{
	if (!(number >= -9223372036854775808.0 && number < 9223372036854775808.0))
		return INT64_MIN;
	return (int64_t)number;
}

/* --- text --- */

void expr_out(struct out *out, const char *pos, size_t len)
{
	if (out->full || len > out->max - out->n) {
		out->full = true;
		return;
	}
	if (out->p != NULL && len != 0)
		memcpy(out->p + out->n, pos, len);
	out->n += len;
}

void expr_out_str(struct out *out, const char *text)
{
	expr_out(out, text, strlen(text));
}

/* The shortest "d.ddde±xx" that reads back as `number`. Up to 15 digits a decimal names one double,
 * so 15 without their trailing zeros are the shortest when they suffice; not so for subnormals. */
static void print_shortest(double number, char *out, size_t len)
{
	for (int prec = fabs(number) < 2.3e-308 ? 0 : 14; prec <= 16; prec++) {
		snprintf(out, len, "%.*e", prec, number);
		if (strtod(out, NULL) == number)
			return;
	}
}

void expr_format_float(double number, int low, int high, char out[EXPR_FLOAT_BYTES])
{
	char sci[40], digits[24];
	size_t nd = 0, n = 0;
	if (isnan(number) || isinf(number)) {
		snprintf(out, EXPR_FLOAT_BYTES, "%s",
			 isnan(number) ? "NaN"
			 : number > 0  ? "+Inf"
				       : "-Inf");
		return;
	}
	print_shortest(number, sci, sizeof(sci));
	const char *e = strchr(sci, 'e');
	for (const char *p = sci; p < e; p++) {
		if (ascii_isdigit(*p))
			digits[nd++] = *p;
	}
	while (nd > 1 && digits[nd - 1] == '0')
		nd--;
	digits[nd] = '\0';
	int exp = (int)strtol(e + 1, NULL, 10);
	if (signbit(number))
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

static void out_list(struct out *out, const struct expr_value *value)
{
	expr_out(out, "[", 1);
	for (size_t i = 0; i < expr_list_len(value) && !out->full; i++) {
		struct expr_value item = expr_list_at(value, i);
		if (i > 0)
			expr_out(out, " ", 1);
		expr_out_value(out, &item);
	}
	expr_out(out, "]", 1);
}

static void out_map(struct out *out, const struct expr_value *value)
{
	expr_out_str(out, "map[");
	for (size_t i = 0; i < value->map.n && !out->full; i++) {
		if (i > 0)
			expr_out(out, " ", 1);
		expr_out_value(out, &value->map.v[i].key);
		expr_out(out, ":", 1);
		expr_out_value(out, &value->map.v[i].value);
	}
	expr_out(out, "]", 1);
}

void expr_out_value(struct out *out, const struct expr_value *value)
{
	char text[EXPR_FLOAT_BYTES];
	switch (value->type) {
	case EXPR_BOOL:
		expr_out_str(out, value->b ? "true" : "false");
		break;
	case EXPR_INT:
		snprintf(text, sizeof(text), "%lld", (long long)value->i);
		expr_out_str(out, text);
		break;
	case EXPR_FLOAT:
		expr_format_float(value->f, -4, 6, text);
		expr_out_str(out, text);
		break;
	case EXPR_STRING:
		expr_out(out, value->s.p, value->s.n);
		break;
	case EXPR_BYTES:
	case EXPR_LIST:
		out_list(out, value);
		break;
	case EXPR_MAP:
	case EXPR_ANYMAP:
		out_map(out, value);
		break;
	case EXPR_NIL:
	case EXPR_STRINGS:
	case EXPR_ANY:
		expr_out_str(out, "<nil>");
		break;
	}
}

int expr_value_print(const struct expr_value *value, char *out, size_t len, size_t *ret_len)
{
	if (len == 0)
		return ERR_SPACE;
	struct out o = { .p = out, .max = len - 1 };
	expr_out_value(&o, value);
	if (o.full)
		return ERR_SPACE;
	out[o.n] = '\0';
	*ret_len = o.n;
	return 0;
}
