/* Go's fmt.Sprint, Sprintln and Sprintf over template values: the format language, and values made
 * of other values. Mistakes in a format show in the text, as in Go, and are no errors. */
#include "tmpl/tmpl_priv.h"

#include "base/err.h"
#include "base/utf8.h"

enum { MAX_WIDTH = 1000000, MAX_VALUE_DEPTH = 16 };

static int add_value(struct tmpl_call *c, const struct fmt *f, uint32_t verb,
		     const struct tmpl_value *v, unsigned depth);

static int bad_verb(struct tmpl_call *c, const struct fmt *f, uint32_t verb,
		    const struct tmpl_value *v, unsigned depth)
{
	struct fmt inner = *f;
	int r = 0;
	inner.flags |= FMT_ERRORING;
	tmpl_out_s(c->out, "%!");
	tmpl_out_cp(c->out, verb);
	tmpl_out_c(c->out, '(');
	tmpl_out_slice(c->out, tmpl_type_name(v));
	if (v->kind != TMPL_NIL) {
		tmpl_out_c(c->out, '=');
		r = add_value(c, &inner, 'v', v, depth);
	}
	tmpl_out_c(c->out, ')');
	return r;
}

static void open_group(struct tmpl_call *c, const struct fmt *f, const struct tmpl_value *v,
		       const char *plain)
{
	if (f->flags & FMT_SHARP_V) {
		tmpl_out_slice(c->out, tmpl_type_name(v));
		tmpl_out_c(c->out, '{');
	} else {
		tmpl_out_s(c->out, plain);
	}
}

static void separate(struct tmpl_call *c, const struct fmt *f, size_t i)
{
	if (i > 0)
		tmpl_out_s(c->out, f->flags & FMT_SHARP_V ? ", " : " ");
}

static int add_list(struct tmpl_call *c, const struct fmt *f, uint32_t verb,
		    const struct tmpl_value *v, unsigned depth)
{
	open_group(c, f, v, "[");
	for (size_t i = 0; i < v->list.n && !c->out->full; i++) {
		struct tmpl_value elem;
		int r = tmpl_list_get(c, v, i, &elem);
		if (r < 0)
			return r;
		separate(c, f, i);
		r = add_value(c, f, verb, &elem, depth + 1);
		if (r < 0)
			return r;
	}
	tmpl_out_c(c->out, f->flags & FMT_SHARP_V ? '}' : ']');
	return 0;
}

static int add_map(struct tmpl_call *c, const struct fmt *f, uint32_t verb,
		   const struct tmpl_value *v, unsigned depth)
{
	struct tmpl_entry *e;
	size_t n;
	int r = tmpl_map_sorted(c, v, &e, &n);
	if (r < 0)
		return r;
	open_group(c, f, v, "map[");
	for (size_t i = 0; i < n && !c->out->full; i++) {
		struct tmpl_value key = tmpl_string(e[i].key);
		separate(c, f, i);
		r = add_value(c, f, verb, &key, depth + 1);
		if (r < 0)
			return r;
		tmpl_out_c(c->out, ':');
		r = add_value(c, f, verb, &e[i].value, depth + 1);
		if (r < 0)
			return r;
	}
	tmpl_out_c(c->out, f->flags & FMT_SHARP_V ? '}' : ']');
	return 0;
}

static int add_object(struct tmpl_call *c, const struct fmt *f, uint32_t verb,
		      const struct tmpl_value *v, unsigned depth)
{
	struct slice text;
	size_t start = c->out->n;
	if (v->obj.self == NULL) {
		tmpl_out_s(c->out, "<nil>");
		tmpl_fmt_pad(c->out, f, start);
		return 0;
	}
	if (v->obj.cls->text == NULL || depth > 0)
		return tmpl_fail(c, "can't print %s", v->obj.cls->name);
	int r = v->obj.cls->text(v->obj.self, c->arena, &text);
	if (r < 0)
		return r;
	if (tmpl_fmt_string(c->out, f, verb, text))
		return 0;
	struct tmpl_value s = tmpl_string(text);
	return bad_verb(c, f, verb, &s, 1);
}

static int add_nil(struct tmpl_call *c, const struct fmt *f, uint32_t verb, unsigned depth)
{
	size_t start = c->out->n;
	struct tmpl_value nil = { .kind = TMPL_NIL };
	if (depth == 0 && verb != 'v' && verb != 'T')
		return bad_verb(c, f, verb, &nil, depth);
	tmpl_out_s(c->out, "<nil>");
	if (depth == 0)
		tmpl_fmt_pad(c->out, f, start);
	return 0;
}

static bool add_bool(struct tmpl_call *c, const struct fmt *f, uint32_t verb, bool b)
{
	size_t start = c->out->n;
	if (verb != 't' && verb != 'v')
		return false;
	tmpl_out_s(c->out, b ? "true" : "false");
	tmpl_fmt_pad(c->out, f, start);
	return true;
}

