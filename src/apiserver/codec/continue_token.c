/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encodes and decodes the continue tokens of paged lists, with the server's messages for invalid
 * ones. */
#include "apiserver/codec/continue_token.h"

#include <string.h>

#include <jansson.h>

#include "api/tree.h"
#include "apiserver/codec/json_error.h"
#include "base/err.h"
#include "base/text/base64.h"

static const char version[] = "meta.k8s.io/v1";

void apiserver_continue_token_make(struct strbuf *out, const char *key, const char *prefix,
				   int64_t rv)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT, start = STRBUF_INIT;
	strbuf_adds(&start, key + strlen(prefix));
	strbuf_addf(&json, "{\"v\":\"%s\",\"rv\":%lld,\"start\":", version, (long long)rv);
	strbuf_add_json(&json, strbuf_slice(&start));
	json.n--; /* over its quote */
	strbuf_adds(&json, "\\u0000\"}");
	size_t from = out->n;
	base64_encode(out, strbuf_slice(&json));
	for (size_t i = from; i < out->n; i++) {
		if (out->s[i] == '+')
			out->s[i] = '-';
		if (out->s[i] == '/')
			out->s[i] = '_';
	}
	while (out->n > from && out->s[out->n - 1] == '=')
		out->s[--out->n] = '\0';
}

static int fail_with(struct strbuf *err, const char *text)
{
	strbuf_addf(err, "continue key is not valid: %s", text);
	return ERR_PARSE;
}

/* Decodes base64 in the URL alphabet without padding. */
static int decode_base64url(const char *token, struct strbuf *out, struct strbuf *err)
{
	CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
	for (const char *p = token; *p != '\0'; p++) {
		bool known =
			base64_value(*p) >= 0 ? *p != '+' && *p != '/' : *p == '-' || *p == '_';
		if (!known || plain.n >= APISERVER_CONTINUE_TOKEN_MAX_BYTES) {
			strbuf_addf(
				err,
				"continue key is not valid: illegal base64 data at input byte %zu",
				(size_t)(p - token));
			return ERR_PARSE;
		}
		strbuf_addc(&plain, *p == '-' ? '+' : *p == '_' ? '/' : *p);
	}
	if (plain.n % 4 == 1) {
		strbuf_addf(err, "continue key is not valid: illegal base64 data at input byte %zu",
			    plain.n - 1);
		return ERR_PARSE;
	}
	while (plain.n % 4 != 0)
		strbuf_addc(&plain, '=');
	return base64_decode(out, strbuf_slice(&plain));
}

/* The server accepts only paths that Go's path.Clean leaves alone: no "..", no empty part. */
static bool is_clean(const char *text)
{
	struct slice rest = slice_of(text);
	if (rest.n != 0 && rest.p[0] == '/')
		rest = slice_from(rest, 1);
	do {
		struct slice part = slice_cut(&rest, '/');
		if (part.n == 0 || slice_is(part, ".") || slice_is(part, ".."))
			return false;
	} while (rest.p != NULL);
	return true;
}

static int read_fields(const json_t *object, const char *prefix, struct strbuf *ret_after,
		       int64_t *ret_rv, struct strbuf *err)
{
	const json_t *start = json_object_get(object, "start"), *rv = json_object_get(object, "rv");
	const char *v = api_text(json_object_get(object, "v"));
	if (strcmp(v, version) != 0) {
		strbuf_addf(err,
			    "continue key is not valid: server does not recognize this encoded "
			    "version %s",
			    v);
		return ERR_PARSE;
	}
	if (json_integer_value(rv) == 0)
		return fail_with(
			err, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
	const char *text = api_text(start);
	if (json_string_length(start) == 0)
		return fail_with(err, "encoded start key is empty (version meta.k8s.io/v1)");
	if (!is_clean(text)) {
		strbuf_addf(err, "continue key is not valid: %s", text);
		return ERR_PARSE;
	}
	/* The text ends at its NUL, which sorts before all longer keys. */
	strbuf_reset(ret_after);
	strbuf_addf(ret_after, "%s%s", prefix, text[0] == '/' ? text + 1 : text);
	*ret_rv = json_integer_value(rv);
	return 0;
}

int apiserver_continue_token_read(const char *token, const char *prefix, struct strbuf *ret_after,
				  int64_t *ret_rv, struct strbuf *err)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT, why = STRBUF_INIT;
	int r = decode_base64url(token, &json, err);
	if (r < 0)
		return r;
	if (apiserver_json_error(strbuf_slice(&json), &why))
		return fail_with(err, why.s);
	json_t *o = json_loadb(json.s, json.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	r = json_is_object(o) ? read_fields(o, prefix, ret_after, ret_rv, err)
			      : fail_with(err, "json: cannot unmarshal value into Go value of type "
					       "storage.continueToken");
	json_decref(o);
	return r;
}
