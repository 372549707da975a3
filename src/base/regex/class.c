/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Character classes and escapes of RE2 syntax, printed for PCRE2 as plain ranges, so that no
 * difference between the two ideas of \s or [:word:] is left. */
#include "base/regex/class_priv.h"

#include <string.h>

#include "base/text/utf8.h"

static const char invalid_range[] = "invalid character class range";
static const char invalid_escape[] = "invalid escape sequence";

enum { ASCII = 128, SURROGATE_FIRST = 0xd800, SURROGATE_LAST = 0xdfff, CP_MAX = 0x10ffff };

/* Named sets, as pairs of first and last character. */
struct named_set {
	const char *name;
	const char *ranges;
};

static const struct named_set perl_sets[] = {
	{ "d", "09" },
	{ "s", "\t\n\f\r  " },
	{ "w", "09AZaz__" },
};

static const struct named_set posix_sets[] = {
	{ "alnum", "09AZaz" },	 { "alpha", "AZaz" },
	{ "ascii", "\x01\x7f" }, /* and NUL, see has_nul */
	{ "blank", "\t\t  " },	 { "cntrl", "\x01\x1f\x7f\x7f" },
	{ "digit", "09" },	 { "graph", "!~" },
	{ "lower", "az" },	 { "print", " ~" },
	{ "punct", "!/:@[`{~" }, { "space", "\t\r  " },
	{ "upper", "AZ" },	 { "word", "09AZaz__" },
	{ "xdigit", "09AFaf" },
};

/* General categories; Go takes the long names too. */
static const struct {
	const char *code;
	const char *name;
} categories[] = {
	{ "c", "other" },
	{ "cc", "control" },
	{ "cf", "format" },
	{ "cn", "unassigned" },
	{ "co", "privateuse" },
	{ "cs", "surrogate" },
	{ "l", "letter" },
	{ "ll", "lowercaseletter" },
	{ "lm", "modifierletter" },
	{ "lo", "otherletter" },
	{ "lt", "titlecaseletter" },
	{ "lu", "uppercaseletter" },
	{ "lc", "casedletter" },
	{ "m", "mark" },
	{ "mc", "spacingmark" },
	{ "me", "enclosingmark" },
	{ "mn", "nonspacingmark" },
	{ "n", "number" },
	{ "nd", "decimalnumber" },
	{ "nl", "letternumber" },
	{ "no", "othernumber" },
	{ "p", "punctuation" },
	{ "pc", "connectorpunctuation" },
	{ "pd", "dashpunctuation" },
	{ "pe", "closepunctuation" },
	{ "pf", "finalpunctuation" },
	{ "pi", "initialpunctuation" },
	{ "po", "otherpunctuation" },
	{ "ps", "openpunctuation" },
	{ "s", "symbol" },
	{ "sc", "currencysymbol" },
	{ "sk", "modifiersymbol" },
	{ "sm", "mathsymbol" },
	{ "so", "othersymbol" },
	{ "z", "separator" },
	{ "zl", "lineseparator" },
	{ "zp", "paragraphseparator" },
	{ "zs", "spaceseparator" },
	{ "cc", "cntrl" },
	{ "nd", "digit" },
	{ "m", "combiningmark" },
	{ "p", "punct" },
};

/* PCRE2 knows scripts by four-letter codes too, Go does not: of names that short only these. */
static const char *const short_scripts[] = {
	"ahom", "cham", "kawi", "lisu", "miao", "modi", "newa", "thai", "toto",
};

static const char *fail_at(struct regex_class_in *in, struct slice bad, const char *text)
{
	in->bad = bad;
	return text;
}

static struct slice text_read(struct slice from, struct slice rest)
{
	return (struct slice){ from.p, from.n - rest.n };
}

const char *regex_class_next(struct regex_class_in *in, uint32_t *ret)
{
	size_t n = utf8_decode(in->rest, ret);
	if (n == 0)
		return fail_at(in, in->rest, "invalid UTF-8");
	in->rest = slice_from(in->rest, n);
	return NULL;
}

