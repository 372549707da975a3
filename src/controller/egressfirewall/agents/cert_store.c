/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads and writes the four Secrets. An authority is stored before anybody gets what it signed: of two processes that
 * both renew it, one meets a conflict and reads again. */
#include "controller/egressfirewall/agents/cert_store.h"

#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "controller/egressfirewall/agents/agent_certs.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"
#include "controller/shared/feature_gate.h"
#include "kube/client/object.h"
#include "kube/client/secret_tree.h"
#include "kube/client/status.h"

#define CHECK_NS (60 * NS_PER_S)

enum { AUTHORITY, COPY, KINDS };

static const char *const secrets[EGRESSFIREWALL_SIDES][KINDS] = {
	[EGRESSFIREWALL_AGENTS] = { "fairlead-node-authority", "fairlead-node-tls" },
	[EGRESSFIREWALL_SERVERS] = { "fairlead-node-client-authority", "fairlead-node-client" },
};

struct pass {
	struct controller_ctx *ctx;
	struct egressfirewall_agent_certs certs;
	json_t *found[EGRESSFIREWALL_SIDES][KINDS]; /* NULL: it does not exist */
};

static bool is_on(const struct controller_ctx *ctx)
{
	const struct controller_options *options = ctx->options;
	return options != NULL && options->machine == NULL && options->feature_gates != NULL &&
	       feature_gate_hold_is_on(options->feature_gates);
}

static struct kube_ref ref_of(const struct controller_ctx *ctx, size_t side, size_t kind)
{
	bool is_servers = side == EGRESSFIREWALL_SERVERS && kind == COPY;
	return (struct kube_ref){ .kind = api_kind_find("", "Secret"),
				  .ns = is_servers ? egressfirewall_servers_ns(ctx) : ctx->ns,
				  .name = secrets[side][kind] };
}

static int note_error(struct controller_ctx *ctx, const char *what, const struct kube_ref *ref,
		      int ret, struct kube_status *status)
{
	if (ret < 0)
		err_text_set(ERR_TEXT(ctx->err), "%s Secret %s/%s: %s", what, ref->ns, ref->name,
			     status->message[0] != '\0' ? status->message : err_str(ret));
	kube_status_done(status);
	return ret;
}

static int read_secrets(struct pass *pass)
{
	int r = 0;
	for (size_t i = 0; i < (size_t)EGRESSFIREWALL_SIDES * KINDS && r == 0; i++) {
		struct kube_ref ref = ref_of(pass->ctx, i / KINDS, i % KINDS);
		struct kube_status status;
		r = kube_get(pass->ctx->conn, &ref, &pass->found[i / KINDS][i % KINDS], &status);
		r = note_error(pass->ctx, "read", &ref, r == ERR_NOTFOUND ? 0 : r, &status);
	}
	return r;
}

static bool is_ours(const json_t *object)
{
	const char *manager = api_label(object, EGRESSFIREWALL_MANAGED_BY);
	return manager != NULL && strcmp(manager, EGRESSFIREWALL_MANAGER) == 0;
}

/* Whoever makes one of them by hand wants certificates of their own. */
static bool are_ours(struct pass *pass)
{
	bool *reported = &egressfirewall_state_of(pass->ctx)->certs.others_reported;
	for (size_t i = 0; i < (size_t)EGRESSFIREWALL_SIDES * KINDS; i++) {
		const json_t *object = pass->found[i / KINDS][i % KINDS];
		if (object == NULL || is_ours(object))
			continue;
		if (!*reported)
			log_info(EGRESSFIREWALL_LOG_AREA,
				 "Secret %s/%s is not of this controller: certificates of agents "
				 "and DNS servers are left to whoever made it",
				 api_namespace(object), api_name(object));
		*reported = true;
		return false;
	}
	*reported = false;
	return true;
}