static bool add_uint(struct tmpl_call *c, const struct fmt *f, uint32_t verb, uint64_t u)
{
	struct fmt hex = *f;
	if (verb != 'v' || !(f->flags & FMT_SHARP_V))
		return tmpl_fmt_int(c->out, f, verb, u, false);
	hex.flags |= FMT_SHARP;
	return tmpl_fmt_int(c->out, &hex, 'x', u, false);
}

static bool add_int(struct tmpl_call *c, const struct fmt *f, uint32_t verb, int64_t i)
{
	return tmpl_fmt_int(c->out, f, verb, i < 0 ? 0 - (uint64_t)i : (uint64_t)i, i < 0);
}

static bool add_type(struct tmpl_call *c, const struct fmt *f, const struct tmpl_value *v)
{
	return tmpl_fmt_string(c->out, f, 's', tmpl_type_name(v));
}

static int add_value(struct tmpl_call *c, const struct fmt *f, uint32_t verb,
		     const struct tmpl_value *v, unsigned depth)
{
	bool fits = false;
	if (depth > MAX_VALUE_DEPTH)
		return ERR_LIMIT;
	if (v->kind == TMPL_NIL)
		return add_nil(c, f, verb, depth);
	if (verb == 'T' && depth == 0)
		return add_type(c, f, v) ? 0 : ERR_INTERNAL;
	if (verb == 'p' && !(f->flags & FMT_ERRORING))
		return bad_verb(c, f, verb, v, depth);
	switch (v->kind) {
	case TMPL_BOOL:
		fits = add_bool(c, f, verb, v->b);
		break;
	case TMPL_INT:
		fits = add_int(c, f, verb, v->i);
		break;
	case TMPL_UINT:
		fits = add_uint(c, f, verb, v->u);
		break;
	case TMPL_FLOAT:
		fits = tmpl_fmt_float(c->out, f, verb, v->f, v->bits == 32 ? 32 : 64);
		break;
	case TMPL_STRING:
		fits = tmpl_fmt_string(c->out, f, verb, v->s);
		break;
	case TMPL_LIST:
		return add_list(c, f, verb, v, depth);
	case TMPL_MAP:
		return add_map(c, f, verb, v, depth);
	case TMPL_OBJECT:
		return add_object(c, f, verb, v, depth);
	case TMPL_NIL:
	case TMPL_ANY:
		return ERR_INTERNAL;
	}
	return fits ? 0 : bad_verb(c, f, verb, v, depth);
}

static int finish(const struct tmpl_call *c, int r)
{
	return r == 0 && c->out->full ? ERR_SPACE : r;
}

int tmpl_print_value(struct tmpl_call *c, const struct tmpl_value *v)
{
	static const struct fmt plain = { 0 };
	if (v->kind == TMPL_STRING)
		tmpl_out_slice(c->out, v->s);
	else
		return finish(c, add_value(c, &plain, 'v', v, 0));
	return finish(c, 0);
}

int tmpl_print(struct tmpl_call *c, const struct tmpl_value *args, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && args[i].kind != TMPL_STRING && args[i - 1].kind != TMPL_STRING)
			tmpl_out_c(c->out, ' ');
		int r = tmpl_print_value(c, &args[i]);
		if (r < 0)
			return r;
	}
	return finish(c, 0);
}

int tmpl_println(struct tmpl_call *c, const struct tmpl_value *args, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			tmpl_out_c(c->out, ' ');
		int r = tmpl_print_value(c, &args[i]);
		if (r < 0)
			return r;
	}
	tmpl_out_c(c->out, '\n');
	return finish(c, 0);
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

static bool at(const struct run *r, char c)
{
	return r->i < r->format.n && r->format.p[r->i] == c;
}

/* A decimal number; a huge one swallows the rest of the format, as in Go. */
static bool read_number(const char *p, size_t *i, size_t end, size_t *ret)
{
	bool any = false;
	*ret = 0;
	while (*i < end && ascii_isdigit(p[*i])) {
		if (*ret > MAX_WIDTH) {
			*ret = 0;
			*i = end;
			return false;
		}
		*ret = *ret * 10 + (size_t)(p[*i] - '0');
		any = true;
		(*i)++;
	}
	return any;
}

static void read_flags(struct run *r)
{
	static const char signs[] = "#0+- ";
	static const unsigned flags[] = { FMT_SHARP, FMT_ZERO, FMT_PLUS, FMT_MINUS, FMT_SPACE };
	r->fmt = (struct fmt){ 0 };
	for (; r->i < r->format.n && r->format.p[r->i] != '\0'; r->i++) {
		const char *p = strchr(signs, r->format.p[r->i]);
		if (p == NULL)
			return;
		r->fmt.flags |= flags[p - signs];
	}
}

/* "[3]": the number of the argument to use next. */
static void read_index(struct run *r)
{
	r->after_index = false;
	if (!at(r, '['))
		return;
	r->reordered = true;
	struct slice rest = slice_from(r->format, r->i);
	ptrdiff_t close = rest.n >= 3 ? slice_find(rest, ']') : -1;
	size_t i = 1, index = 0;
	bool number =
		close >= 0 && read_number(rest.p, &i, (size_t)close, &index) && i == (size_t)close;
	r->i += close >= 0 ? (size_t)close + 1 : 1;
	r->after_index = number;
	if (number && index >= 1 && index <= r->n)
		r->arg = index - 1;
	else
		r->good_index = false;
}

