/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a machine's objects from files, and picks the machine among them. */
#include "cmd/netconfig/gather.h"

#include <string.h>

#include "api/machine/machine.h"
#include "api/meta.h"
#include "base/err_text.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { TEMPLATE_RANK = 2 };

static bool is_in_namespace(const struct kubecli *cli, const json_t *object)
{
	return cli->ns == NULL || strcmp(cli->ns, api_namespace(object)) == 0;
}

static bool is_same_machine(const json_t *left, const json_t *right)
{
	return strcmp(api_name(left), api_name(right)) == 0 &&
	       strcmp(api_namespace(left), api_namespace(right)) == 0;
}

/* The best object for the name, or of any when that is NULL: a VSphereVM before a template of the
 * same name. *ret_others: there are further ones with another name. */
static const json_t *find_machine(const struct kubecli *cli, const struct gathered *gathered,
				  const char *name, bool *ret_others)
{
	const json_t *best = NULL;
	int best_rank = 0, rank;
	*ret_others = false;
	for (size_t i = 0; i < gathered->objects.n; i++) {
		const json_t *object = gathered->objects.v[i];
		if (!machine_kind_known(object, &rank) || !is_in_namespace(cli, object) ||
		    (name != NULL && strcmp(api_name(object), name) != 0))
			continue;
		*ret_others = *ret_others || (best != NULL && !is_same_machine(best, object));
		if (best == NULL || rank < best_rank) {
			best = object;
			best_rank = rank;
		}
	}
	return best;
}

/* A template is for machines of any name. */
static const json_t *find_only_template(const struct kubecli *cli, const struct gathered *gathered)
{
	const json_t *found = NULL;
	int rank;
	for (size_t i = 0; i < gathered->objects.n; i++) {
		const json_t *object = gathered->objects.v[i];
		if (!machine_kind_known(object, &rank) || rank != TEMPLATE_RANK ||
		    !is_in_namespace(cli, object))
			continue;
		if (found != NULL)
			return NULL;
		found = object;
	}
	return found;
}

static void say_choice(const struct kubecli *cli, const struct gathered *gathered)
{
	CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
	for (size_t i = 0; i < gathered->objects.n; i++) {
		const json_t *object = gathered->objects.v[i];
		if (machine_kind_known(object, NULL) && is_in_namespace(cli, object))
			strbuf_addf(&names, "%s%s %s", names.n != 0 ? ", " : "", api_kind(object),
				    api_name(object));
	}
	kubecli_say(cli, "name one machine with --machine (and -n): the files have %s", names.s);
}

static bool pick_machine(const struct kubecli *cli, const char *name, bool more_follow,
			 struct gathered *gathered)
{
	bool others;
	gathered->machine = find_machine(cli, gathered, name, &others);
	if (others) {
		say_choice(cli, gathered);
		return false;
	}
	if (gathered->machine == NULL && name != NULL)
		gathered->machine = find_only_template(cli, gathered);
	if (gathered->machine == NULL) {
		if (!more_follow)
			kubecli_say(cli,
				    "the files have no VSphereVM, VSphereMachine or "
				    "VSphereMachineTemplate%s%s",
				    name != NULL ? " for the machine " : "",
				    name != NULL ? name : "");
		return more_follow;
	}
	gathered->name = name != NULL ? name : api_name(gathered->machine);
	return true;
}

/* "ipam.cluster.x-k8s.io IPAddress ns/name": versions of a kind have the same objects. */
static void put_identity(const json_t *object, struct strbuf *out)
{
	struct slice version = slice_of(api_version(object));
	const char *ns = api_namespace(object);
	struct slice group = slice_cut(&version, '/');
	if (version.p != NULL)
		strbuf_add_slice(out, group);
	strbuf_addf(out, " %s %s/%s", api_kind(object), ns[0] != '\0' ? ns : "default",
		    api_name(object));
}

/* Otherwise the order of files would decide. False after a message. */
static bool check_one_of_each(const struct kubecli *cli, const struct manifests *files)
{
	struct map seen;
	bool ok = true;
	map_init(&seen);
	for (size_t i = 0; i < files->objects.n; i++) {
		struct manifest_object *object = &files->objects.v[i];
		CLEANUP(strbuf_done) struct strbuf identity = STRBUF_INIT;
		put_identity(object->o, &identity);
		const struct manifest_object *first =
			map_set(&seen, strbuf_slice(&identity), object);
		if (first == NULL || json_equal(first->o, object->o))
			continue;
		CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT, other = STRBUF_INIT;
		manifest_place(object, "", &place);
		manifest_place(first, "", &other);
		kubecli_say(cli, "%s: the %s '%s' is another one than at %s", place.s,
			    api_kind(object->o), api_name(object->o), other.s);
		ok = false;
	}
	map_done(&seen);
	return ok;
}

bool gather_files(const struct kubecli *cli, const struct flag_values *paths, const char *name,
		  bool more_follow, struct gathered *ret)
{
	char why[1024];
	if (!manifests_read(paths, &ret->files, ERR_TEXT(why))) {
		/* What writes two pools as two keys is easily taken for a list. */
		bool pools = strstr(why, "duplicate key 'addressesFromPools'") != NULL;
		kubecli_say(cli, "%s%s", why,
			    pools ? ": all pools of a device are entries of one list" : "");
		return false;
	}
	if (!check_one_of_each(cli, &ret->files))
		return false;
	for (size_t i = 0; i < ret->files.objects.n; i++)
		vec_push(&ret->objects, json_incref(ret->files.objects.v[i].o));
	return pick_machine(cli, name, more_follow, ret);
}

void gather_done(struct gathered *gathered)
{
	for (size_t i = 0; i < gathered->objects.n; i++)
		json_decref(gathered->objects.v[i]);
	vec_done(&gathered->objects);
	manifests_done(&gathered->files);
}
