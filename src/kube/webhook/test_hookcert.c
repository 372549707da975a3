/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of certificates over years of a fake clock: at each moment, a caller with the bundle of
 * up to one overlap ago trusts a replica with the certificate of up to one overlap ago. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err_text.h"
#include "base/mem.h"
#include "kube/webhook/hookcert.h"
#include "net/certgen.h"

#define NOW_S UINT64_C(1790000000)

static const char *const names[] = { "hook.ns.svc", "127.0.0.1", NULL };
static const struct hookcert_conf conf = {
	.names = names, .ca_s = 3000, .cert_s = 900, .overlap_s = 50
};

static int plan(struct hookcert *h, uint64_t now)
{
	char err[200] = "";
	int r = hookcert_plan(h, &conf, now, ERR_TEXT(err));
	assert_string_equal(err, "");
	return r;
}

static const char *text(const struct hookcert *h, enum hookcert_part p)
{
	return h->part[p].s;
}

/* Is the certificate trusted by the bundle (which may hold several)? */
static bool trusts(const char *bundle, const char *cert, uint64_t now)
{
	static const char begin[] = "-----BEGIN";
	struct net_certinfo i;
	assert_int_equal(net_certinfo(slice_of(cert), &i), 0);
	if (now < i.not_before_s || now >= i.not_after_s)
		return false;
	for (const char *p = bundle; (p = strstr(p, begin)) != NULL; p++) {
		assert_int_equal(net_certinfo(slice_of(p), &i), 0);
		if (now < i.not_after_s && net_cert_signed_by(slice_of(cert), slice_of(p)))
			return true;
	}
	return false;
}

static unsigned authorities(const char *bundle)
{
	unsigned n = 0;
	for (const char *p = bundle; (p = strstr(p, "-----BEGIN")) != NULL; p++)
		n++;
	return n;
}

static void first_and_nothing_more(void **state)
{
	struct hookcert h;
	(void)state;
	hookcert_init(&h);
	assert_int_equal(plan(&h, NOW_S), 1);
	assert_int_equal(authorities(text(&h, HOOKCERT_BUNDLE)), 1);
	assert_true(trusts(text(&h, HOOKCERT_BUNDLE), text(&h, HOOKCERT_CERT), NOW_S));
	assert_true(net_cert_has_name(slice_of(text(&h, HOOKCERT_CERT)), "127.0.0.1"));
	assert_string_equal(text(&h, HOOKCERT_NEXT), "");
	for (uint64_t t = 0; t < 600; t += 10)
		assert_int_equal(plan(&h, NOW_S + t), 0);
	assert_int_equal(plan(&h, NOW_S + 601), 1); /* the last third of 900 s */
	hookcert_done(&h);
}

static void always_trusted(void **state)
{
	enum { STEP_S = 10, LAG = 4, STEPS = 1000 };
	int since_change = 0; /* signatures are dear to check */
	char *bundle[LAG + 1] = { NULL }, *cert[LAG + 1] = { NULL };
	unsigned changes = 0, most = 0;
	struct hookcert h;
	(void)state;
	hookcert_init(&h);
	for (int i = 0; i < STEPS; i++) {
		uint64_t now = NOW_S + (uint64_t)i * STEP_S;
		bool changed = plan(&h, now) == 1;
		changes += changed;
		since_change = changed ? 0 : since_change + 1;
		free(bundle[i % (LAG + 1)]);
		free(cert[i % (LAG + 1)]);
		bundle[i % (LAG + 1)] = xstrdup(text(&h, HOOKCERT_BUNDLE));
		cert[i % (LAG + 1)] = xstrdup(text(&h, HOOKCERT_CERT));
		most = MAX(most, authorities(text(&h, HOOKCERT_BUNDLE)));
		for (int a = 0; since_change <= LAG && a <= MIN(i, LAG); a++) {
			for (int b = 0; b <= MIN(i, LAG); b++)
				assert_true(trusts(bundle[a], cert[b], now));
		}
	}
	assert_in_range(changes, 10, 50);
	assert_int_equal(most, 2);
	for (int a = 0; a <= LAG; a++) {
		free(bundle[a]);
		free(cert[a]);
	}
	hookcert_done(&h);
}

/* The program was away for longer than everything lasted. */
static void all_expired(void **state)
{
	struct hookcert h;
	(void)state;
	hookcert_init(&h);
	assert_int_equal(plan(&h, NOW_S), 1);
	uint64_t later = NOW_S + 100000;
	assert_int_equal(plan(&h, later), 1);
	assert_true(trusts(text(&h, HOOKCERT_BUNDLE), text(&h, HOOKCERT_CERT), later));
	assert_int_equal(plan(&h, later + 60), 1); /* the dead one leaves the bundle */
	assert_int_equal(authorities(text(&h, HOOKCERT_BUNDLE)), 1);
	assert_int_equal(plan(&h, later + 61), 0);
	hookcert_done(&h);
}

