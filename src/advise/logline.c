/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a line of the log plugin, word by word. */
#include "advise/logline.h"

#include "base/err.h"

enum { HEADER_BYTES = 12, QUESTION_FIXED_BYTES = 4, OPT_BYTES = 11, LABEL_MAX = 63 };

/* ---- lines in JSON ---- */

/* The member `msg` without its escapes. Only the two that the log plugin writes are known. */
static int read_json_message(struct slice line, struct strbuf *out)
{
	static const char key[] = "\"msg\":\"";
	const char *at = memmem(line.p, line.n, key, sizeof(key) - 1);
	if (at == NULL)
		return ERR_PARSE;
	strbuf_reset(out);
	for (at += sizeof(key) - 1; at < line.p + line.n; at++) {
		if (*at == '"')
			return 0;
		if (*at == '\\' && (++at == line.p + line.n || (*at != '"' && *at != '\\')))
			return ERR_PARSE;
		strbuf_addc(out, *at);
	}
	return ERR_PARSE;
}

/* ---- words ---- */

static struct slice cut_word(struct slice *rest)
{
	return slice_cut(rest, ' ');
}

/* The last word of the text; `*rest` keeps what is before it. */
static struct slice cut_last_word(struct slice *rest)
{
	size_t end = rest->n;
	while (end > 0 && rest->p[end - 1] != ' ')
		end--;
	struct slice word = { rest->p + end, rest->n - end };
	rest->n = end > 0 ? end - 1 : 0;
	return word;
}

/* A name ends at the first blank without a backslash before it. */
static struct slice cut_name(struct slice *rest)
{
	size_t len = 0;
	while (len < rest->n && rest->p[len] != ' ')
		len += rest->p[len] == '\\' && len + 1 < rest->n ? 2 : 1;
	struct slice name = { rest->p, len };
	*rest = slice_from(*rest, len + 1);
	return name;
}

/* `ADDRESS` of `ADDRESS:PORT`. */
static int parse_endpoint(struct slice endpoint, struct slice *ret)
{
	uint64_t number;
	size_t colon = endpoint.n;
	while (colon > 0 && endpoint.p[colon - 1] != ':')
		colon--;
	if (colon < 2 || slice_u64(slice_from(endpoint, colon), &number) < 0)
		return ERR_PARSE;
	*ret = (struct slice){ endpoint.p, colon - 1 };
	return 0;
}

/* `ADDRESS:PORT - ID ` is what stands before the question; anything may stand before that. */
static int parse_client(struct slice text, struct slice *ret)
{
	uint64_t number;
	if (text.n == 0 || text.p[text.n - 1] != ' ')
		return ERR_PARSE;
	text.n--;
	if (slice_u64(cut_last_word(&text), &number) < 0)
		return ERR_PARSE;
	if (!slice_is(cut_last_word(&text), "-"))
		return ERR_PARSE;
	return parse_endpoint(cut_last_word(&text), ret);
}

static enum advise_type parse_type(struct slice type)
{
	if (slice_is(type, "A"))
		return ADVISE_TYPE_A;
	return slice_is(type, "AAAA") ? ADVISE_TYPE_AAAA : ADVISE_TYPE_OTHER;
}

/* `TYPE CLASS NAME PROTO SIZE DO BUFSIZE"`; `*rest` then starts behind the quote. */
static int parse_question(struct slice *rest, struct advise_line *ret)
{
	struct slice type = cut_word(rest);
	struct slice class = cut_word(rest);
	struct slice name = cut_name(rest);
	struct slice proto = cut_word(rest);
	uint64_t size;
	if (!slice_is(proto, "udp") && !slice_is(proto, "tcp"))
		return ERR_PARSE;
	if (slice_u64(cut_word(rest), &size) < 0)
		return ERR_PARSE;
	cut_word(rest);
	if (slice_u64(slice_cut(rest, '"'), &size) < 0)
		return ERR_PARSE;
	if (name.n == 0 || name.n > ADVISE_NAME_TEXT_MAX || name.p[name.n - 1] != '.')
		return ERR_PARSE;
	ret->name = (struct slice){ name.p, name.n - 1 };
	ret->type = parse_type(type);
	ret->in_class_in = slice_is(class, "IN");
	return 0;
}

/* A reply as long as its question has no records; only the OPT record may be in it. */
static bool is_without_records(const struct advise_line *line, uint64_t reply_bytes)
{
	size_t name_bytes = line->name.n == 0 ? 1 : line->name.n + 2;
	if (slice_find(line->name, '\\') >= 0)
		return false;
	return reply_bytes <= HEADER_BYTES + name_bytes + QUESTION_FIXED_BYTES + OPT_BYTES;
}

