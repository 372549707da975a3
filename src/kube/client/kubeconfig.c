/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads kubeconfig files: merges them by name, then fills the configuration from the cluster and the
 * user of the chosen context, by tables of their keys. */
#include "kube/client/kubeconfig_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_priv.h"
#include "kube/client/secret_tree.h"

enum { ENTRIES_MAX = 2000, FILES_MAX = 64, LIST_MAX = 1000 };

/* One named cluster, user or context. */
struct entry {
	const char *name;
	const json_t *body;
	const char *file;
};
typedef VEC(struct entry) entry_list;

struct reader {
	json_t *tree[FILES_MAX];
	size_t n_trees;
	entry_list clusters, users, contexts;
	const char *current;
	const char *current_file;
	struct err_text err;
};

PRINTF_LIKE(3, 4)
static int set_error(struct reader *rd, int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	err_text_vset(rd->err, fmt, ap);
	va_end(ap);
	return code;
}

/* ---- merging: who names a thing first wins, as a whole ---- */

static const struct entry *find_entry(const entry_list *entries, const char *name)
{
	for (size_t i = 0; i < entries->n; i++)
		if (strcmp(entries->v[i].name, name) == 0)
			return &entries->v[i];
	return NULL;
}

static int add_entry(struct reader *rd, entry_list *entries, const struct entry *entry,
		     const char *list)
{
	const struct entry *there = find_entry(entries, entry->name);
	if (there != NULL && there->file == entry->file)
		return set_error(rd, ERR_DUPLICATE, "%s: '%s' is twice in %s", entry->file,
				 entry->name, list);
	if (there != NULL)
		return 0;
	if (entries->n == ENTRIES_MAX)
		return set_error(rd, ERR_LIMIT, "%s: more than %d %s", entry->file, ENTRIES_MAX,
				 list);
	vec_push(entries, *entry);
	return 0;
}

