/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates, changes and deletes DNSName objects. What an object should be follows from the rules of all
 * firewalls and from the table of hosts alone, so that changes by others are reverted (EF-4), and a
 * start after any end arrives at the same state. */
#include "controller/egressfirewall/dnsname.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/rules.h"
#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/egressfirewall/items.h"
#include "controller/egressfirewall/release.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"

#define WRITE_PAUSE_NS (1 * NS_PER_S) /* between two writes of one object's status */
#define POSTPONED_NS \
	(10 * NS_PER_S) /* a write that was put off is tried again then, if nobody calls it */
#define UNSHOWN_MAX_NS (10 * NS_PER_S) /* for a watch to show what was written */

/* Writes wait for the limit on writes on their worker. Lookups need the other workers: what they find out
 * too late lets addresses expire, which causes more writes. */
enum { WRITING_MAX = 2 };

static struct log_limit late_log = { .interval_ns = 60 * NS_PER_S };

/* What a pass works with. */
struct pass {
	struct controller_ctx *ctx;
	const char *name;
	const json_t *copy; /* the watch's; NULL: there is none */
	struct kube_ref ref;
	struct egressfirewall_object object; /* as it is now; a copy of the table's */
	struct release_verdict release;	     /* uses that have ended, and nodes */
	json_t *items;			     /* that the status should have */
	char *addresses;		     /* the same in one line */
};

/* ---- the table ---- */

static struct egressfirewall_object *find_object(const struct pass *pass)
{
	return map_get(&egressfirewall_state_of(pass->ctx)->objects, slice_of(pass->name));
}

static uint64_t version_of(const json_t *object)
{
	uint64_t number = 0;
	return slice_u64(slice_of(api_resource_version(object)), &number) == 0 ? number : 0;
}

static void queue_host(void *ctx, const char *host)
{
	egressfirewall_queue(ctx, EGRESSFIREWALL_HOST_KEY, host);
}

static void queue_tracked(void *ctx, struct tracked_host *host)
{
	queue_host(ctx, host->name);
}

/* Hosts below a wildcard that shrinks or goes are checked once more: nothing else may need them. */
static void queue_hosts_below(const struct pass *pass, bool any_depth)
{
	const char *parent = egress_name_below_wildcard(pass->name);
	if (parent != NULL)
		tracked_each_below(&egressfirewall_state_of(pass->ctx)->hosts, parent, any_depth,
				   queue_tracked, pass->ctx);
}

static void update_regular_host(const struct pass *pass, bool is_regular)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	struct tracked_now now = egressfirewall_now();
	struct tracked_host *host = is_regular ? tracked_add(&state->hosts, pass->name, &now)
					       : tracked_find(&state->hosts, pass->name);
	char wildcard[EGRESS_NAME_MAX + 1];
	if (host == NULL || host->is_regular == is_regular)
		return;
	bool has_wildcard = egressfirewall_find_wildcard(state, pass->name, wildcard);
	tracked_set_regular(&state->hosts, host, is_regular, has_wildcard ? wildcard : NULL);
	queue_host(pass->ctx, pass->name);
}

static bool flag_is(const json_t *object, const char *path, bool value)
{
	return json_is_true(api_get(object, path)) == value;
}

static bool is_ours(const json_t *object)
{
	const char *manager = api_label(object, EGRESSFIREWALL_MANAGED_BY);
	return manager != NULL && strcmp(manager, EGRESSFIREWALL_MANAGER) == 0;
}

/* EF-3: is it ours, with the flags that the rules ask for? */
static bool has_flags(const struct pass *pass)
{
	return is_ours(pass->copy) && flag_is(pass->copy, "spec.isregular", pass->object.regular) &&
	       flag_is(pass->copy, "spec.iswildcard", pass->object.wildcard) &&
	       egress_rules_any_depth(pass->copy) == pass->object.any_depth;
}

static bool has_spec(const struct pass *pass)
{
	const char *mark = api_annotation(pass->copy, EGRESS_UNUSED_ANNOTATION);
	return has_flags(pass) && strcmp(mark != NULL ? mark : "", pass->release.mark) == 0;
}

/* ---- uses that have ended ---- */

static unsigned uses_of(bool regular, bool wildcard, bool any_depth)
{
	return (regular ? EGRESS_USE_REGULAR : 0) | (wildcard ? EGRESS_USE_WILDCARD : 0) |
	       (any_depth ? EGRESS_USE_ANY_DEPTH : 0);
}

static unsigned uses_of_copy(const json_t *object)
{
	return uses_of(json_is_true(api_get(object, "spec.isregular")),
		       json_is_true(api_get(object, "spec.iswildcard")),
		       egress_rules_any_depth(object));
}

