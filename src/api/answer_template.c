/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tries an answer template (generateResponse.answerTemplate) on names, and parses the records it
 * makes. */
#include "api/answer_template.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/name.h"
#include "dns/resp.h"
#include "dns/rrtext/rrtext.h"
#include "dns/types.h"
#include "tmpl/tmpl.h"

enum {
	RECORD_BYTES_MAX = 4096, /* a record needs .Name once */
	ARENA_BYTES = 8192,
	TTL_MAX = 0x7fffffff, /* RFC 2181 section 8 */
};

static int get_name(const void *self, struct arena *arena, struct tmpl_value *ret)
{
	(void)arena;
	*ret = tmpl_string(slice_of(self));
	return 0;
}

static int get_type(const void *self, struct arena *arena, struct tmpl_value *ret)
{
	(void)self;
	(void)arena;
	*ret = tmpl_string(SLICE("AAAA"));
	return 0;
}

static int get_class(const void *self, struct arena *arena, struct tmpl_value *ret)
{
	(void)self;
	(void)arena;
	*ret = tmpl_string(SLICE("IN"));
	return 0;
}

static const struct tmpl_field fields[] = {
	{ .name = "Name", .type = { .kind = TMPL_STRING }, .get = get_name },
	{ .name = "Type", .type = { .kind = TMPL_STRING }, .get = get_type },
	{ .name = "Class", .type = { .kind = TMPL_STRING }, .get = get_class },
};
static const struct tmpl_class query_class = { "query", fields, ARRAY_LEN(fields), NULL };
static const struct tmpl_env env = { .name = "answerTemplate",
				     .root = { .kind = TMPL_OBJECT, .cls = &query_class } };

static int set_error(struct err_text err, const char *why)
{
	err_text_set(err, "%s", why);
	return ERR_CONFIG;
}

/* ---- what may stand in the text ---- */

static int check_bytes(struct slice text, struct err_text err)
{
	if (text.n == 0)
		return set_error(err, "is empty");
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		char next = i + 1 < text.n ? text.p[i + 1] : '\0';
		if (c < ' ' || c == 0x7f)
			return set_error(err, "has a control character in it");
		if (c > 0x7f)
			return set_error(err, "has a character beyond ASCII in it");
		if (c == '"' || c == '\'' || c == '`' || c == '\\')
			return set_error(err, "has a quote or a backslash in it");
		if (c == '{' && (next == '$' || next == '%'))
			return set_error(err, "refers to an environment variable");
	}
	return 0;
}

/* The characters up to and with the end of the action that starts here; 0: it does not end. */
static size_t action_length(struct slice text)
{
	for (size_t i = 2; i + 1 < text.n; i++) {
		if (text.p[i] == '}' && text.p[i + 1] == '}')
			return i + 2;
	}
	return 0;
}

static bool is_action(struct slice text)
{
	return text.n >= 2 && text.p[0] == '{' && text.p[1] == '{';
}

/* Otherwise the words that follow are taken for functions, and the error is about them. */
static int check_closed(struct slice text, struct err_text err)
{
	for (struct slice rest = text; rest.n != 0;) {
		size_t n = is_action(rest) ? action_length(rest) : 1;
		if (n == 0) {
			err_text_set(err, "has an unclosed {{ at column %zu", text.n - rest.n + 1);
			return ERR_CONFIG;
		}
		rest = (struct slice){ rest.p + n, rest.n - n };
	}
	return 0;
}

/* Plain text and the three fields: no functions, no conditions, no variables (OP-T11). */
static int check_parts(const struct tmpl *tmpl, struct err_text err)
{
	for (size_t i = 0; i < tmpl_n_parts(tmpl); i++) {
		struct tmpl_part p = tmpl_part(tmpl, i);
		if (p.kind == TMPL_PART_OTHER)
			return set_error(err, "uses more than plain text, .Name, .Type and .Class");
	}
	return 0;
}

/* ---- trying it ---- */

struct record {
	uint32_t ttl_s;
	char address[INET6_ADDRSTRLEN];
};