void regex_class_print(struct strbuf *out, uint32_t cp)
{
	if (cp < ASCII && (ascii_isalpha((char)cp) || ascii_isdigit((char)cp)))
		strbuf_addc(out, (char)cp);
	else
		strbuf_addf(out, "\\x{%x}", cp);
}

/* Surrogates, which no valid text holds and PCRE2 refuses, are cut out. */
static void print_range(struct strbuf *out, uint32_t lo, uint32_t hi)
{
	if (lo <= SURROGATE_LAST && hi >= SURROGATE_FIRST) {
		if (lo < SURROGATE_FIRST)
			print_range(out, lo, SURROGATE_FIRST - 1);
		if (hi > SURROGATE_LAST)
			print_range(out, SURROGATE_LAST + 1, hi);
		return;
	}
	regex_class_print(out, lo);
	if (hi > lo) {
		strbuf_addc(out, '-');
		regex_class_print(out, hi);
	}
}

static void print_ascii(struct strbuf *out, const bool in_set[ASCII])
{
	for (uint32_t lo = 0; lo < ASCII; lo++) {
		if (!in_set[lo])
			continue;
		uint32_t hi = lo;
		while (hi + 1 < ASCII && in_set[hi + 1])
			hi++;
		print_range(out, lo, hi);
		lo = hi;
	}
}

/* Folds first and negates then, as RE2 does. Beyond ASCII only U+017F and U+212A fold to ASCII: to
 * s and k. */
static void print_set(struct strbuf *out, const struct named_set *set, bool negate, bool fold)
{
	bool in_set[ASCII] = { false };
	for (const char *r = set->ranges; *r != '\0'; r += 2) {
		for (int c = (unsigned char)r[0]; c <= (unsigned char)r[1]; c++)
			in_set[c] = true;
	}
	if (strcmp(set->name, "ascii") == 0 || strcmp(set->name, "cntrl") == 0)
		in_set[0] = true;
	for (int c = 'A'; fold && c <= 'Z'; c++)
		in_set[c] = in_set[c | 0x20] = in_set[c] || in_set[c | 0x20];
	if (!negate) {
		print_ascii(out, in_set);
		return;
	}
	bool long_s = fold && in_set['s'], kelvin = fold && in_set['k'];
	for (int c = 0; c < ASCII; c++)
		in_set[c] = !in_set[c];
	print_ascii(out, in_set);
	print_range(out, 0x80, 0x17e);
	if (!long_s)
		print_range(out, 0x17f, 0x17f);
	print_range(out, 0x180, 0x2129);
	if (!kelvin)
		print_range(out, 0x212a, 0x212a);
	print_range(out, 0x212b, CP_MAX);
}

static const struct named_set *find_set(const struct named_set *sets, size_t count,
					struct slice name)
{
	for (size_t i = 0; i < count; i++) {
		if (slice_is(name, sets[i].name))
			return &sets[i];
	}
	return NULL;
}

/* Lower case without blanks, hyphens and underscores, as names are compared; false: too long or
 * not a name. */
static bool loose_name(struct slice name, char *out, size_t len)
{
	size_t at = 0;
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		if (c == ' ' || c == '-' || c == '_')
			continue;
		if (!ascii_isalpha(c) || at + 1 >= len)
			return false;
		out[at++] = ascii_lower(c);
	}
	out[at] = '\0';
	return at > 0;
}

/* Prints \p{name} or its opposite; false: Go knows no such name. Whether a script exists is left to
 * PCRE2. */