/* Takes `data`. */
static int write_secret(struct pass *pass, size_t side, size_t kind, json_t *data)
{
	struct controller_ctx *ctx = pass->ctx;
	const json_t *found = pass->found[side][kind];
	struct kube_ref ref = ref_of(ctx, side, kind);
	struct kube_status status;
	json_t *object = json_pack("{s:o}", "data", data);
	int r;
	if (found != NULL) {
		json_object_set_new(
			object, "metadata",
			json_pack("{s:s}", "resourceVersion", api_resource_version(found)));
		r = kube_merge(ctx->conn, &ref, NULL, object, NULL, &status);
	} else {
		json_object_update_new(
			object, json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:{s:s}}}", "apiVersion",
					  "v1", "kind", "Secret", "type", "Opaque", "metadata",
					  "name", ref.name, "namespace", ref.ns, "labels",
					  EGRESSFIREWALL_MANAGED_BY, EGRESSFIREWALL_MANAGER));
		r = kube_create(ctx->conn, &ref, object, NULL, &status);
	}
	kube_secret_tree_wipe(object);
	r = note_error(ctx, found != NULL ? "change" : "create", &ref, r, &status);
	if (r == 0)
		log_info(EGRESSFIREWALL_LOG_AREA, "wrote certificates into Secret %s/%s", ref.ns,
			 ref.name);
	return r;
}

static int renew_side(struct pass *pass, enum egressfirewall_side side)
{
	enum egressfirewall_side other =
		side == EGRESSFIREWALL_AGENTS ? EGRESSFIREWALL_SERVERS : EGRESSFIREWALL_AGENTS;
	uint64_t now_s = clock_wall_ns() / NS_PER_S;
	hookcert_load(&pass->certs.side[side], pass->found[side][AUTHORITY]);
	int r = egressfirewall_agent_certs_plan(&pass->certs, side, pass->found[other][COPY], now_s,
						ERR_TEXT(pass->ctx->err));
	if (r <= 0)
		return r;
	json_t *holder = json_object();
	hookcert_store(&pass->certs.side[side], holder);
	json_t *data = json_incref(json_object_get(holder, "data"));
	json_decref(holder);
	return write_secret(pass, side, AUTHORITY, data);
}

static bool has_same(const json_t *found, const json_t *data)
{
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(data), key, value) {
		if (!json_equal(json_object_get(json_object_get(found, "data"), key), value))
			return false;
	}
	return true;
}

static int publish_side(struct pass *pass, enum egressfirewall_side side)
{
	json_t *data = egressfirewall_agent_certs_copy(&pass->certs, side);
	if (!has_same(pass->found[side][COPY], data))
		return write_secret(pass, side, COPY, data);
	kube_secret_tree_wipe(data);
	return 0;
}

static int run_pass(struct pass *pass)
{
	int r = read_secrets(pass);
	if (r < 0 || !are_ours(pass))
		return r;
	for (int side = 0; side < EGRESSFIREWALL_SIDES && r == 0; side++)
		r = renew_side(pass, (enum egressfirewall_side)side);
	for (int side = 0; side < EGRESSFIREWALL_SIDES && r == 0; side++)
		r = publish_side(pass, (enum egressfirewall_side)side);
	return r;
}

int egressfirewall_reconcile_certs(struct controller_ctx *ctx, const char *name)
{
	uint64_t *due_ns = &egressfirewall_state_of(ctx)->certs.due_ns;
	uint64_t now_ns = clock_mono_ns();
	(void)name;
	if (!is_on(ctx))
		return 0;
	if (now_ns < *due_ns) {
		ctx->again_ns = *due_ns - now_ns;
		return 0;
	}
	struct pass pass = { .ctx = ctx };
	egressfirewall_agent_certs_init(&pass.certs);
	int r = run_pass(&pass);
	egressfirewall_agent_certs_done(&pass.certs);
	for (size_t i = 0; i < (size_t)EGRESSFIREWALL_SIDES * KINDS; i++)
		kube_secret_tree_wipe(pass.found[i / KINDS][i % KINDS]);
	if (r < 0)
		return r;
	*due_ns = now_ns + CHECK_NS;
	ctx->again_ns = CHECK_NS;
	return 0;
}
