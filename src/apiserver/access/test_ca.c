/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CA: created once, renewed in time, replaced when damaged; and the kubeconfig beside it. */
#include "apiserver/access/ca.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "apiserver/access/atomic_file.h"
#include "apiserver/access/kubeconfig.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "http/tlscert.h"
#include "net/certgen.h"

enum { DAY_S = 24 * 3600 };
#define NOW UINT64_C(1794748698)

struct rig {
	char dir[64], err[256];
	struct apiserver_ca t;
	struct apiserver_ca_conf c;
};

static const char *const names[] = { "192.0.2.7", "box.example", NULL };

static void rig_init(struct rig *r)
{
	snprintf(r->dir, sizeof(r->dir), "/tmp/test_ca.XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	apiserver_ca_init(&r->t);
	r->c = (struct apiserver_ca_conf){ .dir = r->dir, .names = names };
}

static void rig_done(struct rig *r)
{
	struct dirent *e;
	DIR *d = opendir(r->dir);
	while ((e = readdir(d)) != NULL) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", r->dir, e->d_name);
		struct stat st;
		if (e->d_name[0] == '.' && strlen(e->d_name) < 3)
			continue;
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		unlink(path);
	}
	closedir(d);
	assert_int_equal(rmdir(r->dir), 0);
	apiserver_ca_done(&r->t);
}

static int renew(struct rig *r, uint64_t now_s)
{
	int n = apiserver_ca_renew(&r->t, &r->c, now_s, ERR_TEXT(r->err));
	if (n < 0)
		fail_msg("%s", r->err);
	return n;
}

/* As a new process would find it. */
static int reopen(struct rig *r, uint64_t now_s)
{
	apiserver_ca_done(&r->t);
	apiserver_ca_init(&r->t);
	return renew(r, now_s);
}

static void check_usable(struct rig *r)
{
	struct http_tls *tls;
	struct slice cert = strbuf_slice(&r->t.server_cert);
	assert_int_equal(http_tls_new(cert, strbuf_slice(&r->t.server_key), &tls, ERR_TEXT(r->err)),
			 0);
	http_tls_free(tls);
	assert_true(net_cert_signed_by(cert, strbuf_slice(&r->t.ca_cert)));
	assert_true(net_cert_has_name(cert, "127.0.0.1"));
	assert_true(net_cert_has_name(cert, "localhost"));
	assert_true(net_cert_has_name(cert, "192.0.2.7"));
	assert_true(net_cert_has_name(cert, "box.example"));
	assert_false(net_cert_has_name(cert, "192.0.2.8"));
}

/* Good at the time, as clients judge it. */
static void check_good(const struct rig *r, uint64_t now_s)
{
	const struct strbuf *all[] = { &r->t.ca_cert, &r->t.server_cert };
	struct net_certinfo i;
	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		assert_int_equal(net_certinfo(strbuf_slice(all[k]), &i), 0);
		assert_true(i.not_before_s <= now_s && now_s < i.not_after_s);
	}
}

/* A machine starts with a clock that is behind or ahead by years, which is corrected later:
 * existing copies of the kubeconfig still work. */
static void clocks_are_corrected(void **state)
{
	static const uint64_t wrong[] = { 0,
					  1000,
					  NOW - 30 * 365 * (uint64_t)DAY_S,
					  NOW - 3 * 365 * (uint64_t)DAY_S,
					  NOW - 3600,
					  NOW + 3600,
					  NOW + 14 * 365 * (uint64_t)DAY_S };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct rig r;
		rig_init(&r);
		assert_int_equal(renew(&r, wrong[i]), 1);
		check_good(&r, wrong[i]);
		check_good(&r, NOW);
		CLEANUP(freep) char *ca = xstrdup(r.t.ca_cert.s);
		assert_true(renew(&r, NOW) >= 0);
		check_good(&r, NOW);
		check_usable(&r);
		assert_string_equal(r.t.ca_cert.s, ca);
		/* And it goes wrong again. */
		assert_true(reopen(&r, wrong[i]) >= 0);
		assert_string_equal(r.t.ca_cert.s, ca);
		rig_done(&r);
	}
}

