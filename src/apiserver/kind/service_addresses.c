/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Service: validation of cluster addresses and IP families, and of changes to them. */
#include "apiserver/kind/service_addresses_priv.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/service.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/ip_rules.h"
#include "apiserver/rules/members.h"
#include "base/map.h"
#include "base/strbuf.h"

static const char *const families[] = { "IPv4", "IPv6", NULL };

static bool is_external_name(const json_t *spec)
{
	return apiserver_is(spec, "type", "ExternalName");
}

static bool has_range(const struct apiserver_env *env, const char *family)
{
	for (size_t i = 0; env->service_cidrs != NULL && env->service_cidrs[i] != NULL; i++) {
		bool six = strchr(env->service_cidrs[i], ':') != NULL;
		if (six == (strcmp(family, "IPv6") == 0))
			return true;
	}
	return false;
}

static void check_joined(const json_t *spec, struct api_errors *errs)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	const json_t *one = json_object_get(spec, "clusterIP");
	if (one == NULL && json_array_size(ips) != 0)
		apiserver_add_invalid(errs, "spec.clusterIPs", ips,
				      "must be empty when `clusterIP` is not specified");
	if (one != NULL && json_array_size(ips) == 0)
		apiserver_add_required(errs, "spec.clusterIPs", "");
	else if (one != NULL && !json_equal(one, json_array_get(ips, 0)))
		apiserver_add_invalid(errs, "spec.clusterIPs", ips,
				      "first value must match `clusterIP`");
}

static void check_family_words(const json_t *spec, struct api_errors *errs)
{
	static const char *const policies[] = { "PreferDualStack", "RequireDualStack",
						"SingleStack", NULL };
	const json_t *list = json_object_get(spec, "ipFamilies");
	struct apiserver_path p;
	struct map seen;
	map_init(&seen);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		apiserver_format_path(&p, "spec.ipFamilies[%zu]", i);
		apiserver_check_one_of(errs, p.s, api_text(v), families);
		if (map_set(&seen, api_text_slice(v), &seen) != NULL)
			apiserver_add_duplicate(errs, p.s, v);
	}
	map_done(&seen);
	if (json_object_get(spec, "ipFamilyPolicy") != NULL)
		apiserver_check_one_of(errs, "spec.ipFamilyPolicy",
				       api_get_string(spec, "ipFamilyPolicy"), policies);
}

static bool check_each_ip(const json_t *ips, const json_t *old, struct api_errors *errs)
{
	struct apiserver_path p;
	bool fine = true;
	for (size_t i = 0; i < json_array_size(ips); i++) {
		const char *s = api_text(json_array_get(ips, i));
		if (i == 0 && strcmp(s, "None") == 0) {
			if (json_array_size(ips) > 1) {
				fine = false;
				apiserver_add_invalid(errs, "spec.clusterIPs", ips,
						      "'None' must be the first and only value");
			}
			continue;
		}
		fine &= apiserver_check_address(
			errs, apiserver_format_path(&p, "spec.clusterIPs[%zu]", i), s,
			api_get(old, "spec.clusterIPs"));
	}
	if (json_array_size(ips) > 2)
		apiserver_add_invalid(errs, "spec.clusterIPs", ips, "may only hold up to 2 values");
	return fine;
}

static int family_of(const json_t *list, size_t index)
{
	return apiserver_address_family(api_text(json_array_get(list, index)));
}

static void check_ips_fit(const json_t *spec, struct api_errors *errs)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	const json_t *list = json_object_get(spec, "ipFamilies");
	struct apiserver_path p;
	if (json_array_size(ips) > 1 && family_of(ips, 0) == family_of(ips, 1))
		apiserver_add_invalid(errs, "spec.clusterIPs", ips,
				      "may specify no more than one IP for each IP family");
	for (size_t i = 0; !apiserver_service_is_headless(spec) && i < json_array_size(ips) &&
			   i < json_array_size(list);
	     i++) {
		const char *family = api_text(json_array_get(list, i));
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "expected an %s value as indicated by `ipFamilies[%zu]`", family,
			    i);
		if ((strcmp(family, "IPv4") == 0 && family_of(ips, i) == 6) ||
		    (strcmp(family, "IPv6") == 0 && family_of(ips, i) != 6))
			apiserver_add_invalid(errs,
					      apiserver_format_path(&p, "spec.clusterIPs[%zu]", i),
					      json_array_get(ips, i), text.s);
	}
}

void apiserver_service_check_ips(const json_t *object, const json_t *old, struct api_errors *errs)
{
	const json_t *spec = json_object_get(object, "spec");
	if (is_external_name(spec))
		return;
	check_joined(spec, errs);
	check_family_words(spec, errs);
	if (check_each_ip(json_object_get(spec, "clusterIPs"), old, errs))
		check_ips_fit(spec, errs);
}

