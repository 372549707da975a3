/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's fmt.Sprint, Sprintln and Sprintf over template values: the format language, and values made
 * of other values. Mistakes in a format show in the text, as in Go, and are no errors. */
#include "tmpl/printf_priv.h"

#include "tmpl/tmpl_priv.h"

#include "base/err.h"
#include "base/text/utf8.h"
#include "tmpl/fmt_priv.h"
#include "tmpl/out_priv.h"
#include "tmpl/value_priv.h"

enum { MAX_WIDTH = 1000000, MAX_VALUE_DEPTH = 16 };

static int add_value(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb,
		     const struct tmpl_value *value, unsigned depth);

static int bad_verb(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb,
		    const struct tmpl_value *value, unsigned depth)
{
	struct fmt inner = *fmt;
	int r = 0;
	inner.flags |= FMT_ERRORING;
	tmpl_out_s(call->out, "%!");
	tmpl_out_cp(call->out, verb);
	tmpl_out_c(call->out, '(');
	tmpl_out_slice(call->out, tmpl_type_name(value));
	if (value->kind != TMPL_NIL) {
		tmpl_out_c(call->out, '=');
		r = add_value(call, &inner, 'v', value, depth);
	}
	tmpl_out_c(call->out, ')');
	return r;
}

static void open_group(struct tmpl_call *call, const struct fmt *fmt,
		       const struct tmpl_value *value, const char *plain)
{
	if (fmt->flags & FMT_SHARP_V) {
		tmpl_out_slice(call->out, tmpl_type_name(value));
		tmpl_out_c(call->out, '{');
	} else {
		tmpl_out_s(call->out, plain);
	}
}

static void add_separator(struct tmpl_call *call, const struct fmt *fmt, size_t index)
{
	if (index > 0)
		tmpl_out_s(call->out, fmt->flags & FMT_SHARP_V ? ", " : " ");
}

static int add_list(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb,
		    const struct tmpl_value *value, unsigned depth)
{
	open_group(call, fmt, value, "[");
	for (size_t i = 0; i < value->list.n && !call->out->full; i++) {
		struct tmpl_value elem;
		int r = tmpl_list_get(call, value, i, &elem);
		if (r < 0)
			return r;
		add_separator(call, fmt, i);
		r = add_value(call, fmt, verb, &elem, depth + 1);
		if (r < 0)
			return r;
	}
	tmpl_out_c(call->out, fmt->flags & FMT_SHARP_V ? '}' : ']');
	return 0;
}

static int add_map(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb,
		   const struct tmpl_value *value, unsigned depth)
{
	struct tmpl_entry *e;
	size_t n;
	int r = tmpl_map_sorted(call, value, &e, &n);
	if (r < 0)
		return r;
	open_group(call, fmt, value, "map[");
	for (size_t i = 0; i < n && !call->out->full; i++) {
		struct tmpl_value key = tmpl_string(e[i].key);
		add_separator(call, fmt, i);
		r = add_value(call, fmt, verb, &key, depth + 1);
		if (r < 0)
			return r;
		tmpl_out_c(call->out, ':');
		r = add_value(call, fmt, verb, &e[i].value, depth + 1);
		if (r < 0)
			return r;
	}
	tmpl_out_c(call->out, fmt->flags & FMT_SHARP_V ? '}' : ']');
	return 0;
}

static int add_object(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb,
		      const struct tmpl_value *value, unsigned depth)
{
	struct slice text;
	size_t start = call->out->n;
	if (value->obj.self == NULL) {
		tmpl_out_s(call->out, "<nil>");
		tmpl_fmt_pad(call->out, fmt, start);
		return 0;
	}
	if (value->obj.cls->text == NULL || depth > 0)
		return tmpl_fail(call, "can't print %s", value->obj.cls->name);
	int r = value->obj.cls->text(value->obj.self, call->arena, &text);
	if (r < 0)
		return r;
	if (tmpl_fmt_string(call->out, fmt, verb, text))
		return 0;
	struct tmpl_value s = tmpl_string(text);
	return bad_verb(call, fmt, verb, &s, 1);
}