static int add_list(struct reader *rd, const json_t *tree, const char *file, const char *key,
		    const char *inner, entry_list *entries)
{
	const json_t *list = json_object_get(tree, key), *v;
	size_t i;
	if (list == NULL || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return set_error(rd, ERR_PARSE, "%s: %s is not a list", file, key);
	json_array_foreach (list, i, v) {
		const char *name = api_text_or(json_object_get(v, "name"), NULL);
		const json_t *body = json_object_get(v, inner);
		if (name == NULL)
			return set_error(rd, ERR_PARSE, "%s: %s[%zu].name is missing", file, key,
					 i);
		if (body != NULL && !json_is_object(body) && !json_is_null(body))
			return set_error(rd, ERR_PARSE, "%s: %s '%s': %s is not a map", file, key,
					 name, inner);
		int r = add_entry(rd, entries, &(struct entry){ name, body, file }, key);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_file(struct reader *rd, const struct kube_config_file *file)
{
	struct srcerr se = { 0 };
	struct api_docs docs = { 0 };
	struct slice text = file->text.n != 0 ? file->text : SLICE("");
	int r = api_yaml_parse(file->path, text, &docs, &se);
	if (r < 0) {
		char said[768];
		return set_error(rd, r, "%s", srcerr_str(&se, said, sizeof(said)));
	}
	if (docs.n == 0)
		return 0; /* an empty file has no settings */
	json_t *tree = rd->tree[rd->n_trees++] = json_incref(docs.v[0]);
	size_t n = docs.n;
	api_docs_done(&docs);
	if (n > 1)
		return set_error(rd, ERR_PARSE, "%s: more than one document", file->path);
	if (!json_is_object(tree))
		return set_error(rd, ERR_PARSE, "%s: not a kubeconfig", file->path);
	if (api_kind(tree)[0] != '\0' && strcmp(api_kind(tree), "Config") != 0)
		return set_error(rd, ERR_PARSE, "%s: kind is '%s', not Config", file->path,
				 api_kind(tree));
	const char *current = api_text(json_object_get(tree, "current-context"));
	if (rd->current == NULL && current[0] != '\0') {
		rd->current = current;
		rd->current_file = file->path;
	}
	if ((r = add_list(rd, tree, file->path, "clusters", "cluster", &rd->clusters)) < 0 ||
	    (r = add_list(rd, tree, file->path, "users", "user", &rd->users)) < 0)
		return r;
	return add_list(rd, tree, file->path, "contexts", "context", &rd->contexts);
}

/* ---- keys by table ---- */

enum field_type {
	FIELD_TEXT,
	FIELD_PATH,	   /* relative to the file's folder */
	FIELD_SOURCE,	   /* a path; the same key with -data wins */
	FIELD_SOURCE_DATA, /* base64 */
	FIELD_SECRET,
	FIELD_BOOL,
	FIELD_REFUSED, /* would change who we are: passing it over is no option */
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset; /* in struct kube_config */
	const char *advice;
};

#define AT(member) offsetof(struct kube_config, member), NULL

static const struct field cluster_fields[] = {
	{ "server", FIELD_TEXT, AT(server) },
	{ "certificate-authority", FIELD_SOURCE, AT(ca) },
	{ "certificate-authority-data", FIELD_SOURCE_DATA, AT(ca) },
	{ "tls-server-name", FIELD_TEXT, AT(tls_name) },
	{ "insecure-skip-tls-verify", FIELD_BOOL, AT(insecure) },
	{ "proxy-url", FIELD_TEXT, AT(proxy) },
};

static const struct field user_fields[] = {
	{ "client-certificate", FIELD_SOURCE, AT(cert) },
	{ "client-certificate-data", FIELD_SOURCE_DATA, AT(cert) },
	{ "client-key", FIELD_SOURCE, AT(key) },
	{ "client-key-data", FIELD_SOURCE_DATA, AT(key) },
	{ "token", FIELD_SECRET, AT(token) },
	{ "tokenFile", FIELD_PATH, AT(token_file) },
	{ "username", FIELD_REFUSED, 0, "API servers no longer accept passwords" },
	{ "password", FIELD_REFUSED, 0, "API servers no longer accept passwords" },
	{ "auth-provider", FIELD_REFUSED, 0, "use an exec plugin" },
	{ "as-user-extra", FIELD_REFUSED, 0, "only as, as-uid and as-groups" },
};

static char *resolve_path(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	if (path[0] == '/' || slash == NULL)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - file), file, path);
}

static int take_data(struct kube_source *source, const char *text)
{
	free(TAKE_PTR(source->path));
	return secret_base64(slice_of(text), &source->data);
}

static int take_text(const struct field *field, const char *file, const char *text, void *at)
{
	switch (field->type) {
	case FIELD_TEXT:
		*(char **)at = xstrdup(text);
		return 0;
	case FIELD_PATH:
		*(char **)at = resolve_path(file, text);
		return 0;
	case FIELD_SOURCE:
		((struct kube_source *)at)->path = resolve_path(file, text);
		return 0;
	case FIELD_SOURCE_DATA:
		return take_data(at, text);
	case FIELD_SECRET:
		secret_set(at, slice_of(text));
		return 0;
	case FIELD_BOOL:
	case FIELD_REFUSED:
		break;
	}
	return ERR_INTERNAL;
}

static int take_field(struct reader *rd, const struct entry *entry, const char *list,
		      const struct field *field, struct kube_config *config)
{
	const json_t *v = json_object_get(entry->body, field->key);
	void *at = (char *)config + field->offset;
	if (v == NULL || json_is_null(v))
		return 0;
	if (field->type == FIELD_REFUSED)
		return set_error(rd, ERR_UNSUPPORTED, "%s: %s '%s': %s is not supported: %s",
				 entry->file, list, entry->name, field->key, field->advice);
	if (field->type == FIELD_BOOL) {
		if (!json_is_boolean(v))
			return set_error(rd, ERR_PARSE, "%s: %s '%s': %s is not true or false",
					 entry->file, list, entry->name, field->key);
		*(bool *)at = json_is_true(v);
		return 0;
	}
	const char *text = api_text(v);
	if (!json_is_string(v))
		return set_error(rd, ERR_PARSE, "%s: %s '%s': %s is not a string", entry->file,
				 list, entry->name, field->key);
	if (text[0] == '\0')
		return 0;
	if (take_text(field, entry->file, text, at) < 0)
		return set_error(rd, ERR_PARSE, "%s: %s '%s': %s is not base64", entry->file, list,
				 entry->name, field->key);
	return 0;
}

/* ---- whom to act as ---- */

static int add_header(struct reader *rd, const struct entry *entry, const char *key,
		      const json_t *value, const char *header, struct kube_config *config)
{
	const char *text = api_text(value);
	if (!json_is_string(value) || strpbrk(text, "\r\n") != NULL)
		return set_error(rd, ERR_PARSE, "%s: users '%s': %s is not a string of one line",
				 entry->file, entry->name, key);
	vec_push(&config->headers, xasprintf("%s: %s", header, text));
	return 0;
}

static int take_impersonation(struct reader *rd, const struct entry *entry,
			      struct kube_config *config)
{
	static const struct {
		const char *key, *header;
	} rows[] = {
		{ "as", "Impersonate-User" },
		{ "as-uid", "Impersonate-Uid" },
	};
	const json_t *groups = json_object_get(entry->body, "as-groups"), *g;
	size_t i;
	int r;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		const json_t *v = json_object_get(entry->body, rows[i].key);
		if (v != NULL && !json_is_null(v) &&
		    (r = add_header(rd, entry, rows[i].key, v, rows[i].header, config)) < 0)
			return r;
	}
	if (groups != NULL && !json_is_null(groups) &&
	    (!json_is_array(groups) || json_array_size(groups) > LIST_MAX))
		return set_error(rd, ERR_PARSE, "%s: users '%s': as-groups is not a short list",
				 entry->file, entry->name);
	json_array_foreach (groups, i, g)
		if ((r = add_header(rd, entry, "as-groups", g, "Impersonate-Group", config)) < 0)
			return r;
	return 0;
}