static enum advise_outcome classify_reply(const struct advise_line *line, struct slice rcode,
					  uint64_t reply_bytes)
{
	if (slice_is(rcode, "NXDOMAIN"))
		return ADVISE_NXDOMAIN;
	if (slice_is(rcode, "SERVFAIL"))
		return ADVISE_SERVFAIL;
	if (!slice_is(rcode, "NOERROR"))
		return ADVISE_OTHER;
	return is_without_records(line, reply_bytes) ? ADVISE_NODATA : ADVISE_NOERROR;
}

bool advise_line_is_namespace(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		bool is_letter = text.p[i] >= 'a' && text.p[i] <= 'z';
		bool is_dash = text.p[i] == '-' && i > 0 && i + 1 < text.n;
		if (!is_letter && !is_dash && !ascii_isdigit(text.p[i]))
			return false;
	}
	return text.n > 0 && text.n <= LABEL_MAX;
}

/* `answer=` and `namespace=`; a label that is not set is `-`. */
static void parse_extra_word(struct slice word, struct advise_line *line)
{
	static const struct slice ns = { "namespace=", 10 };
	if (slice_starts(word, ns) && advise_line_is_namespace(slice_from(word, ns.n)))
		line->ns = slice_from(word, ns.n);
	if (line->outcome != ADVISE_NOERROR)
		return;
	if (slice_is(word, "answer=NODATA"))
		line->outcome = ADVISE_NODATA;
	else if (slice_is(word, "answer=NOERROR"))
		line->outcome = ADVISE_DATA;
}

/* ` RCODE FLAGS RSIZE DURATIONs`, then words of any kind. */
static int parse_reply(struct slice rest, struct advise_line *ret)
{
	uint64_t reply_bytes;
	if (rest.n == 0 || *rest.p != ' ')
		return ERR_PARSE;
	rest = slice_from(rest, 1);
	struct slice rcode = cut_word(&rest);
	struct slice flags = cut_word(&rest);
	if (rcode.n == 0 || flags.n == 0 || slice_u64(cut_word(&rest), &reply_bytes) < 0)
		return ERR_PARSE;
	struct slice duration = cut_word(&rest);
	if (duration.n < 2 || !ascii_isdigit(duration.p[0]) || duration.p[duration.n - 1] != 's')
		return ERR_PARSE;
	ret->outcome = classify_reply(ret, rcode, reply_bytes);
	while (rest.n > 0)
		parse_extra_word(cut_word(&rest), ret);
	return 0;
}

int advise_line_parse(struct slice line, struct strbuf *scratch, struct advise_line *ret)
{
	struct advise_line found = { 0 };
	line = slice_trim(line);
	if (line.n == 0 || line.n > ADVISE_LINE_MAX)
		return ERR_PARSE;
	if (*line.p == '{') {
		int r = read_json_message(line, scratch);
		if (r < 0)
			return r;
		line = strbuf_slice(scratch);
	}
	ptrdiff_t quote = slice_find(line, '"');
	if (quote < 0)
		return ERR_PARSE;
	struct slice rest = slice_from(line, (size_t)quote + 1);
	int r = parse_client((struct slice){ line.p, (size_t)quote }, &found.client);
	if (r == 0)
		r = parse_question(&rest, &found);
	if (r == 0)
		r = parse_reply(rest, &found);
	if (r == 0)
		*ret = found;
	return r;
}

/* So that a time of day before a dash is no client. */
static bool is_address(struct slice text)
{
	return text.p[0] == '[' ? text.p[text.n - 1] == ']'
				: ascii_isdigit(text.p[0]) && slice_find(text, '.') > 0;
}

bool advise_line_is_cut(struct slice line, struct strbuf *scratch, struct slice *ret_client)
{
	struct slice client;
	uint64_t number;
	line.n = MIN(line.n, (size_t)ADVISE_LINE_MAX);
	line = slice_trim(line);
	if (line.n > 0 && *line.p == '{') {
		strbuf_reset(scratch);
		IGNORE(read_json_message(line, scratch)); /* what there is of it */
		line = strbuf_slice(scratch);
	}
	struct slice before = slice_trim(slice_cut(&line, '"'));
	struct slice last = cut_last_word(&before);
	if (slice_u64(last, &number) == 0)
		last = cut_last_word(&before);
	if (!slice_is(last, "-") || parse_endpoint(cut_last_word(&before), &client) < 0 ||
	    !is_address(client))
		return false;
	*ret_client = client;
	return true;
}