/* EF-15: what no rule uses stays as it was until nodes have let it go. A copy from before our last write does
 * not show what we decided then. */
static void keep_uses(struct pass *pass, struct egressfirewall_object *object,
		      struct egressfirewall_users *users)
{
	const struct release_votes *votes = &egressfirewall_state_of(pass->ctx)->enforcement.votes;
	unsigned used = uses_of(users->regular, users->wildcard, users->any_depth);
	struct release_case now = { .name = pass->name, .used = used, .now_ns = clock_wall_ns() };
	pass->release = (struct release_verdict){ 0 };
	if (pass->copy == NULL || !is_ours(pass->copy) || api_is_deleting(pass->copy)) {
		object->kept = 0;
	} else if (version_of(pass->copy) < object->least_version) {
		/* What the table claims stays until the newer copy decides; without nodes nobody waits. */
		unsigned claimed = uses_of(object->regular, object->wildcard, object->any_depth);
		object->kept = votes->nodes != 0 ? claimed & ~used : 0;
	} else {
		now.claimed = uses_of_copy(pass->copy);
		now.mark = api_annotation(pass->copy, EGRESS_UNUSED_ANNOTATION);
		release_decide(votes, &now, &pass->release);
		object->kept = pass->release.kept;
	}
	if (pass->release.is_late)
		log_limited(&late_log, LOG_WARNING, EGRESSFIREWALL_LOG_AREA,
			    "DNSName %s is not used any more, and not all agents of nodes have "
			    "reported that its addresses are gone: no longer waiting",
			    pass->name);
	users->regular |= (object->kept & EGRESS_USE_REGULAR) != 0;
	users->wildcard |= (object->kept & EGRESS_USE_WILDCARD) != 0;
	users->any_depth |= (object->kept & EGRESS_USE_ANY_DEPTH) != 0;
}

/* Brings the table up to date with the rules; takes the status over at the first pass. */
static void update_tables(struct pass *pass)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	struct egressfirewall_users users = egressfirewall_users_of(pass->ctx, pass->name);
	struct egressfirewall_object *object = find_object(pass);
	if (object == NULL) {
		object = xcalloc(1, sizeof(*object));
		map_set(&state->objects, slice_of(pass->name), object);
	}
	keep_uses(pass, object, &users);
	bool had_wildcard = object->wildcard, had_any_depth = object->any_depth;
	if ((users.regular && !object->regular) || (users.wildcard && !had_wildcard) ||
	    (users.any_depth && !had_any_depth))
		atomic_fetch_add(&state->objects_changed, 1);
	object->regular = users.regular;
	object->wildcard = users.wildcard;
	object->any_depth = users.any_depth;
	bool is_first = !object->restored;
	if (is_first && pass->copy != NULL)
		egressfirewall_items_restore(state, pass->name, object,
					     api_get(pass->copy, "status.items"), queue_host,
					     pass->ctx);
	object->restored = true;
	object->shown = object->shown ||
			(pass->copy != NULL && version_of(pass->copy) >= object->least_version);
	update_regular_host(pass, users.regular);
	if (had_wildcard && (!users.wildcard || (had_any_depth && !users.any_depth)))
		queue_hosts_below(pass, had_any_depth);
	pass->object = *object;
	bool exists = pass->copy != NULL && has_flags(pass);
	if (is_first || exists != object->exists) {
		object->exists = exists;
		egressfirewall_queue_firewalls(pass->ctx, pass->name);
	}
	pass->items = egressfirewall_items_write(state, pass->name, object);
	pass->addresses = egressfirewall_items_addresses(pass->items);
}

static void note_write(struct pass *pass, const json_t *written)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	pthread_mutex_lock(&state->lock);
	struct egressfirewall_object *object = find_object(pass);
	if (object != NULL) {
		object->written_ns = clock_mono_ns();
		object->least_version = MAX(object->least_version, version_of(written));
		object->shown = object->shown && pass->copy != NULL;
	}
	pthread_mutex_unlock(&state->lock);
}

static void forget_object(struct pass *pass)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	pthread_mutex_lock(&state->lock);
	struct egressfirewall_object *object = map_del(&state->objects, slice_of(pass->name));
	map_del(&state->postponed, slice_of(pass->name));
	free(object);
	pthread_mutex_unlock(&state->lock);
}

/* False: enough others are writing, and the pass comes again when one of them has ended. Else end_write
 * follows. */