static void check_policy(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	static const char field[] = "spec.ipFamilyPolicy";
	const json_t *policy = json_object_get(spec, "ipFamilyPolicy");
	size_t ips = json_array_size(json_object_get(spec, "clusterIPs"));
	size_t n = json_array_size(json_object_get(spec, "ipFamilies"));
	size_t old_ips = json_array_size(json_object_get(was, "clusterIPs"));
	size_t old_n = json_array_size(json_object_get(was, "ipFamilies"));
	bool single = apiserver_is(spec, "ipFamilyPolicy", "SingleStack");
	if (!single && ips != 0 && ips < old_ips)
		apiserver_add_invalid(errs, field, policy,
				      "must be 'SingleStack' to release the secondary cluster IP");
	if (!single && n != 0 && n < old_n)
		apiserver_add_invalid(errs, field, policy,
				      "must be 'SingleStack' to release the secondary IP family");
	if (single && ips == 2)
		apiserver_add_invalid(
			errs, field, policy,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple "
			"cluster IPs are specified");
	if (single && n == 2)
		apiserver_add_invalid(
			errs, field, policy,
			"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP "
			"families are specified");
}

/* Addresses without an entry in ipFamilies must be of a family that the cluster has. */
static void check_address_families(const struct apiserver_env *env, const json_t *spec,
				   struct api_errors *errs)
{
	const json_t *ips = json_object_get(spec, "clusterIPs");
	struct apiserver_path p;
	for (size_t i = json_array_size(json_object_get(spec, "ipFamilies"));
	     i < json_array_size(ips) && strcmp(api_text(json_array_get(ips, i)), "None") != 0;
	     i++) {
		const char *family = family_of(ips, i) == 6 ? "IPv6" : "IPv4";
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "%s is not configured on this cluster", family);
		if (!has_range(env, family))
			apiserver_add_invalid(errs,
					      apiserver_format_path(&p, "spec.clusterIPs[%zu]", i),
					      ips, text.s);
	}
}

static void check_configured(const struct apiserver_env *env, const json_t *spec,
			     struct api_errors *errs)
{
	const json_t *list = json_object_get(spec, "ipFamilies");
	struct apiserver_path p;
	if (apiserver_is(spec, "ipFamilyPolicy", "RequireDualStack") &&
	    !(has_range(env, "IPv4") && has_range(env, "IPv6")))
		apiserver_add_invalid(errs, "spec.ipFamilyPolicy",
				      json_object_get(spec, "ipFamilyPolicy"),
				      "this cluster is not configured for dual-stack services");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		if (!has_range(env, api_text(v)))
			apiserver_add_invalid(errs,
					      apiserver_format_path(&p, "spec.ipFamilies[%zu]", i),
					      v, "not configured on this cluster");
	}
}

void apiserver_service_check_families(const struct apiserver_env *env, const json_t *object,
				      const json_t *old, struct api_errors *errs)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t before = errs->n;
	if (is_external_name(spec))
		return;
	apiserver_service_check_ips(object, old, errs);
	if (errs->n != before)
		return;
	check_policy(spec, json_object_get(old, "spec"), errs);
	check_address_families(env, spec, errs);
	if (errs->n != before || (apiserver_is(spec, "clusterIP", "None") &&
				  json_object_size(json_object_get(spec, "selector")) == 0))
		return;
	check_configured(env, spec, errs);
}

/* ---- updates ---- */

static bool is_same_item(const json_t *left, const json_t *right, size_t index)
{
	const json_t *x = json_array_get(left, index), *y = json_array_get(right, index);
	return x == NULL || y == NULL ? x == y : json_equal(x, y) != 0;
}

static void check_ips_kept(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *now = json_object_get(spec, "clusterIPs");
	const json_t *old = json_object_get(was, "clusterIPs");
	size_t n = json_array_size(now), n_old = json_array_size(old);
	struct apiserver_path p;
	if (is_external_name(spec) || is_external_name(was) ||
	    (apiserver_service_is_headless(spec) && apiserver_service_is_headless(was)))
		return;
	for (size_t i = 0; i < MIN(n, n_old) && (i == 0 || n == n_old); i++) {
		if (!is_same_item(now, old, i))
			apiserver_add_invalid(errs,
					      apiserver_format_path(&p, "spec.clusterIPs[%zu]", i),
					      now, "may not change once set");
	}
	if (n_old > n && n == 1 && !apiserver_is(spec, "ipFamilyPolicy", "SingleStack"))
		apiserver_add_invalid(errs, "spec.ipFamilyPolicy",
				      json_object_get(spec, "ipFamilyPolicy"),
				      "must be set to 'SingleStack' when releasing the secondary "
				      "clusterIP");
}

static void check_families_kept(const json_t *spec, const json_t *was, struct api_errors *errs)
{
	const json_t *now = json_object_get(spec, "ipFamilies");
	const json_t *old = json_object_get(was, "ipFamilies");
	size_t n = json_array_size(now), n_old = json_array_size(old);
	if (is_external_name(spec) || is_external_name(was) ||
	    apiserver_service_is_headless(spec) || apiserver_service_is_headless(was))
		return;
	for (size_t i = 0; i < MIN(n, n_old) && (i == 0 || n == n_old); i++) {
		if (!is_same_item(now, old, i))
			apiserver_add_invalid(errs, "spec.ipFamilies[0]", now,
					      "may not change once set");
	}
}

void apiserver_service_check_unchanged(const json_t *spec, const json_t *was,
				       struct api_errors *errs)
{
	check_ips_kept(spec, was, errs);
	check_families_kept(spec, was, errs);
}