struct trial {
	const struct tmpl *tmpl; /* of the line */
	struct slice line;
	struct dns_rrtext *scanner;
	struct err_text err;	/* about the line */
	struct err_text report; /* with its number */
	char out[RECORD_BYTES_MAX], memory[ARENA_BYTES];
};

static int check_record(const struct trial *trial, const struct dns_rr *rr, const char *name)
{
	uint8_t want[DNS_NAME_MAX];
	if (dns_name_from_text(slice_of(name), want) < 0 || !dns_name_eq(rr->owner, want))
		return set_error(trial->err, "makes a record for another name than the query's");
	if (rr->type != DNS_TYPE_AAAA || rr->cls != DNS_CLASS_IN || rr->rdlen != 16)
		return set_error(trial->err, "does not make a record of class IN and type AAAA");
	if (rr->ttl > TTL_MAX)
		return set_error(trial->err, "has a TTL above 2147483647");
	return 0;
}

/* How many characters an action prints for this name; a comment prints none. */
static size_t printed_length(struct slice action, const char *name)
{
	struct slice inside = slice_trim((struct slice){ action.p + 2, action.n - 4 });
	return slice_is(inside, ".Name")    ? strlen(name)
	       : slice_is(inside, ".Type")  ? strlen("AAAA")
	       : slice_is(inside, ".Class") ? strlen("IN")
					    : 0;
}

/* The column of the line that a column of its record comes from; 0: unknown, where blanks are trimmed
 * ({{- and -}}). */
static size_t source_column(const struct trial *trial, const char *name, size_t column)
{
	size_t printed = 0;
	for (struct slice rest = trial->line; rest.n != 0;) {
		size_t n = is_action(rest) ? action_length(rest) : 1;
		struct slice action = { rest.p, n };
		if (n > 1 && (action.p[2] == '-' || action.p[n - 3] == '-'))
			return 0;
		printed += n > 1 ? printed_length(action, name) : 1;
		if (printed >= column)
			return trial->line.n - rest.n + 1;
		rest = (struct slice){ rest.p + n, rest.n - n };
	}
	return trial->line.n + 1;
}

/* The scanner counts columns of the record; the user has the template. */
static int set_record_error(const struct trial *trial, const char *name)
{
	static const char at[] = " at line 1 column ";
	const char *error = dns_rrtext_error(trial->scanner), *place = strstr(error, at);
	size_t column = place != NULL ? strtoul(place + strlen(at), NULL, 10) : 0;
	column = column != 0 ? source_column(trial, name, column) : 0;
	int n = (int)(place != NULL ? (size_t)(place - error) : strlen(error));
	if (column != 0)
		err_text_set(trial->err, "does not make a record (%.*s at column %zu)", n, error,
			     column);
	else
		err_text_set(trial->err, "does not make a record (%.*s)", n, error);
	return ERR_CONFIG;
}

static int try_name(struct trial *trial, const char *name, struct record *ret)
{
	char why[256] = "";
	struct arena a;
	struct dns_rr rr;
	size_t n;
	arena_init_fixed(&a, trial->memory, sizeof(trial->memory));
	struct tmpl_run run = { .root = tmpl_object(&query_class, name),
				.arena = &a,
				.err = why,
				.err_cap = sizeof(why) };
	if (tmpl_exec(trial->tmpl, &run, trial->out, sizeof(trial->out), &n) < 0)
		return set_error(trial->err, "makes a record that is too long for long names");
	int r = dns_rrtext_parse(trial->scanner, (struct slice){ trial->out, n }, &a, &rr);
	if (r == ERR_PARSE)
		return set_record_error(trial, name);
	if (r < 0)
		return set_error(trial->err, "does not make a record");
	r = check_record(trial, &rr, name);
	if (r < 0)
		return r;
	ret->ttl_s = rr.ttl;
	inet_ntop(AF_INET6, rr.rdata, ret->address, sizeof(ret->address));
	return 0;
}

/* A name of 255 bytes on the wire, of labels of this text repeated; in text it may be four times as
 * long. */
