/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bearer tokens of the two users, admin and system:fairlead: created at the first start, kept in
 * files, and compared in constant time with the Authorization header of a request. */
#include "apiserver/access/authenticate.h"

#include <string.h>

#include "apiserver/access/atomic_file.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/rng.h"

enum { TOKEN_BYTES = 32, TOKEN_TEXT = 2 * TOKEN_BYTES };
enum { IDENTITIES = 2 };

static const char *const user_groups[] = { "system:masters", "system:authenticated", NULL };
static const char *const system_groups[] = { "system:masters", "system:authenticated", NULL };

static const struct {
	struct apiserver_identity who;
	const char *file;
} known[IDENTITIES] = {
	{ { .user = "admin", .groups = user_groups }, "admin.token" },
	{ { .user = "system:fairlead", .groups = system_groups, .system = true }, "system.token" },
};

struct apiserver_authenticator {
	char token[IDENTITIES][TOKEN_TEXT + 1];
};

static void make_token(char out[TOKEN_TEXT + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[TOKEN_BYTES];
	rng_secure(random, sizeof(random));
	for (size_t i = 0; i < TOKEN_BYTES; i++) {
		out[2 * i] = digits[random[i] >> 4];
		out[2 * i + 1] = digits[random[i] & 15];
	}
	out[TOKEN_TEXT] = '\0';
	explicit_bzero(random, sizeof(random));
}

static bool is_token(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]) && !(text.p[i] >= 'a' && text.p[i] <= 'f'))
			return false;
	}
	return text.n == TOKEN_TEXT;
}

/* A damaged token is replaced: clients must read the kubeconfig again. */
static int load_token(const char *dir, const char *file, char out[TOKEN_TEXT + 1],
		      struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	int r = apiserver_atomic_file_read(dir, file, &text, err);
	if (r < 0 && r != ERR_NOTFOUND)
		return r;
	struct slice s = slice_trim(strbuf_slice(&text));
	if (r == 0 && is_token(s)) {
		memcpy(out, s.p, s.n);
		out[s.n] = '\0';
		explicit_bzero(text.s, text.n);
		return 0;
	}
	make_token(out);
	return apiserver_atomic_file_write(dir, file, (struct slice){ out, TOKEN_TEXT }, err);
}

int apiserver_authenticator_open(const char *dir, struct apiserver_authenticator **ret,
				 struct err_text err)
{
	struct apiserver_authenticator *a = xcalloc(1, sizeof(*a));
	for (size_t i = 0; i < IDENTITIES; i++) {
		int r = load_token(dir, known[i].file, a->token[i], err);
		if (r < 0) {
			apiserver_authenticator_free(a);
			return r;
		}
	}
	*ret = a;
	return 0;
}

void apiserver_authenticator_free(struct apiserver_authenticator *authenticator)
{
	if (authenticator == NULL)
		return;
	explicit_bzero(authenticator, sizeof(*authenticator));
	free(authenticator);
}

const char *apiserver_authenticator_user_token(const struct apiserver_authenticator *authenticator)
{
	return authenticator->token[0];
}

const char *apiserver_authenticator_system_token(
	const struct apiserver_authenticator *authenticator)
{
	return authenticator->token[1];
}

/* In constant time: the position of the first difference must not be measurable. */
static bool same_token(struct slice given, const char *token)
{
	unsigned char differ = given.n != TOKEN_TEXT;
	for (size_t i = 0; i < TOKEN_TEXT; i++)
		differ |= (unsigned char)((i < given.n ? given.p[i] : '\0') ^ token[i]);
	return differ == 0;
}

const struct apiserver_identity *apiserver_authenticator_identify(
	const struct apiserver_authenticator *authenticator, const char *authorization)
{
	struct slice rest = slice_of(authorization);
	struct slice scheme = slice_cut(&rest, ' ');
	const struct apiserver_identity *who = NULL;
	if (!slice_eq_nocase(scheme, SLICE("bearer")))
		return NULL;
	for (size_t i = 0; i < IDENTITIES; i++) {
		if (same_token(slice_trim(rest), authenticator->token[i]))
			who = &known[i].who;
	}
	return who;
}

const struct apiserver_identity *apiserver_authenticator_find_user(const char *user)
{
	for (size_t i = 0; i < IDENTITIES; i++) {
		if (strcmp(known[i].who.user, user) == 0)
			return &known[i].who;
	}
	return NULL;
}