static void made_once_and_renewed(void **state)
{
	struct rig r;
	(void)state;
	rig_init(&r);
	assert_int_equal(renew(&r, NOW), 1);
	check_usable(&r);
	CLEANUP(freep) char *ca = xstrdup(r.t.ca_cert.s);
	CLEANUP(freep) char *cert = xstrdup(r.t.server_cert.s);
	assert_int_equal(renew(&r, NOW + DAY_S), 0);
	assert_int_equal(reopen(&r, NOW + 240 * (uint64_t)DAY_S), 0);
	assert_string_equal(r.t.server_cert.s, cert);
	/* In its last third the certificate is renewed, the authority stays. */
	assert_int_equal(renew(&r, NOW + 250 * (uint64_t)DAY_S), 1);
	assert_string_equal(r.t.ca_cert.s, ca);
	assert_string_not_equal(r.t.server_cert.s, cert);
	check_usable(&r);
	assert_int_equal(r.t.old_ca_cert.n, 0);
	/* In its last year the authority is, and both are trusted. */
	assert_int_equal(renew(&r, NOW + 3300 * (uint64_t)DAY_S), 1);
	assert_string_equal(r.t.old_ca_cert.s, ca);
	assert_string_not_equal(r.t.ca_cert.s, ca);
	check_usable(&r);
	CLEANUP(strbuf_done) struct strbuf bundle = STRBUF_INIT;
	apiserver_ca_bundle(&r.t, &bundle);
	assert_non_null(strstr(bundle.s, ca));
	assert_non_null(strstr(bundle.s, r.t.ca_cert.s));
	assert_int_equal(reopen(&r, NOW + 3301 * (uint64_t)DAY_S), 0);
	/* Another name is a new certificate. */
	static const char *const more[] = { "192.0.2.7", "box.example", "other.example", NULL };
	r.c.names = more;
	assert_int_equal(renew(&r, NOW + 3301 * (uint64_t)DAY_S), 1);
	check_usable(&r);
	rig_done(&r);
}

static void damaged_files_are_made_anew(void **state)
{
	static const char *const files[] = { "ca.pem", "server.pem" };
	struct rig r;
	(void)state;
	rig_init(&r);
	assert_int_equal(renew(&r, NOW), 1);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", r.dir, files[i]);
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(truncate(path, st.st_size / 2), 0);
		assert_int_equal(reopen(&r, NOW), 1);
		check_usable(&r);
		unlink(path);
		assert_int_equal(reopen(&r, NOW), 1);
		check_usable(&r);
	}
	/* The certificate of one authority with the key of another. */
	CLEANUP(strbuf_done) struct strbuf mixed = STRBUF_INIT;
	strbuf_add_slice(&mixed, strbuf_slice(&r.t.ca_cert));
	strbuf_add_slice(&mixed, strbuf_slice(&r.t.server_key));
	assert_int_equal(
		apiserver_atomic_file_write(r.dir, "ca.pem", strbuf_slice(&mixed), ERR_TEXT(r.err)),
		0);
	IGNORE(apiserver_atomic_file_write(r.dir, "server.pem", SLICE("x"), ERR_TEXT(r.err)));
	assert_int_equal(reopen(&r, NOW), 1);
	check_usable(&r);
	rig_done(&r);
}

static void kubeconfigs(void **state)
{
	struct rig r;
	struct srcerr serr;
	json_t *o;
	struct stat before, after;
	(void)state;
	rig_init(&r);
	assert_int_equal(renew(&r, NOW), 1);
	struct apiserver_kubeconfig k = { .file = "kubeconfig",
					  .server = "https://127.0.0.1:8054",
					  .user = "admin",
					  .token = "abc" };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf pem = STRBUF_INIT;
	CLEANUP(freep) char *path = xasprintf("%s/kubeconfig", r.dir);
	assert_int_equal(apiserver_kubeconfig_write(&r.t, r.dir, &k, ERR_TEXT(r.err)), 0);
	assert_int_equal(apiserver_atomic_file_read(r.dir, "kubeconfig", &text, ERR_TEXT(r.err)),
			 0);
	assert_int_equal(api_yaml_parse_one("kubeconfig", strbuf_slice(&text), &o, &serr), 0);
	assert_string_equal(api_get_string(o, "clusters[0].cluster.server"), k.server);
	assert_string_equal(api_get_string(o, "users[0].user.token"), "abc");
	assert_string_equal(api_get_string(o, "current-context"),
			    api_get_string(o, "contexts[0].name"));
	const char *data = api_get_string(o, "clusters[0].cluster.certificate-authority-data");
	assert_int_equal(base64_decode(&pem, slice_of(data)), 0);
	assert_string_equal(pem.s, r.t.ca_cert.s);
	json_decref(o);
	/* The same again is not written again. */
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(apiserver_kubeconfig_write(&r.t, r.dir, &k, ERR_TEXT(r.err)), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	k.token = "abd";
	assert_int_equal(apiserver_kubeconfig_write(&r.t, r.dir, &k, ERR_TEXT(r.err)), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	rig_done(&r);
}

static void no_rights(void **state)
{
	struct apiserver_ca t;
	char err[256];
	(void)state;
	apiserver_ca_init(&t);
	struct apiserver_ca_conf c = { .dir = "/nonexistent/x" };
	assert_true(apiserver_ca_renew(&t, &c, NOW, ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, "cannot write '/nonexistent/x/"));
	apiserver_ca_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_once_and_renewed),
		cmocka_unit_test(clocks_are_corrected),
		cmocka_unit_test(damaged_files_are_made_anew),
		cmocka_unit_test(kubeconfigs),
		cmocka_unit_test(no_rights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
