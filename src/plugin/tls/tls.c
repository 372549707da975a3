/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tls: the certificate of a block's encrypted listeners, and whether clients must present one. */
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "server/conn/certs.h"
#include "server/setup.h"

#define AREA "plugin/tls"

struct tls_conf {
	const char *cert, *key, *ca;
	int auth; /* enum net_tls_auth */
	const char *keylog;
	struct block_conf *block;
	struct certs *certs;
};

static const char *const auth_words[] = {
	[NET_TLS_NOCERT] = "nocert",
	[NET_TLS_REQUEST] = "request",
	[NET_TLS_REQUIRE] = "require",
	[NET_TLS_VERIFY_IF_GIVEN] = "verify_if_given",
	[NET_TLS_REQUIRE_AND_VERIFY] = "require_and_verify",
	NULL,
};

static const struct opt tls_opts[] = {
	{ "<cert>", OPT_STRING, offsetof(struct tls_conf, cert),
	  .help = "file with the certificate and its intermediate certificates (PEM)" },
	{ "<key>", OPT_STRING, offsetof(struct tls_conf, key), .help = "file with its key (PEM)" },
	{ "<ca>", OPT_STRING, offsetof(struct tls_conf, ca),
	  .help = "file with the CAs that clients' certificates are verified by" },
	{ "client_auth", OPT_ENUM, offsetof(struct tls_conf, auth), .def = "nocert",
	  .words = auth_words, .repeatable = true,
	  .args = "nocert|request|require|verify_if_given|require_and_verify",
	  .help = "which certificates clients must present" },
	{ "keylog", OPT_STRING, offsetof(struct tls_conf, keylog), .repeatable = true,
	  .args = "FILE", .help = "secrets of all sessions are appended here, for debugging" },
};

static int read_one(struct tls_conf *conf, struct setup *setup, const struct corefile_dir *dir)
{
	if (dir->n_arg == 0)
		return setup_error(
			setup, dir->name.pos,
			"tls: certificates by ACME are not supported; name the files of a "
			"certificate and its key, as in 'tls CERT KEY'");
	*conf = (struct tls_conf){ .block = setup->conf };
	int r = setup_options(setup, dir, tls_opts, ARRAY_LEN(tls_opts), conf, NULL);
	if (r < 0)
		return r;
	if (conf->key == NULL)
		return setup_error(setup, dir->name.pos,
				   "tls: expected the files of a certificate and its key");
	conf->cert = setup_path(setup, conf->cert);
	conf->key = setup_path(setup, conf->key);
	conf->ca = conf->ca != NULL ? setup_path(setup, conf->ca) : NULL;
	conf->keylog = conf->keylog != NULL ? setup_path(setup, conf->keylog) : NULL;
	return 0;
}

/* As in CoreDNS the last line counts. */
static int tls_parse(struct plugin_inst *self, struct setup *setup)
{
	int r = 0;
	for (size_t i = 0; i < setup->n_dir && r == 0; i++)
		r = read_one(self->conf, setup, setup->dir[i]);
	return r;
}

static int tls_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct tls_conf *c = self->conf;
	char why[512];
	struct net_tls_files f = { .cert = c->cert,
				   .key = c->key,
				   .ca = c->ca,
				   .auth = (enum net_tls_auth)c->auth,
				   .keylog = c->keylog };
	int r = certs_open(&f, prepare->dry, &c->certs, ERR_TEXT(why));
	if (r < 0)
		return srcerr_set(prepare->err, self->pos, "tls: %s", why);
	c->block->certs = c->certs;
	if (c->keylog != NULL && !prepare->dry)
		log_warn(AREA, "Writing TLS Key Log to \"%s\"", c->keylog);
	return 0;
}

static void tls_teardown(struct plugin_inst *self)
{
	struct tls_conf *c = self->conf;
	certs_close(c->certs);
}

const struct plugin tls_plugin = {
	.name = "tls",
	.opts = tls_opts,
	.n_opts = ARRAY_LEN(tls_opts),
	.conf_size = sizeof(struct tls_conf),
	.parse = tls_parse,
	.prepare = tls_prepare,
	.teardown = tls_teardown,
};
