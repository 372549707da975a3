/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TLS sessions and credentials on GnuTLS: loading files, handshakes, records, tickets. */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "net/tls_test.h"

enum { PEM_MAX_BYTES = 4 << 20, ALPN_MAX = 8, ERROR_TEXT_MAX = 192 };

static const char *const priorities = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

struct net_tls_cred {
	gnutls_certificate_credentials_t x509;
	gnutls_priority_t priority;
	gnutls_datum_t ticket_key; /* servers: sessions resume on any thread */
	enum net_tls_auth auth;
	int keylog_fd; /* -1: none */
	bool shared;   /* the one that trusts the system and has no certificate */
	_Atomic unsigned refs;
};

struct net_tls {
	gnutls_session_t session;
	struct net_tls_cred *cred;
	char *name; /* verified; GnuTLS borrows it */
	char error[ERROR_TEXT_MAX];
};

/* ---- credentials ---- */

static int fail_file(struct err_text err, int code, const char *what, const char *file,
		     const char *why)
{
	err_text_set(err, "cannot %s '%s': %s", what, file, why);
	return code;
}

static int load_file(const char *file, const char *what, struct strbuf *out, struct err_text err)
{
	int r = readfile_path(file, PEM_MAX_BYTES, 0, out);
	return r < 0 ? fail_file(err, r, what, file, err_str(r)) : 0;
}

static gnutls_datum_t datum_of(struct strbuf *out)
{
	return (gnutls_datum_t){ .data = (unsigned char *)out->s, .size = (unsigned)out->n };
}

/* Keys are wiped: what a core dump does not hold cannot leak. */
static void wipe_secret(struct strbuf *out)
{
	if (out->n != 0)
		explicit_bzero(out->s, out->n);
	strbuf_done(out);
}

static int load_pair(struct net_tls_cred *cred, const struct net_tls_files *files,
		     struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	CLEANUP(wipe_secret) struct strbuf key = STRBUF_INIT;
	int r = load_file(files->cert, "read certificate", &cert, err);
	if (r == 0)
		r = load_file(files->key, "read key", &key, err);
	if (r < 0)
		return r;
	gnutls_datum_t cd = datum_of(&cert), kd = datum_of(&key);
	r = gnutls_certificate_set_x509_key_mem2(cred->x509, &cd, &kd, GNUTLS_X509_FMT_PEM, NULL,
						 0);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return fail_file(err, ERR_PARSE, "use certificate", files->cert,
				 "its key does not belong to it");
	if (r < 0)
		return fail_file(err, ERR_PARSE, "use certificate and key", files->cert,
				 gnutls_strerror(r));
	return 0;
}

static int load_ca(struct net_tls_cred *cred, const char *file, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf pem = STRBUF_INIT;
	int r = load_file(file, "read CA certificates", &pem, err);
	if (r < 0)
		return r;
	gnutls_datum_t d = datum_of(&pem);
	r = gnutls_certificate_set_x509_trust_mem(cred->x509, &d, GNUTLS_X509_FMT_PEM);
	if (r <= 0)
		return fail_file(err, ERR_PARSE, "use CA certificates", file,
				 r < 0 ? gnutls_strerror(r) : "there are none in it");
	return 0;
}

static void cred_free(struct net_tls_cred *cred)
{
	if (cred->x509 != NULL)
		gnutls_certificate_free_credentials(cred->x509);
	if (cred->priority != NULL)
		gnutls_priority_deinit(cred->priority);
	if (cred->ticket_key.data != NULL) {
		gnutls_memset(cred->ticket_key.data, 0, cred->ticket_key.size);
		gnutls_free(cred->ticket_key.data);
	}
	if (cred->keylog_fd >= 0)
		close(cred->keylog_fd);
	free(cred);
}

static void cred_freep(struct net_tls_cred **cred)
{
	if (*cred != NULL)
		cred_free(*cred);
}

static struct net_tls_cred *cred_new(void)
{
	struct net_tls_cred *c = xcalloc(1, sizeof(*c));
	atomic_init(&c->refs, 1);
	c->keylog_fd = -1;
	if (gnutls_certificate_allocate_credentials(&c->x509) < 0 ||
	    gnutls_priority_init(&c->priority, priorities, NULL) < 0)
		abort(); /* no memory, or a constant of ours is wrong */
	return c;
}