static bool begin_write(struct pass *pass)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	struct slice name = slice_of(pass->name);
	pthread_mutex_lock(&state->lock);
	bool may_write = state->n_writing < WRITING_MAX || find_object(pass) == NULL;
	if (may_write) {
		state->n_writing++;
		map_del(&state->postponed, name);
	} else if (!map_has(&state->postponed, name)) {
		map_set(&state->postponed, name, state);
	}
	uint32_t spread = rng_below(&state->rng, TRACKED_SPREAD);
	pthread_mutex_unlock(&state->lock);
	if (!may_write)
		pass->ctx->again_ns = POSTPONED_NS + POSTPONED_NS / TRACKED_SPREAD * spread;
	return may_write;
}

/* Queues the one that has waited longest. */
static void queue_postponed(struct controller_ctx *ctx)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	size_t pos = 0;
	const struct map_entry *first = map_next(&state->postponed, &pos);
	char name[EGRESS_NAME_MAX + 1];
	if (first == NULL)
		return;
	snprintf(name, sizeof(name), "%s", first->key);
	map_del(&state->postponed, slice_of(name));
	egressfirewall_queue(ctx, EGRESSFIREWALL_NAME_KEY, name);
}

/* More than one follows, since a pass may find that there is nothing to write any more. */
static void end_write(struct pass *pass)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	pthread_mutex_lock(&state->lock);
	assert(state->n_writing > 0);
	state->n_writing--;
	for (int i = 0; i < WRITING_MAX; i++)
		queue_postponed(pass->ctx);
	pthread_mutex_unlock(&state->lock);
}

/* ---- requests ---- */

static int note_error(struct pass *pass, const char *what, int ret, struct kube_status *status)
{
	if (ret < 0)
		err_text_set(ERR_TEXT(pass->ctx->err), "%s DNSName %s: %s", what, pass->name,
			     status->message[0] != '\0' ? status->message : err_str(ret));
	kube_status_done(status);
	return ret;
}

/* JSON's null takes the annotation off. */
static json_t *depth_of(const struct pass *pass)
{
	return pass->object.any_depth ? json_string(EGRESS_DEPTH_ANY) : json_null();
}

static json_t *mark_of(const struct pass *pass)
{
	return pass->release.mark[0] != '\0' ? json_string(pass->release.mark) : json_null();
}

static json_t *spec_of(const struct pass *pass)
{
	return json_pack("{s:b, s:b}", "isregular", pass->object.regular, "iswildcard",
			 pass->object.wildcard);
}

static int create_object(struct pass *pass, json_t **ret)
{
	struct kube_status status;
	json_t *object = json_pack(
		"{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:o}", "apiVersion", EGRESS_GROUP "/v1", "kind",
		EGRESS_NAME_KIND, "metadata", "name", pass->name, "namespace", pass->ref.ns,
		"labels", EGRESSFIREWALL_MANAGED_BY, EGRESSFIREWALL_MANAGER, "spec", spec_of(pass));
	if (pass->object.any_depth)
		json_object_set_new(json_object_get(object, "metadata"), "annotations",
				    json_pack("{s:o}", EGRESS_DEPTH_ANNOTATION, depth_of(pass)));
	int r = kube_create(pass->ctx->conn, &pass->ref, object, ret, &status);
	json_decref(object);
	return note_error(pass, "create", r, &status);
}

static int change_spec(struct pass *pass, json_t **ret)
{
	struct kube_status status;
	json_t *patch = json_pack("{s:{s:s, s:{s:s}, s:{s:o, s:o}}, s:o}", "metadata", "uid",
				  api_uid(pass->copy), "labels", EGRESSFIREWALL_MANAGED_BY,
				  EGRESSFIREWALL_MANAGER, "annotations", EGRESS_DEPTH_ANNOTATION,
				  depth_of(pass), EGRESS_UNUSED_ANNOTATION, mark_of(pass), "spec",
				  spec_of(pass));
	int r = kube_merge(pass->ctx->conn, &pass->ref, NULL, patch, ret, &status);
	json_decref(patch);
	return note_error(pass, "change", r, &status);
}

static bool has_items(const struct pass *pass, const json_t *object)
{
	const json_t *now = api_get(object, "status.items");
	if (json_array_size(pass->items) == 0)
		return json_array_size(now) == 0;
	return now != NULL && egressfirewall_items_equal(now, pass->items) &&
	       (pass->object.drops_addresses ||
		strcmp(api_text(api_get(object, "status.addresses")), pass->addresses) == 0);
}

static int change_items(struct pass *pass, const json_t *object, json_t **ret)
{
	struct kube_status status;
	json_t *addresses = pass->addresses[0] != '\0' ? json_string(pass->addresses) : json_null();
	json_t *patch = json_pack("{s:{s:s}, s:{s:O, s:o}}", "metadata", "uid", api_uid(object),
				  "status", "items", pass->items, "addresses", addresses);
	int r = kube_merge(pass->ctx->conn, &pass->ref, "status", patch, ret, &status);
	json_decref(patch);
	return note_error(pass, "status of", r, &status);
}