/* "*": an integer argument. */
static bool read_star(struct run *r, int64_t *ret)
{
	*ret = 0;
	r->i++;
	if (r->arg >= r->n)
		return false;
	const struct tmpl_value *v = &r->args[r->arg++];
	if (v->kind == TMPL_INT && v->i >= -MAX_WIDTH && v->i <= MAX_WIDTH)
		*ret = v->i;
	else if (v->kind == TMPL_UINT && v->u <= MAX_WIDTH)
		*ret = (int64_t)v->u;
	else
		return false;
	return true;
}

static void read_width(struct run *r)
{
	int64_t v;
	if (!at(r, '*')) {
		if (read_number(r->format.p, &r->i, r->format.n, &r->fmt.width)) {
			r->fmt.flags |= FMT_WIDTH;
			if (r->after_index)
				r->good_index = false;
		}
		return;
	}
	if (read_star(r, &v))
		r->fmt.flags |= FMT_WIDTH;
	else
		tmpl_out_s(r->c->out, "%!(BADWIDTH)");
	if (v < 0)
		r->fmt.flags = (r->fmt.flags | FMT_MINUS) & ~(unsigned)FMT_ZERO;
	r->fmt.width = (size_t)(v < 0 ? -v : v);
	r->after_index = false;
}

static void read_precision(struct run *r)
{
	int64_t v;
	if (!at(r, '.') || r->i + 1 >= r->format.n)
		return;
	r->i++;
	if (r->after_index)
		r->good_index = false;
	read_index(r);
	if (!at(r, '*')) {
		read_number(r->format.p, &r->i, r->format.n, &r->fmt.prec);
		r->fmt.flags |= FMT_PREC;
		return;
	}
	if (read_star(r, &v) && v >= 0) {
		r->fmt.flags |= FMT_PREC;
		r->fmt.prec = (size_t)v;
	} else {
		tmpl_out_s(r->c->out, "%!(BADPREC)");
	}
	r->after_index = false;
}

static void complain(struct run *r, uint32_t verb, const char *what)
{
	tmpl_out_s(r->c->out, "%!");
	tmpl_out_cp(r->c->out, verb);
	tmpl_out_s(r->c->out, what);
}

static int print_verb(struct run *r, uint32_t verb)
{
	struct fmt *f = &r->fmt;
	if (verb == '%') {
		tmpl_out_c(r->c->out, '%');
		return 0;
	}
	if (!r->good_index || r->arg >= r->n) {
		complain(r, verb, r->good_index ? "(MISSING)" : "(BADINDEX)");
		return 0;
	}
	if (verb == 'v' || verb == 'w') {
		if (f->flags & FMT_SHARP)
			f->flags |= FMT_SHARP_V;
		if (f->flags & FMT_PLUS)
			f->flags |= FMT_PLUS_V;
		f->flags &= ~(unsigned)(FMT_SHARP | FMT_PLUS);
	}
	return add_value(r->c, f, verb, &r->args[r->arg++], 0);
}

/* After a '%'. */
static int format_one(struct run *r)
{
	uint32_t verb = 0xfffd;
	r->good_index = true;
	read_flags(r);
	read_index(r);
	read_width(r);
	read_precision(r);
	if (!r->after_index)
		read_index(r);
	if (r->i >= r->format.n) {
		tmpl_out_s(r->c->out, "%!(NOVERB)");
		return 0;
	}
	size_t n = utf8_decode(slice_from(r->format, r->i), &verb);
	r->i += n != 0 ? n : 1;
	return print_verb(r, verb);
}

static int report_extra(struct run *r)
{
	static const struct fmt plain = { 0 };
	if (r->reordered || r->arg >= r->n)
		return 0;
	tmpl_out_s(r->c->out, "%!(EXTRA ");
	for (size_t i = r->arg; i < r->n; i++) {
		const struct tmpl_value *v = &r->args[i];
		tmpl_out_s(r->c->out, i > r->arg ? ", " : "");
		tmpl_out_slice(r->c->out, tmpl_type_name(v));
		if (v->kind == TMPL_NIL)
			continue;
		tmpl_out_c(r->c->out, '=');
		int e = add_value(r->c, &plain, 'v', v, 0);
		if (e < 0)
			return e;
	}
	tmpl_out_c(r->c->out, ')');
	return 0;
}

int tmpl_printf(struct tmpl_call *c, struct slice format, const struct tmpl_value *args, size_t n)
{
	struct run r = { .c = c, .format = format, .args = args, .n = n };
	int e = 0;
	while (e == 0 && r.i < format.n && !c->out->full) {
		ptrdiff_t percent = slice_find(slice_from(format, r.i), '%');
		size_t plain = percent < 0 ? format.n - r.i : (size_t)percent;
		tmpl_out_add(c->out, format.p + r.i, plain);
		r.i += plain;
		if (percent < 0)
			break;
		r.i++;
		e = format_one(&r);
	}
	if (e == 0)
		e = report_extra(&r);
	return finish(c, e);
}