static int add_nil(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb, unsigned depth)
{
	size_t start = call->out->n;
	struct tmpl_value nil = { .kind = TMPL_NIL };
	if (depth == 0 && verb != 'v' && verb != 'T')
		return bad_verb(call, fmt, verb, &nil, depth);
	tmpl_out_s(call->out, "<nil>");
	if (depth == 0)
		tmpl_fmt_pad(call->out, fmt, start);
	return 0;
}

static bool add_bool(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb, bool value)
{
	size_t start = call->out->n;
	if (verb != 't' && verb != 'v')
		return false;
	tmpl_out_s(call->out, value ? "true" : "false");
	tmpl_fmt_pad(call->out, fmt, start);
	return true;
}

static bool add_uint(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb, uint64_t number)
{
	struct fmt hex = *fmt;
	if (verb != 'v' || !(fmt->flags & FMT_SHARP_V))
		return tmpl_fmt_int(call->out, fmt, verb, number, false);
	hex.flags |= FMT_SHARP;
	return tmpl_fmt_int(call->out, &hex, 'x', number, false);
}

static bool add_int(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb, int64_t number)
{
	return tmpl_fmt_int(call->out, fmt, verb,
			    number < 0 ? 0 - (uint64_t)number : (uint64_t)number, number < 0);
}

static bool add_type(struct tmpl_call *call, const struct fmt *fmt, const struct tmpl_value *value)
{
	return tmpl_fmt_string(call->out, fmt, 's', tmpl_type_name(value));
}

static int add_value(struct tmpl_call *call, const struct fmt *fmt, uint32_t verb,
		     const struct tmpl_value *value, unsigned depth)
{
	bool fits = false;
	if (depth > MAX_VALUE_DEPTH)
		return ERR_LIMIT;
	if (value->kind == TMPL_NIL)
		return add_nil(call, fmt, verb, depth);
	if (verb == 'T' && depth == 0)
		return add_type(call, fmt, value) ? 0 : ERR_INTERNAL;
	if (verb == 'p' && !(fmt->flags & FMT_ERRORING))
		return bad_verb(call, fmt, verb, value, depth);
	switch (value->kind) {
	case TMPL_BOOL:
		fits = add_bool(call, fmt, verb, value->b);
		break;
	case TMPL_INT:
		fits = add_int(call, fmt, verb, value->i);
		break;
	case TMPL_UINT:
		fits = add_uint(call, fmt, verb, value->u);
		break;
	case TMPL_FLOAT:
		fits = tmpl_fmt_float(call->out, fmt, verb, value->f, value->bits == 32 ? 32 : 64);
		break;
	case TMPL_STRING:
		fits = tmpl_fmt_string(call->out, fmt, verb, value->s);
		break;
	case TMPL_LIST:
		return add_list(call, fmt, verb, value, depth);
	case TMPL_MAP:
		return add_map(call, fmt, verb, value, depth);
	case TMPL_OBJECT:
		return add_object(call, fmt, verb, value, depth);
	case TMPL_NIL:
	case TMPL_ANY:
		return ERR_INTERNAL;
	}
	return fits ? 0 : bad_verb(call, fmt, verb, value, depth);
}

static int finish_output(const struct tmpl_call *call, int ret)
{
	return ret == 0 && call->out->full ? ERR_SPACE : ret;
}

int tmpl_print_value(struct tmpl_call *call, const struct tmpl_value *value)
{
	static const struct fmt plain = { 0 };
	if (value->kind == TMPL_STRING)
		tmpl_out_slice(call->out, value->s);
	else
		return finish_output(call, add_value(call, &plain, 'v', value, 0));
	return finish_output(call, 0);
}