/* EF-16, EF-17, EF-18: no rule uses it. Objects that another program made and no rule ever used stay:
 * left-overs are harmless. */
static int delete_object(struct pass *pass)
{
	struct kube_delete_opts opts = { .uid = api_uid(pass->copy) };
	struct kube_status status;
	if (!is_ours(pass->copy) || api_is_deleting(pass->copy))
		return 0;
	int r = kube_delete(pass->ctx->conn, &pass->ref, &opts, &status);
	if (r == ERR_NOTFOUND || r == ERR_CONFLICT)
		r = 0;
	return note_error(pass, "delete", r, &status);
}

/* ---- the pass ---- */

/* The object as the cluster has it after this: created or changed if need be. 1: later. */
static int settle_spec(struct pass *pass, json_t **ret)
{
	if (pass->copy != NULL && has_spec(pass))
		return 0;
	if (!begin_write(pass))
		return 1;
	int r = pass->copy == NULL ? create_object(pass, ret) : change_spec(pass, ret);
	end_write(pass);
	if (r == ERR_DUPLICATE || r == ERR_NOTFOUND || r == ERR_CONFLICT)
		return 1; /* the watch will show what is there */
	if (r == 0 && *ret != NULL)
		note_write(pass, *ret);
	return r;
}

/* An older CRD drops status.addresses, which must not be written again in each pass. */
static void note_addresses(struct pass *pass, const json_t *written)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	bool drops = pass->addresses[0] != '\0' && api_get(written, "status.addresses") == NULL;
	pthread_mutex_lock(&state->lock);
	struct egressfirewall_object *object = find_object(pass);
	if (object != NULL)
		object->drops_addresses = drops;
	pthread_mutex_unlock(&state->lock);
}

static int settle_items(struct pass *pass, const json_t *object)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t next_ns = pass->object.written_ns + WRITE_PAUSE_NS;
	json_t *written = NULL;
	if (has_items(pass, object))
		return 0;
	if (pass->object.written_ns != 0 && now_ns < next_ns) {
		pass->ctx->again_ns = next_ns - now_ns;
		return 0;
	}
	if (!begin_write(pass))
		return 0;
	int r = change_items(pass, object, &written);
	end_write(pass);
	if (r == 0) {
		note_write(pass, written);
		note_addresses(pass, written);
	}
	json_decref(written);
	return r == ERR_NOTFOUND || r == ERR_CONFLICT ? 0 : r;
}

/* Is the watch's copy older than our last write? A newer one is on its way then, unless the object was
 * deleted before the watch showed it. */
static bool is_outdated(const struct pass *pass)
{
	const struct egressfirewall_object *object = &pass->object;
	if (pass->copy != NULL)
		return version_of(pass->copy) < object->least_version;
	return object->least_version != 0 && !object->shown &&
	       clock_mono_ns() < object->written_ns + UNSHOWN_MAX_NS;
}

static int settle_object(struct pass *pass)
{
	json_t *changed = NULL;
	if (!pass->object.regular && !pass->object.wildcard) {
		int deleted = pass->copy != NULL ? delete_object(pass) : 0;
		if (deleted == 0)
			forget_object(pass);
		return deleted;
	}
	if (is_outdated(pass)) {
		pass->ctx->again_ns = UNSHOWN_MAX_NS;
		return 0;
	}
	if (pass->copy != NULL && api_is_deleting(pass->copy))
		return 0;
	int r = settle_spec(pass, &changed);
	if (r == 0)
		r = settle_items(pass, changed != NULL ? changed : pass->copy);
	json_decref(changed);
	return r < 0 ? r : 0;
}

int egressfirewall_reconcile_name(struct controller_ctx *ctx, const char *name)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct kube_obj *copy = egressfirewall_find_name(ctx, name);
	struct pass pass = { .ctx = ctx,
			     .name = name,
			     .copy = copy != NULL ? kube_tree_of(copy) : NULL,
			     .ref = { .kind = api_kind_find(EGRESS_GROUP, EGRESS_NAME_KIND),
				      .ns = egressfirewall_names_ns(ctx),
				      .name = name } };
	egressfirewall_count_first(ctx);
	pthread_mutex_lock(&state->lock);
	update_tables(&pass);
	pthread_mutex_unlock(&state->lock);
	int r = settle_object(&pass);
	uint64_t again_ns = pass.release.again_ns;
	if (again_ns != 0 && (ctx->again_ns == 0 || again_ns < ctx->again_ns))
		ctx->again_ns = again_ns;
	json_decref(pass.items);
	free(pass.addresses);
	kube_obj_unref(copy);
	return r;
}
