/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any values in any places of an object of any kind, written any way. The first octets choose the
 * kind and the way; each pair after them a place and a value. */
#include "apiserver/test_places.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { PUTS_MAX = 16 };

static struct places_api api;

static void stop(void)
{
	places_close(&api);
}

/* An object of every built-in kind, for the ways that change one. */
static void start(void)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	places_open(&api);
	atexit(stop);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
		json_t *o = rows[i]->built_in ? places_base("", rows[i]) : NULL;
		CLEANUP(freep) char *text = o != NULL ? json_dumps(o, JSON_COMPACT) : NULL;
		struct apiserver_answer answer;
		places_path(&path, rows[i]);
		if (o != NULL) {
			places_ask(&api, HTTP_POST, path.s, "application/json", slice_of(text),
				   false, false, &answer);
			apiserver_answer_done(&answer);
		}
		json_decref(o);
	}
}

static const struct apiserver_resource *choose_kind(uint8_t octet)
{
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	return rows[octet % n];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool started;
	if (n < 2)
		return 0;
	if (!started) {
		start();
		started = true;
	}
	const struct apiserver_resource *r = choose_kind(data[0]);
	const struct places_way *way = &places_ways[data[1] % ARRAY_LEN(places_ways)];
	json_t *o = r->built_in ? places_base("", r) : NULL;
	if (o == NULL || !places_fits(way, r)) {
		json_decref(o);
		return 0;
	}
	json_t *places = places_of(r);
	for (size_t i = 2; i + 2 < n && i < 2 + 3 * PUTS_MAX; i += 3) {
		size_t at = ((size_t)data[i] << 8 | data[i + 1]) % json_array_size(places);
		places_put(o, json_array_get(places, at), places_value(data[i + 2]));
	}
	places_write(&api, r, way, "base", o, false, NULL);
	json_decref(places);
	json_decref(o);
	return 0;
}