static void other_names_need_another(void **state)
{
	static const char *const more[] = { "hook.ns.svc", "::1", NULL };
	struct hookcert_conf other = conf;
	struct hookcert h;
	char err[200];
	(void)state;
	other.names = more;
	hookcert_init(&h);
	assert_int_equal(plan(&h, NOW_S), 1);
	assert_int_equal(hookcert_plan(&h, &other, NOW_S + 1, ERR_TEXT(err)), 1);
	assert_true(net_cert_has_name(slice_of(text(&h, HOOKCERT_CERT)), "::1"));
	assert_int_equal(hookcert_plan(&h, &other, NOW_S + 2, ERR_TEXT(err)), 0);
	hookcert_done(&h);
}

static void secret_and_back(void **state)
{
	struct hookcert a, b;
	json_t *s = json_pack("{s:{s:s}}", "data", "other", "eA==");
	(void)state;
	hookcert_init(&a);
	hookcert_init(&b);
	assert_int_equal(plan(&a, NOW_S), 1);
	hookcert_store(&a, s);
	assert_string_equal(json_string_value(json_object_get(json_object_get(s, "data"), "other")),
			    "eA==");
	hookcert_load(&b, s);
	for (int i = 0; i < HOOKCERT_PARTS; i++)
		assert_string_equal(a.part[i].s, b.part[i].s);
	assert_int_equal(plan(&b, NOW_S + 1), 0);
	json_decref(s);
	hookcert_done(&a);
	hookcert_done(&b);
}

static void broken_parts_are_made_anew(void **state)
{
	static const char *const keys[] = { "ca.crt",	  "tls.crt",	"tls.key",
					    "signer.crt", "signer.key", "next.crt" };
	static const char *const bad[] = { "", "eA==", "!", "AAAA" };
	struct hookcert a;
	(void)state;
	hookcert_init(&a);
	assert_int_equal(plan(&a, NOW_S), 1);
	for (size_t i = 0; i < ARRAY_LEN(keys) * ARRAY_LEN(bad); i++) {
		json_t *s = json_object();
		struct hookcert b;
		char err[200];
		hookcert_store(&a, s);
		json_object_set_new(json_object_get(s, "data"), keys[i / ARRAY_LEN(bad)],
				    json_string(bad[i % ARRAY_LEN(bad)]));
		hookcert_init(&b);
		hookcert_load(&b, s);
		assert_true(hookcert_plan(&b, &conf, NOW_S + 1, ERR_TEXT(err)) >= 0);
		assert_true(trusts(text(&b, HOOKCERT_BUNDLE), text(&b, HOOKCERT_CERT), NOW_S + 1));
		assert_int_equal(strncmp(text(&b, HOOKCERT_BUNDLE), "-----BEGIN", 10), 0);
		assert_true(net_cert_has_key(slice_of(text(&b, HOOKCERT_CERT)),
					     slice_of(text(&b, HOOKCERT_KEY))));
		hookcert_done(&b);
		json_decref(s);
	}
	hookcert_done(&a);
}

static void put(struct hookcert *h, enum hookcert_part p, const char *v)
{
	strbuf_reset(&h->part[p]);
	strbuf_adds(&h->part[p], v);
}

/* Keys that are keys, of something else: an authority that cannot sign is replaced now, not when
 * the next certificate cannot be made. */
static void keys_of_others(void **state)
{
	static const enum hookcert_part keys[] = { HOOKCERT_KEY, HOOKCERT_SIGNER_KEY,
						   HOOKCERT_NEXT_KEY };
	struct hookcert h, other;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		uint64_t now = NOW_S;
		hookcert_init(&h);
		hookcert_init(&other);
		assert_int_equal(plan(&h, now), 1);
		assert_int_equal(plan(&other, now), 1);
		while (keys[i] == HOOKCERT_NEXT_KEY && h.part[HOOKCERT_NEXT].n == 0)
			IGNORE(plan(&h, now += 100));
		put(&h, keys[i], text(&other, HOOKCERT_SIGNER_KEY));
		for (uint64_t end = now + 2000; now < end; now += 10) {
			IGNORE(plan(&h, now));
			assert_true(
				trusts(text(&h, HOOKCERT_BUNDLE), text(&h, HOOKCERT_CERT), now));
			assert_true(net_cert_has_key(slice_of(text(&h, HOOKCERT_CERT)),
						     slice_of(text(&h, HOOKCERT_KEY))));
		}
		hookcert_done(&h);
		hookcert_done(&other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_and_nothing_more),
		cmocka_unit_test(always_trusted),
		cmocka_unit_test(all_expired),
		cmocka_unit_test(other_names_need_another),
		cmocka_unit_test(secret_and_back),
		cmocka_unit_test(broken_parts_are_made_anew),
		cmocka_unit_test(keys_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
