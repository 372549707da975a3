/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Accept header: parses its clauses, sorts them by the client's preference, and picks the first
 * one that this server can produce. */
#include "apiserver/codec/accept.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/slice.h"

struct clause {
	struct slice type, subtype;
	double quality;
	struct slice as, group, version, stream, pretty, omit;
	bool converts; /* any of as, g, v is present */
};

static const struct {
	const char *subtype; /* of "application/" */
	enum apiserver_form form;
	bool watch;
	const char *text;
} forms[] = {
	{ "json", APISERVER_FORM_JSON, true, "application/json" },
	{ "yaml", APISERVER_FORM_YAML, false, "application/yaml" },
};

static const struct {
	const char *text;
	enum apiserver_as as;
	const char *noun;
} conversions[] = {
	{ "Table", APISERVER_AS_TABLE, NULL },
	{ "PartialObjectMetadata", APISERVER_AS_PARTIAL, "a list" },
	{ "PartialObjectMetadataList", APISERVER_AS_PARTIAL_LIST, "not a list" },
};

static const char *const meta_versions[] = { "v1", "v1beta1" };

/* --- reading --- */

static struct slice trim_spaces(struct slice text)
{
	while (text.n > 0 && text.p[0] == ' ')
		text = slice_from(text, 1);
	while (text.n > 0 && text.p[text.n - 1] == ' ')
		text.n--;
	return text;
}

static double parse_quality(struct slice word)
{
	char text[16];
	char *end;
	if (word.n == 0 || word.n >= sizeof(text))
		return 1;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	double q = strtod(text, &end);
	return *end == '\0' && q >= 0 && q <= 1 ? q : 1;
}

static void read_parameter(struct slice text, struct clause *clause)
{
	const struct {
		const char *name;
		struct slice *to;
		bool converts;
	} known[] = {
		{ "as", &clause->as, true },	      { "g", &clause->group, true },
		{ "v", &clause->version, true },      { "stream", &clause->stream, false },
		{ "pretty", &clause->pretty, false }, { "omit", &clause->omit, false },
	};
	struct slice name = trim_spaces(slice_cut(&text, '='));
	if (text.p == NULL)
		return;
	if (slice_is(name, "q")) {
		clause->quality = parse_quality(trim_spaces(text));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (slice_is(name, known[i].name)) {
			*known[i].to = trim_spaces(text);
			clause->converts |= known[i].converts;
		}
	}
}

static bool read_clause(struct slice text, struct clause *ret)
{
	*ret = (struct clause){ .quality = 1 };
	struct slice media = trim_spaces(slice_cut(&text, ';'));
	ret->type = trim_spaces(slice_cut(&media, '/'));
	ret->subtype = trim_spaces(media);
	if (media.p == NULL) {
		if (!slice_is(ret->type, "*"))
			return false;
		ret->subtype = ret->type;
	}
	while (text.p != NULL)
		read_parameter(slice_cut(&text, ';'), ret);
	return true;
}

/* Whether `left` is preferred to `right`, which comes before it in the header. */
static bool goes_before(const struct clause *left, const struct clause *right)
{
	bool any_a = slice_is(left->type, "*"), any_b = slice_is(right->type, "*");
	if (left->quality != right->quality)
		return left->quality > right->quality;
	if (any_a != any_b)
		return any_b;
	return !slice_is(left->subtype, "*") && slice_is(right->subtype, "*");
}

static size_t read_clauses(const char *accept, struct clause *clauses)
{
	struct slice rest = slice_of(accept);
	size_t n = 0;
	while (rest.p != NULL && n < APISERVER_ACCEPT_CLAUSES_MAX) {
		struct clause c;
		if (!read_clause(slice_cut(&rest, ','), &c))
			continue;
		size_t at = n++;
		while (at > 0 && goes_before(&c, &clauses[at - 1])) {
			clauses[at] = clauses[at - 1];
			at--;
		}
		clauses[at] = c;
	}
	return n;
}

/* --- choosing --- */

static bool parse_conversion(const struct clause *clause, struct apiserver_accept *ret)
{
	if (!slice_is(clause->group, "meta.k8s.io"))
		return false;
	for (size_t v = 0; v < ARRAY_LEN(meta_versions); v++) {
		for (size_t i = 0; i < ARRAY_LEN(conversions); i++) {
			if (!slice_is(clause->version, meta_versions[v]) ||
			    !slice_is(clause->as, conversions[i].text))
				continue;
			ret->as = conversions[i].as;
			ret->meta_version = meta_versions[v];
			return true;
		}
	}
	return false;
}

/* Whether the clause accepts the form at `index`; *ret is then what it asks for. */
static bool match_form(const struct clause *clause, size_t index, struct apiserver_accept *ret)
{
	bool any = slice_is(clause->type, "*") && slice_is(clause->subtype, "*");
	if (!any && (!slice_is(clause->type, "application") ||
		     !slice_is(clause->subtype, forms[index].subtype)))
		return false;
	*ret = (struct apiserver_accept){
		.form = forms[index].form,
		.meta_version = "v1",
		.pretty = slice_is(clause->pretty, "1"),
		.omit_managed = slice_is(clause->omit, "managedFields"),
	};
	if (clause->stream.n > 0 && (!forms[index].watch || !slice_is(clause->stream, "watch")))
		return false;
	return !clause->converts || parse_conversion(clause, ret);
}

static int refuse_all(enum apiserver_accept_for what, struct strbuf *err)
{
	strbuf_adds(err, "only the following media types are accepted: ");
	strbuf_adds(err, what == APISERVER_ACCEPT_WATCH ? "application/json;stream=watch"
							: "application/json, application/yaml");
	return ERR_UNSUPPORTED;
}

int apiserver_accept_parse(const char *accept, enum apiserver_accept_for what,
			   struct apiserver_accept *ret, struct strbuf *err)
{
	struct clause clauses[APISERVER_ACCEPT_CLAUSES_MAX];
	struct apiserver_accept found;
	*ret = (struct apiserver_accept){ .form = APISERVER_FORM_JSON, .meta_version = "v1" };
	if (accept == NULL || trim_spaces(slice_of(accept)).n == 0)
		return 0;
	size_t n = read_clauses(accept, clauses);
	for (size_t i = 0; i < n; i++) {
		for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
			if (!match_form(&clauses[i], f, &found))
				continue;
			if (what == APISERVER_ACCEPT_WATCH && !forms[f].watch) {
				/* The first choice counts, even if it cannot be streamed. */
				ret->form = found.form;
				return refuse_all(what, err);
			}
			*ret = found;
			return 0;
		}
	}
	return refuse_all(what, err);
}

const char *apiserver_accept_type(const struct apiserver_accept *accept)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (forms[i].form == accept->form)
			return forms[i].text;
	}
	return forms[0].text;
}

int apiserver_accept_check(const struct apiserver_accept *accept, bool is_list, const char *kind,
			   struct strbuf *err)
{
	if ((accept->as != APISERVER_AS_PARTIAL || !is_list) &&
	    (accept->as != APISERVER_AS_PARTIAL_LIST || is_list))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(conversions); i++) {
		if (conversions[i].as == accept->as)
			strbuf_addf(err, "you requested %s, but the requested object is %s (%s)",
				    conversions[i].text, conversions[i].noun, kind);
	}
	return ERR_UNSUPPORTED;
}