int tmpl_print(struct tmpl_call *call, const struct tmpl_value *args, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && args[i].kind != TMPL_STRING && args[i - 1].kind != TMPL_STRING)
			tmpl_out_c(call->out, ' ');
		int r = tmpl_print_value(call, &args[i]);
		if (r < 0)
			return r;
	}
	return finish_output(call, 0);
}

int tmpl_println(struct tmpl_call *call, const struct tmpl_value *args, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			tmpl_out_c(call->out, ' ');
		int r = tmpl_print_value(call, &args[i]);
		if (r < 0)
			return r;
	}
	tmpl_out_c(call->out, '\n');
	return finish_output(call, 0);
}

/* One run over a format. */
struct run {
	struct tmpl_call *c;
	struct slice format;
	size_t i;
	const struct tmpl_value *args;
	size_t n, arg;
	struct fmt fmt;
	bool reordered;	  /* an [n] was seen anywhere */
	bool good_index;  /* of the verb being read */
	bool after_index; /* the last thing read was an [n] */
};

static bool is_at(const struct run *run, char ch)
{
	return run->i < run->format.n && run->format.p[run->i] == ch;
}

/* A decimal number; a huge one swallows the rest of the format, as in Go. */
static bool read_number(const char *pos, size_t *index, size_t end, size_t *ret)
{
	bool any = false;
	*ret = 0;
	while (*index < end && ascii_isdigit(pos[*index])) {
		if (*ret > MAX_WIDTH) {
			*ret = 0;
			*index = end;
			return false;
		}
		*ret = *ret * 10 + (size_t)(pos[*index] - '0');
		any = true;
		(*index)++;
	}
	return any;
}

static void read_flags(struct run *run)
{
	static const char signs[] = "#0+- ";
	static const unsigned flags[] = { FMT_SHARP, FMT_ZERO, FMT_PLUS, FMT_MINUS, FMT_SPACE };
	run->fmt = (struct fmt){ 0 };
	for (; run->i < run->format.n && run->format.p[run->i] != '\0'; run->i++) {
		const char *p = strchr(signs, run->format.p[run->i]);
		if (p == NULL)
			return;
		run->fmt.flags |= flags[p - signs];
	}
}

/* "[3]": the number of the argument to use next. */
static void read_index(struct run *run)
{
	run->after_index = false;
	if (!is_at(run, '['))
		return;
	run->reordered = true;
	struct slice rest = slice_from(run->format, run->i);
	ptrdiff_t close = rest.n >= 3 ? slice_find(rest, ']') : -1;
	size_t i = 1, index = 0;
	bool number =
		close >= 0 && read_number(rest.p, &i, (size_t)close, &index) && i == (size_t)close;
	run->i += close >= 0 ? (size_t)close + 1 : 1;
	run->after_index = number;
	if (number && index >= 1 && index <= run->n)
		run->arg = index - 1;
	else
		run->good_index = false;
}

/* "*": an integer argument. */
static bool read_star(struct run *run, int64_t *ret)
{
	*ret = 0;
	run->i++;
	if (run->arg >= run->n)
		return false;
	const struct tmpl_value *v = &run->args[run->arg++];
	if (v->kind == TMPL_INT && v->i >= -MAX_WIDTH && v->i <= MAX_WIDTH)
		*ret = v->i;
	else if (v->kind == TMPL_UINT && v->u <= MAX_WIDTH)
		*ret = (int64_t)v->u;
	else
		return false;
	return true;
}

static void read_width(struct run *run)
{
	int64_t v;
	if (!is_at(run, '*')) {
		if (read_number(run->format.p, &run->i, run->format.n, &run->fmt.width)) {
			run->fmt.flags |= FMT_WIDTH;
			if (run->after_index)
				run->good_index = false;
		}
		return;
	}
	if (read_star(run, &v))
		run->fmt.flags |= FMT_WIDTH;
	else
		tmpl_out_s(run->c->out, "%!(BADWIDTH)");
	if (v < 0)
		run->fmt.flags = (run->fmt.flags | FMT_MINUS) & ~(unsigned)FMT_ZERO;
	run->fmt.width = (size_t)(v < 0 ? -v : v);
	run->after_index = false;
}

