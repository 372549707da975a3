/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node: Pod networks and taints. Fields that the schema does not describe are stored unchanged. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/map.h"
#include "base/strbuf.h"

static void prepare_status(json_t *object, const json_t *old)
{
	json_t *status = json_object_get(object, "status"),
	       *all = json_object_get(status, "capacity");
	(void)old;
	if (all != NULL)
		apiserver_set_default(status, "allocatable", api_tree_copy(all));
}

/* podCIDR is the first of podCIDRs. If both are set and differ, podCIDR replaces the list. */
static void prepare_node(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *one = json_object_get(spec, "podCIDR");
	const json_t *first = json_array_get(json_object_get(spec, "podCIDRs"), 0);
	(void)env;
	if (one != NULL && first == NULL)
		json_object_set_new(spec, "podCIDRs", json_pack("[O]", one));
	else if (first != NULL && one == NULL)
		json_object_set_new(spec, "podCIDR", api_tree_copy(first));
	else if (first != NULL && !json_equal(one, first))
		json_object_set_new(spec, "podCIDRs", json_pack("[O]", one));
	if (old != NULL)
		apiserver_copy_old(object, old, "status");
	else
		prepare_status(object, NULL);
}

/* A taint as kube-apiserver's internal Go type is printed in errors. */
static void add_go_taint(struct strbuf *out, const json_t *tree)
{
	strbuf_adds(out, "{\"Key\":");
	strbuf_add_json(out, slice_of(api_get_string(tree, "key")));
	strbuf_adds(out, ",\"Value\":");
	strbuf_add_json(out, slice_of(api_get_string(tree, "value")));
	strbuf_adds(out, ",\"Effect\":");
	strbuf_add_json(out, slice_of(api_get_string(tree, "effect")));
	strbuf_adds(out, ",\"TimeAdded\":");
	if (apiserver_has_text(tree, "timeAdded"))
		strbuf_add_json(out, slice_of(api_get_string(tree, "timeAdded")));
	else
		strbuf_adds(out, "null");
	strbuf_addc(out, '}');
}

/* `seen` has the keys and effects of the taints before. */
static void check_taint(const json_t *list, size_t index, struct map *seen, struct api_errors *errs)
{
	static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute",
					       NULL };
	const json_t *t = json_array_get(list, index);
	const char *key = api_get_string(t, "key"), *effect = api_get_string(t, "effect");
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, pair = STRBUF_INIT;
	struct apiserver_path p;
	apiserver_format_path(&p, "metadata.taints[%zu].key",
			      index); /* kube-apiserver names this path */
	apiserver_check_label_key(&(struct apiserver_field){ errs, p.s, NULL }, key);
	apiserver_format_path(&p, "metadata.taints[%zu].value", index);
	apiserver_check_label_value(&(struct apiserver_field){ errs, p.s, NULL },
				    api_get_string(t, "value"));
	apiserver_format_path(&p, "metadata.taints[%zu].effect", index);
	if (effect[0] == '\0')
		apiserver_add_required(errs, p.s, "");
	else
		apiserver_check_one_of(errs, p.s, effect, effects);
	strbuf_addf(&pair, "%s\n%s", key, effect);
	if (map_set(seen, strbuf_slice(&pair), seen) == NULL)
		return;
	add_go_taint(&text, t);
	api_errors_add(errs, API_FIELD_DUPLICATE,
		       apiserver_format_path(&p, "metadata.taints[%zu]", index), text.s,
		       "taints must be unique by key and effect pair");
}

static void check_networks(const json_t *list, struct api_errors *errs)
{
	struct apiserver_path p;
	int families[2] = { 0, 0 };
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = api_text(json_array_get(list, i));
		apiserver_check_network(errs, apiserver_format_path(&p, "spec.podCIDRs[%zu]", i), s,
					NULL);
		families[i == 0 ? 0 : 1] = apiserver_network_family(s);
	}
	if (json_array_size(list) > 2 || (json_array_size(list) == 2 && families[0] == families[1]))
		apiserver_add_invalid(errs, "spec.podCIDRs", list,
				      "may specify no more than one CIDR for each IP family");
}

static void check_update(const json_t *object, const json_t *old, struct api_errors *errs)
{
	const json_t *was = api_get(old, "spec.podCIDRs"), *now = api_get(object, "spec.podCIDRs");
	const char *id = api_get_string(object, "spec.providerID");
	const char *old_id = api_get_string(old, "spec.providerID");
	if (json_array_size(was) != 0 && (now == NULL || !json_equal(was, now)))
		apiserver_add_forbidden(
			errs, "spec.podCIDRs",
			"node updates may not change podCIDR except from \"\" to valid");
	if (old_id[0] != '\0' && strcmp(id, old_id) != 0)
		api_errors_add(errs, API_FIELD_INVALID, "spec.providerID", "null",
			       id[0] != '\0' ? "field cannot be modified once set"
					     : "field cannot be cleared once set");
}

static void validate_node(const struct apiserver_env *env, const json_t *object, const json_t *old,
			  struct api_errors *errs)
{
	const json_t *taints = api_get(object, "spec.taints");
	(void)env;
	if (old != NULL)
		check_update(object, old, errs);
	struct map seen;
	map_init(&seen);
	for (size_t i = 0; i < json_array_size(taints); i++)
		check_taint(taints, i, &seen, errs);
	map_done(&seen);
	if (old == NULL)
		check_networks(api_get(object, "spec.podCIDRs"), errs);
}

const struct apiserver_strategy apiserver_node_strategy = {
	.kind = "Node",
	.group = "",
	.prepare = prepare_node,
	.prepare_status = prepare_status,
	.validate = validate_node,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_node,
};