/* Called in a handshake that asked for a certificate; only some settings check it. */
static int verify_client(gnutls_session_t session)
{
	const struct net_tls *t = gnutls_session_get_ptr(session);
	unsigned status = 0, n = 0;
	if (t->cred->auth < NET_TLS_VERIFY_IF_GIVEN)
		return 0;
	if (gnutls_certificate_get_peers(session, &n) == NULL &&
	    t->cred->auth == NET_TLS_VERIFY_IF_GIVEN)
		return 0;
	if (gnutls_certificate_verify_peers3(session, NULL, &status) < 0 || status != 0)
		return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
	return 0;
}

static int open_keylog(struct net_tls_cred *cred, const char *file, struct err_text err)
{
	cred->keylog_fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
	return cred->keylog_fd < 0
		       ? fail_file(err, -errno, "write the key log", file, err_str(-errno))
		       : 0;
}

static int system_trust(struct net_tls_cred *cred, struct err_text err)
{
	int r = gnutls_certificate_set_x509_system_trust(cred->x509);
	if (r > 0)
		return 0;
	err_text_set(err, "the system has no CA certificates (package ca-certificates)");
	return ERR_NOTFOUND;
}

int net_tls_server_cred(const struct net_tls_files *files, struct net_tls_cred **ret,
			struct err_text err)
{
	CLEANUP(cred_freep) struct net_tls_cred *c = cred_new();
	int r = load_pair(c, files, err);
	if (r == 0 && files->ca != NULL)
		r = load_ca(c, files->ca, err);
	else if (r == 0 && files->auth >= NET_TLS_VERIFY_IF_GIVEN)
		r = system_trust(c, err);
	if (r == 0 && files->keylog != NULL)
		r = open_keylog(c, files->keylog, err);
	if (r < 0)
		return r;
	if (gnutls_session_ticket_key_generate(&c->ticket_key) < 0)
		abort(); /* no randomness: nothing here can go on */
	c->auth = files->auth;
	gnutls_certificate_set_verify_function(c->x509, verify_client);
	*ret = TAKE_PTR(c);
	return 0;
}

static pthread_mutex_t system_lock = PTHREAD_MUTEX_INITIALIZER; /* guards system_cred */
static struct net_tls_cred *system_cred;

/* The system's CA set takes megabytes: all who need nothing else share one. */
static int system_client_cred(struct net_tls_cred **ret, struct err_text err)
{
	int r = 0;
	pthread_mutex_lock(&system_lock);
	if (system_cred == NULL) {
		CLEANUP(cred_freep) struct net_tls_cred *c = cred_new();
		r = system_trust(c, err);
		if (r == 0) {
			c->shared = true;
			atomic_store(&c->refs, 0);
			system_cred = TAKE_PTR(c);
		}
	}
	if (r == 0)
		*ret = net_tls_cred_ref(system_cred);
	pthread_mutex_unlock(&system_lock);
	return r;
}