static void long_name(char out[DNS_NAME_TEXT_MAX], const char *byte)
{
	static const unsigned labels[] = { 63, 63, 63, 61 };
	size_t n = 0, m = strlen(byte);
	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		for (unsigned k = 0; k < labels[i]; k++) {
			memcpy(out + n, byte, m);
			n += m;
		}
		out[n++] = '.';
	}
	out[n] = '\0';
}

static int try_all(struct trial *trial, struct record *ret)
{
	char longest[DNS_NAME_TEXT_MAX], escaped[DNS_NAME_TEXT_MAX];
	const char *const names[] = { "a.", longest, escaped };
	struct record first = { 0 }, other = { 0 };
	long_name(longest, "a");
	long_name(escaped, "\\200");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int r = try_name(trial, names[i], i == 0 ? &first : &other);
		if (r < 0)
			return r;
		if (i != 0 &&
		    (first.ttl_s != other.ttl_s || strcmp(first.address, other.address) != 0))
			return set_error(trial->err,
					 "has a TTL or address that depends on the name");
	}
	*ret = first;
	return 0;
}

/* ---- lines ---- */

static int try_line(struct trial *trial, struct slice line, struct record *ret)
{
	struct srcerr where = { .text = "" };
	CLEANUP(tmpl_freep) struct tmpl *tmpl = NULL;
	int r = check_bytes(line, trial->err);
	if (r == 0)
		r = check_closed(line, trial->err);
	if (r < 0)
		return r;
	if (tmpl_parse(line, (struct srcpos){ NULL, 1, 1 }, &env, &tmpl, &where) < 0) {
		err_text_set(trial->err, "is not a template (%s at column %u)", where.text,
			     where.pos.col);
		return ERR_CONFIG;
	}
	r = check_parts(tmpl, trial->err);
	if (r < 0)
		return r;
	trial->tmpl = tmpl;
	trial->line = line;
	return try_all(trial, ret);
}

static int add_record(struct api_answer *answer, const struct record *record, struct err_text err)
{
	/* RFC 2181 section 5.2 */
	if (answer->n != 0 && answer->ttl_s != record->ttl_s)
		return set_error(err, "has another TTL than the records before it");
	for (size_t i = 0; i < answer->n; i++) {
		if (strcmp(answer->address[i], record->address) == 0)
			return set_error(err, "has the address of a record before it");
	}
	answer->ttl_s = record->ttl_s;
	memcpy(answer->address[answer->n++], record->address, sizeof(record->address));
	return 0;
}

static int try_lines(struct trial *trial, struct slice text, struct api_answer *answer)
{
	bool several = slice_find(text, '\n') >= 0, more = true;
	for (size_t number = 1; more; number++) {
		struct record record;
		char why[400];
		more = slice_find(text, '\n') >= 0;
		trial->err = ERR_TEXT(why);
		int r = try_line(trial, slice_cut(&text, '\n'), &record);
		if (r == 0 && answer->n == API_ANSWER_RECORDS_MAX)
			r = set_error(trial->err, "is one record too many");
		if (r == 0)
			r = add_record(answer, &record, trial->err);
		if (r < 0 && several)
			err_text_set(trial->report, "in line %zu %s", number, why);
		else if (r < 0)
			err_text_set(trial->report, "%s", why);
		if (r < 0)
			return r;
	}
	return 0;
}

int api_answer_template_parse(struct slice text, struct api_answer *ret, struct err_text err)
{
	struct api_answer answer = { 0 };
	if (text.n != 0 && text.p[text.n - 1] == '\n')
		text.n--;
	if (text.n > API_ANSWER_TEMPLATE_CHARS_MAX)
		return set_error(err, "is longer than 1024 characters");
	CLEANUP(freep) struct trial *trial = xmalloc(sizeof(*trial));
	trial->scanner = dns_rrtext_new();
	trial->report = err;
	int r = try_lines(trial, text, &answer);
	dns_rrtext_free(trial->scanner);
	if (r == 0)
		*ret = answer;
	return r;
}