/* ---- exec ---- */

static int set_exec_error(struct reader *rd, const struct entry *entry, const char *what)
{
	return set_error(rd, ERR_PARSE, "%s: users '%s': exec.%s", entry->file, entry->name, what);
}

static int take_exec_lists(struct reader *rd, const struct entry *entry, const json_t *exec,
			   struct kube_exec *out)
{
	const json_t *args = json_object_get(exec, "args"), *env = json_object_get(exec, "env"), *v;
	size_t i;
	if ((args != NULL && !json_is_null(args) && !json_is_array(args)) ||
	    json_array_size(args) > LIST_MAX)
		return set_exec_error(rd, entry, "args is not a list of at most 1000");
	if ((env != NULL && !json_is_null(env) && !json_is_array(env)) ||
	    json_array_size(env) > LIST_MAX)
		return set_exec_error(rd, entry, "env is not a list of at most 1000");
	json_array_foreach (args, i, v) {
		if (!json_is_string(v))
			return set_exec_error(rd, entry,
					      "args has an element that is not a string");
		vec_push(&out->args, xstrdup(api_text(v)));
	}
	json_array_foreach (env, i, v) {
		const char *name = api_text(json_object_get(v, "name"));
		const char *value = api_text(json_object_get(v, "value"));
		if (name[0] == '\0' || strchr(name, '=') != NULL)
			return set_exec_error(rd, entry, "env holds a variable without a name");
		vec_push(&out->env, xasprintf("%s=%s", name, value));
	}
	return 0;
}

static int check_exec_mode(struct reader *rd, const struct entry *entry, const json_t *exec)
{
	const char *version = api_get_string(exec, "apiVersion");
	const char *mode = api_get_string(exec, "interactiveMode");
	bool v1 = strcmp(version, "client.authentication.k8s.io/v1") == 0;
	if (!v1 && strcmp(version, "client.authentication.k8s.io/v1beta1") != 0)
		return set_exec_error(
			rd, entry, "apiVersion is not client.authentication.k8s.io/v1 or v1beta1");
	if (strcmp(mode, "Always") == 0)
		return set_exec_error(rd, entry,
				      "interactiveMode is Always, but there is no terminal");
	if (strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0 &&
	    (v1 || mode[0] != '\0'))
		return set_exec_error(rd, entry, "interactiveMode is not Never or IfAvailable");
	return 0;
}