static void read_precision(struct run *run)
{
	int64_t v;
	if (!is_at(run, '.') || run->i + 1 >= run->format.n)
		return;
	run->i++;
	if (run->after_index)
		run->good_index = false;
	read_index(run);
	if (!is_at(run, '*')) {
		read_number(run->format.p, &run->i, run->format.n, &run->fmt.prec);
		run->fmt.flags |= FMT_PREC;
		return;
	}
	if (read_star(run, &v) && v >= 0) {
		run->fmt.flags |= FMT_PREC;
		run->fmt.prec = (size_t)v;
	} else {
		tmpl_out_s(run->c->out, "%!(BADPREC)");
	}
	run->after_index = false;
}

static void add_format_error(struct run *run, uint32_t verb, const char *what)
{
	tmpl_out_s(run->c->out, "%!");
	tmpl_out_cp(run->c->out, verb);
	tmpl_out_s(run->c->out, what);
}

static int print_verb(struct run *run, uint32_t verb)
{
	struct fmt *f = &run->fmt;
	if (verb == '%') {
		tmpl_out_c(run->c->out, '%');
		return 0;
	}
	if (!run->good_index || run->arg >= run->n) {
		add_format_error(run, verb, run->good_index ? "(MISSING)" : "(BADINDEX)");
		return 0;
	}
	if (verb == 'v' || verb == 'w') {
		if (f->flags & FMT_SHARP)
			f->flags |= FMT_SHARP_V;
		if (f->flags & FMT_PLUS)
			f->flags |= FMT_PLUS_V;
		f->flags &= ~(unsigned)(FMT_SHARP | FMT_PLUS);
	}
	return add_value(run->c, f, verb, &run->args[run->arg++], 0);
}

/* After a '%'. */
static int format_one(struct run *run)
{
	uint32_t verb = 0xfffd;
	run->good_index = true;
	read_flags(run);
	read_index(run);
	read_width(run);
	read_precision(run);
	if (!run->after_index)
		read_index(run);
	if (run->i >= run->format.n) {
		tmpl_out_s(run->c->out, "%!(NOVERB)");
		return 0;
	}
	size_t n = utf8_decode(slice_from(run->format, run->i), &verb);
	run->i += n != 0 ? n : 1;
	return print_verb(run, verb);
}

static int report_extra(struct run *run)
{
	static const struct fmt plain = { 0 };
	if (run->reordered || run->arg >= run->n)
		return 0;
	tmpl_out_s(run->c->out, "%!(EXTRA ");
	for (size_t i = run->arg; i < run->n; i++) {
		const struct tmpl_value *v = &run->args[i];
		tmpl_out_s(run->c->out, i > run->arg ? ", " : "");
		tmpl_out_slice(run->c->out, tmpl_type_name(v));
		if (v->kind == TMPL_NIL)
			continue;
		tmpl_out_c(run->c->out, '=');
		int e = add_value(run->c, &plain, 'v', v, 0);
		if (e < 0)
			return e;
	}
	tmpl_out_c(run->c->out, ')');
	return 0;
}

int tmpl_printf(struct tmpl_call *call, struct slice format, const struct tmpl_value *args,
		size_t count)
{
	struct run r = { .c = call, .format = format, .args = args, .n = count };
	int e = 0;
	while (e == 0 && r.i < format.n && !call->out->full) {
		ptrdiff_t percent = slice_find(slice_from(format, r.i), '%');
		size_t plain = percent < 0 ? format.n - r.i : (size_t)percent;
		tmpl_out_add(call->out, format.p + r.i, plain);
		r.i += plain;
		if (percent < 0)
			break;
		r.i++;
		e = format_one(&r);
	}
	if (e == 0)
		e = report_extra(&r);
	return finish_output(call, e);
}