static bool print_property(struct strbuf *out, struct slice raw, bool negate, bool fold)
{
	char name[40];
	char letter = negate ? 'P' : 'p';
	if (!loose_name(raw, name, sizeof(name)))
		return false;
	if (strcmp(name, "any") == 0 || strcmp(name, "ascii") == 0) {
		bool any = name[1] == 'n';
		if (any && negate)
			strbuf_adds(out, "\\P{Any}");
		else
			print_range(out, negate ? ASCII : 0, any || negate ? CP_MAX : ASCII - 1);
		return true;
	}
	if (strcmp(name, "assigned") == 0) {
		strbuf_addf(out, "\\%c{Cn}", negate ? 'p' : 'P');
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(categories); i++) {
		const char *c = categories[i].code;
		if (strcmp(name, c) != 0 && strcmp(name, categories[i].name) != 0)
			continue;
		bool cased = strcmp(c, "lc") == 0 ||
			     (fold && (strcmp(c, "lu") == 0 || strcmp(c, "ll") == 0 ||
				       strcmp(c, "lt") == 0));
		strbuf_addf(out, "\\%c{%s}", letter, cased ? "L&" : c);
		return true;
	}
	bool known_short = strlen(name) != 4;
	for (size_t i = 0; i < ARRAY_LEN(short_scripts); i++)
		known_short = known_short || strcmp(name, short_scripts[i]) == 0;
	if (!known_short)
		return false;
	strbuf_addf(out, "\\%c{sc:%s}", letter, name);
	return true;
}

static const char *read_property(struct regex_class_in *in, struct strbuf *out)
{
	struct slice start = in->rest, name;
	bool negate = start.p[1] == 'P';
	uint32_t cp;
	in->rest = slice_from(start, 2);
	if (in->rest.n == 0)
		return fail_at(in, start, invalid_range);
	if (in->rest.p[0] == '{') {
		in->rest = slice_from(in->rest, 1);
		if (slice_find(in->rest, '}') < 0)
			return fail_at(in, start, invalid_range);
		name = slice_cut(&in->rest, '}');
	} else {
		struct slice before = in->rest;
		const char *e = regex_class_next(in, &cp);
		if (e != NULL)
			return e;
		name = text_read(before, in->rest);
	}
	if (name.n > 0 && name.p[0] == '^') {
		negate = !negate;
		name = slice_from(name, 1);
	}
	if (!print_property(out, name, negate, in->fold))
		return fail_at(in, text_read(start, in->rest), invalid_range);
	return NULL;
}

int regex_class_escape(struct regex_class_in *in, struct strbuf *out, const char **error)
{
	if (in->rest.n < 2 || in->rest.p[0] != '\\')
		return 0;
	char c = in->rest.p[1], lower = ascii_lower(c);
	if (lower == 'p') {
		*error = read_property(in, out);
		return *error != NULL ? -1 : 1;
	}
	const struct named_set *set =
		find_set(perl_sets, ARRAY_LEN(perl_sets), (struct slice){ &lower, 1 });
	if (set == NULL)
		return 0;
	print_set(out, set, c != lower, in->fold);
	in->rest = slice_from(in->rest, 2);
	return 1;
}

/* After `\x`: two digits, or any number in braces. False: malformed. */
static bool read_hex(struct regex_class_in *in, uint32_t *ret)
{
	uint32_t c, v = 0, digits = 0;
	bool braces = in->rest.n > 0 && in->rest.p[0] == '{';
	if (braces)
		in->rest = slice_from(in->rest, 1);
	while (braces || digits < 2) {
		if (in->rest.n == 0 || regex_class_next(in, &c) != NULL)
			return false;
		if (braces && c == '}')
			break;
		int d = ascii_hex_value((int)c); /* c <= CP_MAX */
		if (d < 0)
			return false;
		v = v * 16 + (uint32_t)d;
		if (v > CP_MAX)
			return false;
		digits++;
	}
	*ret = v;
	return digits > 0;
}

static bool is_octal(struct slice text)
{
	return text.n > 0 && text.p[0] >= '0' && text.p[0] <= '7';
}

static uint32_t read_octal(struct regex_class_in *in, uint32_t value)
{
	for (int i = 1; i < 3 && is_octal(in->rest); i++) {
		value = value * 8 + (uint32_t)(in->rest.p[0] - '0');
		in->rest = slice_from(in->rest, 1);
	}
	return value;
}