static int take_exec(struct reader *rd, const struct entry *entry, struct kube_config *config)
{
	const json_t *x = json_object_get(entry->body, "exec");
	struct kube_exec *out = &config->exec;
	if (x == NULL || json_is_null(x))
		return 0;
	const char *command = api_get_string(x, "command");
	if (command[0] == '\0')
		return set_exec_error(rd, entry, "command is missing");
	int r = check_exec_mode(rd, entry, x);
	if (r < 0 || (r = take_exec_lists(rd, entry, x, out)) < 0)
		return r;
	/* A bare word is looked up in PATH; with a slash it is relative to the file. */
	out->command = strchr(command, '/') != NULL ? resolve_path(entry->file, command)
						    : xstrdup(command);
	out->api_version = xstrdup(api_get_string(x, "apiVersion"));
	out->hint = xstrdup(api_get_string(x, "installHint"));
	out->cluster_info = json_is_true(json_object_get(x, "provideClusterInfo"));
	return 0;
}

/* ---- what was taken must make sense together ---- */

enum { SOCKET_PATH_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path) };

static int check_socket(struct reader *rd, const struct entry *entry, struct slice path)
{
	if (path.n < 2 || path.p[0] != '/')
		return set_error(rd, ERR_PARSE,
				 "%s: clusters '%s': server is not '" KUBE_UNIX_SCHEME
				 "' and the absolute path of a socket",
				 entry->file, entry->name);
	if (path.n >= SOCKET_PATH_MAX)
		return set_error(rd, ERR_PARSE,
				 "%s: clusters '%s': server: the path of a socket has at most %d "
				 "characters",
				 entry->file, entry->name, SOCKET_PATH_MAX - 1);
	return 0;
}

static int normalise_server(struct reader *rd, const struct entry *entry,
			    struct kube_config *config)
{
	if (config->server == NULL)
		return set_error(rd, ERR_PARSE, "%s: clusters '%s': server is missing", entry->file,
				 entry->name);
	if (slice_starts(slice_of(config->server), SLICE(KUBE_UNIX_SCHEME)))
		return check_socket(rd, entry, slice_of(config->server + strlen(KUBE_UNIX_SCHEME)));
	/* Neither an argument nor a password: the one would be lost, the other be shown. */
	for (const char *p = config->server; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || strchr("?#@\\", *p) != NULL)
			return set_error(rd, ERR_PARSE,
					 "%s: clusters '%s': server is not a plain URL",
					 entry->file, entry->name);
	struct slice s = slice_of(config->server);
	while (s.n > 0 && s.p[s.n - 1] == '/')
		s.n--;
	bool has_scheme = strstr(config->server, "://") != NULL;
	if (has_scheme && !slice_starts(s, SLICE("https://")) && !slice_starts(s, SLICE("http://")))
		return set_error(rd, ERR_PARSE, "%s: clusters '%s': server is not http or https",
				 entry->file, entry->name);
	struct slice host = has_scheme ? slice_from(s, (size_t)(strstr(s.p, "://") + 3 - s.p)) : s;
	if (host.n == 0 || host.p[0] == '/' || host.p[0] == ':')
		return set_error(rd, ERR_PARSE, "%s: clusters '%s': server names no host",
				 entry->file, entry->name);
	bool tls = config->insecure || config->tls_name != NULL || config->ca.path != NULL ||
		   config->ca.data.p != NULL;
	const char *scheme = has_scheme ? "" : tls ? "https://" : "http://";
	char *url = xasprintf("%s%.*s", scheme, (int)s.n, s.p);
	free(config->server);
	config->server = url;
	return 0;
}

static bool is_given(const struct kube_source *source)
{
	return source->path != NULL || source->data.p != NULL;
}

static int check_user(struct reader *rd, const struct entry *entry,
		      const struct kube_config *config)
{
	if (is_given(&config->cert) != is_given(&config->key))
		return set_error(rd, ERR_PARSE, "%s: users '%s': %s is missing", entry->file,
				 entry->name,
				 is_given(&config->cert) ? "client-key" : "client-certificate");
	if (config->token.p != NULL && strpbrk(config->token.p, "\r\n") != NULL)
		return set_error(rd, ERR_PARSE, "%s: users '%s': token has more than one line",
				 entry->file, entry->name);
	return 0;
}