int net_tls_client_cred(const struct net_tls_files *files, struct net_tls_cred **ret,
			struct err_text err)
{
	if (files->cert == NULL && files->ca == NULL)
		return system_client_cred(ret, err);
	CLEANUP(cred_freep) struct net_tls_cred *c = cred_new();
	int r = files->cert != NULL ? load_pair(c, files, err) : 0;
	if (r == 0)
		r = files->ca != NULL ? load_ca(c, files->ca, err) : system_trust(c, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

struct net_tls_cred *net_tls_cred_ref(struct net_tls_cred *cred)
{
	atomic_fetch_add_explicit(&cred->refs, 1, memory_order_relaxed);
	return cred;
}

void net_tls_cred_unref(struct net_tls_cred *cred)
{
	if (cred == NULL)
		return;
	bool shared = cred->shared;
	if (shared)
		pthread_mutex_lock(&system_lock); /* nobody may find it between here and the end */
	bool last = atomic_fetch_sub_explicit(&cred->refs, 1, memory_order_acq_rel) == 1;
	if (last && shared)
		system_cred = NULL;
	if (shared)
		pthread_mutex_unlock(&system_lock);
	if (last)
		cred_free(cred);
}

/* ---- sessions ---- */

static int set_alpn(gnutls_session_t session, const char *const *alpn, unsigned flags)
{
	gnutls_datum_t p[ALPN_MAX];
	unsigned n = 0;
	for (; alpn != NULL && alpn[n] != NULL && n < ALPN_MAX; n++) {
		p[n].data = (unsigned char *)(uintptr_t)alpn[n]; /* GnuTLS only reads it */
		p[n].size = (unsigned)strlen(alpn[n]);
	}
	return n != 0 ? gnutls_alpn_set_protocols(session, p, n, flags) : 0;
}

static void session_freep(struct net_tls **tls)
{
	net_tls_free(*tls);
}

static struct net_tls *session_new(struct net_tls_cred *cred, int fd, unsigned flags)
{
	struct net_tls *t = xcalloc(1, sizeof(*t));
	if (gnutls_init(&t->session, flags | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		abort(); /* no memory */
	t->cred = net_tls_cred_ref(cred);
	gnutls_session_set_ptr(t->session, t);
	gnutls_transport_set_int(t->session, fd);
	gnutls_handshake_set_timeout(t->session, 0); /* the caller's timers watch over it */
	return t;
}

static int common_setup(struct net_tls *tls, const char *const *alpn, unsigned alpn_flags)
{
	int r = gnutls_priority_set(tls->session, tls->cred->priority);
	if (r >= 0)
		r = gnutls_credentials_set(tls->session, GNUTLS_CRD_CERTIFICATE, tls->cred->x509);
	if (r >= 0)
		r = set_alpn(tls->session, alpn, alpn_flags);
	return r < 0 ? ERR_TLS : 0;
}

/* One line in the format of NSS, which tools that decrypt captures read. */
static int log_secret(gnutls_session_t session, const char *label, const gnutls_datum_t *secret)
{
	const struct net_tls *t = gnutls_session_get_ptr(session);
	char client[2 * 32 + 1], key[2 * 64 + 1], line[512];
	size_t client_n = sizeof(client), key_n = sizeof(key);
	gnutls_datum_t client_random, server_random;
	gnutls_session_get_random(session, &client_random, &server_random);
	if (gnutls_hex_encode(&client_random, client, &client_n) < 0 ||
	    gnutls_hex_encode(secret, key, &key_n) < 0)
		return 0;
	int n = snprintf(line, sizeof(line), "%s %s %s\n", label, client, key);
	/* A debugging aid: when the disk is full, sessions go on. */
	IGNORE(write(t->cred->keylog_fd, line, (size_t)n) < 0);
	return 0;
}

int net_tls_accept(struct net_tls_cred *cred, int fd, const char *const *alpn, struct net_tls **ret)
{
	static const gnutls_certificate_request_t request[] = {
		[NET_TLS_NOCERT] = GNUTLS_CERT_IGNORE,
		[NET_TLS_REQUEST] = GNUTLS_CERT_REQUEST,
		[NET_TLS_REQUIRE] = GNUTLS_CERT_REQUIRE,
		[NET_TLS_VERIFY_IF_GIVEN] = GNUTLS_CERT_REQUEST,
		[NET_TLS_REQUIRE_AND_VERIFY] = GNUTLS_CERT_REQUIRE,
	};
	CLEANUP(session_freep) struct net_tls *t = session_new(cred, fd, GNUTLS_SERVER);
	int r = common_setup(t, alpn, GNUTLS_ALPN_MANDATORY | GNUTLS_ALPN_SERVER_PRECEDENCE);
	if (r < 0)
		return r;
	gnutls_certificate_server_set_request(t->session, request[cred->auth]);
	if (cred->keylog_fd >= 0)
		gnutls_session_set_keylog_function(t->session, log_secret);
	if (gnutls_session_ticket_enable_server(t->session, &cred->ticket_key) < 0)
		return ERR_TLS;
	*ret = TAKE_PTR(t);
	return 0;
}

static bool is_address(const char *name)
{
	uint8_t ip[16];
	return inet_pton(AF_INET, name, ip) == 1 || inet_pton(AF_INET6, name, ip) == 1;
}

int net_tls_connect(struct net_tls_cred *cred, int fd, const char *name, const char *const *alpn,
		    const struct net_tls_ticket *resume, struct net_tls **ret)
{
	CLEANUP(session_freep) struct net_tls *t = session_new(cred, fd, GNUTLS_CLIENT);
	int r = common_setup(t, alpn, 0);
	if (r < 0)
		return r;
	if (!is_address(name) &&
	    gnutls_server_name_set(t->session, GNUTLS_NAME_DNS, name, strlen(name)) < 0)
		return ERR_TLS;
	t->name = xstrdup(name);
	gnutls_session_set_verify_cert(t->session, t->name, 0);
	/* A ticket that is of no use means a whole handshake, nothing worse. */
	if (resume != NULL && resume->p != NULL)
		IGNORE(gnutls_session_set_data(t->session, resume->p, resume->n) < 0);
	*ret = TAKE_PTR(t);
	return 0;
}

void net_tls_free(struct net_tls *tls)
{
	if (tls == NULL)
		return;
	gnutls_deinit(tls->session);
	net_tls_cred_unref(tls->cred);
	free(tls->name);
	free(tls);
}

/* Why the peer's certificate was refused, in GnuTLS's words. */
static void explain_verification(struct net_tls *tls)
{
	unsigned status = gnutls_session_get_verify_cert_status(tls->session);
	gnutls_datum_t text = { 0 };
	if (status == 0 || status == UINT32_MAX ||
	    gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) < 0)
		return;
	snprintf(tls->error, sizeof(tls->error), "%.*s", (int)text.size, (const char *)text.data);
	gnutls_free(text.data);
	for (size_t n = strlen(tls->error); n > 0 && tls->error[n - 1] == ' '; n--)
		tls->error[n - 1] = '\0';
}

/* GnuTLS's code as ours. */
static int result_of(struct net_tls *tls, ssize_t ret)
{
	switch (ret) {
	case GNUTLS_E_AGAIN:
	case GNUTLS_E_INTERRUPTED:
		return -EAGAIN;
	case GNUTLS_E_PUSH_ERROR:
	case GNUTLS_E_PULL_ERROR:
		return errno != 0 ? -errno : -ECONNRESET;
	case GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR:
		snprintf(tls->error, sizeof(tls->error), "%s", gnutls_strerror((int)ret));
		explain_verification(tls);
		return ERR_TLS;
	case GNUTLS_E_FATAL_ALERT_RECEIVED:
		snprintf(tls->error, sizeof(tls->error), "the peer refused: %s",
			 gnutls_alert_get_name(gnutls_alert_get(tls->session)));
		return ERR_TLS;
	default:
		snprintf(tls->error, sizeof(tls->error), "%s", gnutls_strerror((int)ret));
		return ERR_TLS;
	}
}

int net_tls_handshake(struct net_tls *tls)
{
	int r;
	do {
		errno = 0;
		r = gnutls_handshake(tls->session);
	} while (r < 0 && r != GNUTLS_E_AGAIN && r != GNUTLS_E_INTERRUPTED &&
		 gnutls_error_is_fatal(r) == 0);
	if (r >= 0)
		return 0;
	if (gnutls_error_is_fatal(r) != 0 && r != GNUTLS_E_PUSH_ERROR && r != GNUTLS_E_PULL_ERROR) {
		int e = result_of(tls, r);
		IGNORE(gnutls_alert_send_appropriate(tls->session, r) < 0); /* as far as it goes */
		return e;
	}
	return result_of(tls, r);
}

ssize_t net_tls_recv(struct net_tls *tls, void *buf, size_t len)
{
	errno = 0;
	ssize_t r = gnutls_record_recv(tls->session, buf, len);
	if (r >= 0)
		return r;
	if (r == GNUTLS_E_PREMATURE_TERMINATION)
		return 0;
	return result_of(tls, r);
}

ssize_t net_tls_send(struct net_tls *tls, const void *buf, size_t len)
{
	errno = 0;
	ssize_t r = gnutls_record_send(tls->session, buf, len);
	return r >= 0 ? r : result_of(tls, r);
}

void net_tls_bye(struct net_tls *tls)
{
	IGNORE(gnutls_bye(tls->session, GNUTLS_SHUT_WR) < 0); /* a courtesy */
}

bool net_tls_wants_write(const struct net_tls *tls)
{
	return gnutls_record_get_direction(tls->session) == 1;
}

size_t net_tls_pending(const struct net_tls *tls)
{
	return gnutls_record_check_pending(tls->session);
}

const char *net_tls_alpn(const struct net_tls *tls)
{
	gnutls_datum_t d = { 0 };
	static const char *const known[] = { "dot", "h2", "http/1.1", "doq", "h3" };
	if (gnutls_alpn_get_selected_protocol(tls->session, &d) < 0)
		return "";
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strlen(known[i]) == d.size && memcmp(known[i], d.data, d.size) == 0)
			return known[i];
	}
	return "";
}

const char *net_tls_error(const struct net_tls *tls)
{
	return tls->error;
}

bool net_tls_resumed(const struct net_tls *tls)
{
	return gnutls_session_is_resumed(tls->session) != 0;
}

void net_tls_ticket_take(struct net_tls *tls, struct net_tls_ticket *ret)
{
	gnutls_datum_t d = { 0 };
	*ret = (struct net_tls_ticket){ 0 };
	/* TLS 1.3 sends tickets after the handshake: without one there is nothing to resume. */
	if (gnutls_protocol_get_version(tls->session) == GNUTLS_TLS1_3 &&
	    (gnutls_session_get_flags(tls->session) & GNUTLS_SFLAGS_SESSION_TICKET) == 0)
		return;
	if (gnutls_session_get_data2(tls->session, &d) < 0)
		return;
	*ret = (struct net_tls_ticket){ .p = xmemdup(d.data, d.size), .n = d.size };
	gnutls_free(d.data);
}