const char *regex_class_char(struct regex_class_in *in, uint32_t *ret)
{
	static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
	struct slice start = in->rest;
	uint32_t c;
	in->rest = slice_from(in->rest, 1);
	if (in->rest.n == 0)
		return fail_at(in, in->rest, "trailing backslash at end of expression");
	const char *e = regex_class_next(in, &c);
	if (e != NULL)
		return e;
	const char *named = c != 0 && c < ASCII ? strchr(names, (int)c) : NULL;
	bool alnum = c >= ASCII || ascii_isalpha((char)c) || ascii_isdigit((char)c);
	/* One digit alone would be a back reference. */
	if (c == '0' || (c >= '1' && c <= '7' && is_octal(in->rest)))
		*ret = read_octal(in, c - '0');
	else if (named != NULL)
		*ret = (uint32_t)values[named - names];
	else if (!alnum)
		*ret = c;
	else if (c != 'x' || !read_hex(in, ret))
		return fail_at(in, text_read(start, in->rest), invalid_escape);
	return NULL;
}

/* One side of a range. */
static const char *read_member(struct regex_class_in *in, struct slice whole, uint32_t *ret)
{
	if (in->rest.n == 0)
		return fail_at(in, whole, "missing closing ]");
	if (in->rest.p[0] == '\\')
		return regex_class_char(in, ret);
	return regex_class_next(in, ret);
}

static const char *read_range(struct regex_class_in *in, struct slice whole, struct strbuf *out)
{
	struct slice start = in->rest;
	uint32_t lo, hi;
	const char *e = read_member(in, whole, &lo);
	if (e != NULL)
		return e;
	hi = lo;
	/* [a-] holds a hyphen. */
	if (in->rest.n >= 2 && in->rest.p[0] == '-' && in->rest.p[1] != ']') {
		in->rest = slice_from(in->rest, 1);
		e = read_member(in, whole, &hi);
		if (e != NULL)
			return e;
		if (hi < lo)
			return fail_at(in, text_read(start, in->rest), invalid_range);
	}
	print_range(out, lo, hi);
	return NULL;
}

/* [:name:]; 0 when there is no such thing here. */
static int read_posix(struct regex_class_in *in, struct strbuf *out, const char **error)
{
	struct slice start = in->rest;
	if (!slice_starts(start, SLICE("[:")) || start.n < 3)
		return 0;
	const char *end = memmem(start.p + 2, start.n - 2, ":]", 2);
	if (end == NULL)
		return 0;
	struct slice name = { start.p + 2, (size_t)(end - start.p) - 2 };
	bool negate = name.n > 0 && name.p[0] == '^';
	in->rest = slice_from(start, name.n + 4);
	const struct named_set *set =
		find_set(posix_sets, ARRAY_LEN(posix_sets), slice_from(name, negate));
	if (set == NULL) {
		*error = fail_at(in, text_read(start, in->rest), invalid_range);
		return -1;
	}
	print_set(out, set, negate, in->fold);
	return 1;
}

const char *regex_class_bracket(struct regex_class_in *in, struct strbuf *out)
{
	struct slice whole = in->rest;
	CLEANUP(strbuf_done) struct strbuf members = STRBUF_INIT;
	const char *e = NULL;
	in->rest = slice_from(whole, 1);
	bool negate = in->rest.n > 0 && in->rest.p[0] == '^';
	if (negate)
		in->rest = slice_from(in->rest, 1);
	for (bool first = true; first || in->rest.n == 0 || in->rest.p[0] != ']'; first = false) {
		int r = read_posix(in, &members, &e);
		if (r == 0)
			r = regex_class_escape(in, &members, &e);
		if (r == 0)
			e = read_range(in, whole, &members);
		if (e != NULL)
			return e;
	}
	in->rest = slice_from(in->rest, 1);
	/* Empty when there were only surrogates. */
	if (members.n == 0)
		strbuf_adds(out, negate ? "(?s:.)" : "(?!)");
	else
		strbuf_addf(out, "[%s%s]", negate ? "^" : "", members.s);
	return NULL;
}
