/* Tokens and the few rules. */
#include "apiserver/access/auth.h"

#include <string.h>

#include "apiserver/access/atomic_file.h"
#include "base/err.h"
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

struct apiserver_auth {
	char token[IDENTITIES][TOKEN_TEXT + 1];
};

/* --- tokens --- */

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

/* One that is damaged is made anew: whoever has the old one must read the kubeconfig again. */
static int load_token(const char *dir, const char *file, char out[TOKEN_TEXT + 1], char *err,
		      size_t err_n)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	int r = apiserver_keepfile_read(dir, file, &text, err, err_n);
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
	return apiserver_keepfile_write(dir, file, (struct slice){ out, TOKEN_TEXT }, err, err_n);
}

int apiserver_auth_open(const char *dir, struct apiserver_auth **ret, char *err, size_t err_n)
{
	struct apiserver_auth *a = xcalloc(1, sizeof(*a));
	for (size_t i = 0; i < IDENTITIES; i++) {
		int r = load_token(dir, known[i].file, a->token[i], err, err_n);
		if (r < 0) {
			apiserver_auth_free(a);
			return r;
		}
	}
	*ret = a;
	return 0;
}

void apiserver_auth_free(struct apiserver_auth *auth)
{
	if (auth == NULL)
		return;
	explicit_bzero(auth, sizeof(*auth));
	free(auth);
}

const char *apiserver_auth_user_token(const struct apiserver_auth *auth)
{
	return auth->token[0];
}

const char *apiserver_auth_system_token(const struct apiserver_auth *auth)
{
	return auth->token[1];
}

/* Takes the same time wherever they differ. */
static bool same_token(struct slice given, const char *token)
{
	unsigned char differ = given.n != TOKEN_TEXT;
	for (size_t i = 0; i < TOKEN_TEXT; i++)
		differ |= (unsigned char)((i < given.n ? given.p[i] : '\0') ^ token[i]);
	return differ == 0;
}

const struct apiserver_identity *apiserver_auth_who(const struct apiserver_auth *auth,
						    const char *authorization)
{
	struct slice rest = slice_of(authorization);
	struct slice scheme = slice_cut(&rest, ' ');
	const struct apiserver_identity *who = NULL;
	if (!slice_eq_nocase(scheme, SLICE("bearer")))
		return NULL;
	for (size_t i = 0; i < IDENTITIES; i++) {
		if (same_token(slice_trim(rest), auth->token[i]))
			who = &known[i].who;
	}
	return who;
}

/* --- rules --- */

/* What the system alone writes. */
static const struct {
	const char *group, *resource;
} reserved[] = {
	{ "k8s.ovn.org", "dnsnames" },
};

/* Status that users write themselves: no kubelet, cloud or node controller runs on one machine. */
static const struct {
	const char *group, *resource;
} user_status[] = {
	{ "", "nodes" },
	{ "", "pods" },
	{ "", "services" },
};

static const char *const reading[] = { "get", "list", "watch" };
static const char *const writing[] = { "create", "update",	     "patch",
				       "delete", "deletecollection", "*" };

static bool is_one_of(const char *word, const char *const *words, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

static bool covers(const char *asked, const char *name)
{
	return strcmp(asked, "*") == 0 || strcmp(asked, name) == 0;
}

static bool is_reserved(const char *group, const char *resource)
{
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++) {
		if (covers(group, reserved[i].group) && covers(resource, reserved[i].resource))
			return true;
	}
	return false;
}

static bool is_system_status(const struct apiserver_action *action)
{
	for (size_t i = 0; i < ARRAY_LEN(user_status); i++) {
		if (strcmp(action->group, user_status[i].group) == 0 &&
		    strcmp(action->resource, user_status[i].resource) == 0)
			return false;
	}
	return covers(action->subresource, "status");
}

bool apiserver_may(const struct apiserver_identity *who, const struct apiserver_action *action)
{
	if (who->system || is_one_of(action->verb, reading, ARRAY_LEN(reading)))
		return true;
	return is_one_of(action->verb, writing, ARRAY_LEN(writing)) && action->path[0] == '\0' &&
	       !is_system_status(action) && !is_reserved(action->group, action->resource);
}

bool apiserver_may_user(void *ctx, const char *user, const struct apiserver_action *action)
{
	(void)ctx;
	for (size_t i = 0; i < IDENTITIES; i++) {
		if (strcmp(known[i].who.user, user) == 0)
			return apiserver_may(&known[i].who, action);
	}
	return false;
}

void apiserver_may_text(const struct apiserver_identity *who, const struct apiserver_action *action,
			struct strbuf *out)
{
	strbuf_adds(out, "User ");
	strbuf_add_quoted(out, slice_of(who->user));
	strbuf_addf(out, " cannot %s resource \"%s%s%s\" in API group \"%s\" ", action->verb,
		    action->resource, *action->subresource != '\0' ? "/" : "", action->subresource,
		    action->group);
	if (*action->ns != '\0')
		strbuf_addf(out, "in the namespace \"%s\"", action->ns);
	else
		strbuf_adds(out, "at the cluster scope");
}