static int take_cluster(struct reader *rd, const struct entry *entry, struct kube_config *config)
{
	int r;
	for (size_t i = 0; i < ARRAY_LEN(cluster_fields); i++)
		if ((r = take_field(rd, entry, "clusters", &cluster_fields[i], config)) < 0)
			return r;
	if (config->insecure && is_given(&config->ca))
		return set_error(rd, ERR_PARSE,
				 "%s: clusters '%s': insecure-skip-tls-verify and a certificate "
				 "authority exclude each other",
				 entry->file, entry->name);
	return normalise_server(rd, entry, config);
}

static int take_user(struct reader *rd, const struct entry *entry, struct kube_config *config)
{
	int r;
	for (size_t i = 0; i < ARRAY_LEN(user_fields); i++)
		if ((r = take_field(rd, entry, "users", &user_fields[i], config)) < 0)
			return r;
	if ((r = take_impersonation(rd, entry, config)) < 0 ||
	    (r = take_exec(rd, entry, config)) < 0)
		return r;
	if (config->token_file != NULL)
		secret_done(&config->token); /* the file wins, as in client-go */
	return check_user(rd, entry, config);
}

/* A string of a context; "" when it is missing. */
static int context_text(struct reader *rd, const struct entry *ctx, const char *key,
			const char **ret)
{
	const json_t *v = json_object_get(ctx->body, key);
	*ret = api_text(v);
	if (v == NULL || json_is_null(v) || json_is_string(v))
		return 0;
	return set_error(rd, ERR_PARSE, "%s: contexts '%s': %s is not a string", ctx->file,
			 ctx->name, key);
}

static int take_context(struct reader *rd, const char *name, struct kube_config *config)
{
	const struct entry *ctx = find_entry(&rd->contexts, name);
	const char *cluster_name, *user_name, *ns;
	int r;
	if (ctx == NULL)
		return set_error(rd, ERR_NOTFOUND, "%s: there is no context '%s'",
				 rd->current_file != NULL ? rd->current_file : "kubeconfig", name);
	if ((r = context_text(rd, ctx, "cluster", &cluster_name)) < 0 ||
	    (r = context_text(rd, ctx, "user", &user_name)) < 0 ||
	    (r = context_text(rd, ctx, "namespace", &ns)) < 0)
		return r;
	const struct entry *cluster = find_entry(&rd->clusters, cluster_name);
	const struct entry *user = find_entry(&rd->users, user_name);
	if (cluster == NULL)
		return set_error(rd, ERR_NOTFOUND, "%s: contexts '%s': there is no cluster '%s'",
				 ctx->file, name, cluster_name);
	if (user == NULL && user_name[0] != '\0')
		return set_error(rd, ERR_NOTFOUND, "%s: contexts '%s': there is no user '%s'",
				 ctx->file, name, user_name);
	config->ns = xstrdup(ns[0] != '\0' ? ns : "default");
	config->origin = xasprintf("context '%s' of %s", name, ctx->file);
	r = take_cluster(rd, cluster, config);
	return r < 0 || user == NULL ? r : take_user(rd, user, config);
}

int kube_config_read(const struct kube_config_file *file, size_t count, const char *context,
		     struct kube_config *config, struct err_text err)
{
	struct reader rd = { .err = err };
	int r = count > FILES_MAX
			? set_error(&rd, ERR_LIMIT, "more than %d kubeconfig files", FILES_MAX)
			: 0;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_file(&rd, &file[i]);
	if (r == 0) {
		const char *name = context != NULL && context[0] != '\0' ? context : rd.current;
		if (rd.current_file == NULL)
			rd.current_file = count > 0 ? file[0].path : NULL;
		r = name != NULL ? take_context(&rd, name, config)
				 : set_error(&rd, ERR_NOTFOUND, "%s: current-context is not set",
					     count > 0 ? file[0].path : "kubeconfig");
	}
	for (size_t i = 0; i < rd.n_trees; i++)
		kube_secret_tree_wipe(rd.tree[i]);
	vec_done(&rd.clusters);
	vec_done(&rd.users);
	vec_done(&rd.contexts);
	return r;
}
