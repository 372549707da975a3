/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters of namespaces, and of their names; one without pairs is freed. */
#include "addrset/nftables/quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "addrset/nftables/plan.h"
#include "addrset/nftables/quota_test.h"
#include "base/mem.h"

struct tenant {
	size_t n_pairs;
	struct map shares; /* by name id */
	size_t n_name;
	char name[];
};

/* The pairs of one name that count for one tenant: what a pair's payer is. */
struct share {
	struct tenant *tenant;
	struct addrset_id name;
	size_t n_pairs;
};

static struct slice key_of(const struct addrset_id *name)
{
	return (struct slice){ (const char *)name->bytes, sizeof(name->bytes) };
}

static struct slice name_of(const struct tenant *tenant)
{
	return (struct slice){ tenant->name, tenant->n_name };
}

void nftables_quota_init(struct nftables_quota *quota)
{
	map_init(&quota->tenants);
	map_init(&quota->hosts);
}

void nftables_quota_done(struct nftables_quota *quota)
{
	const struct map_entry *entry, *share;
	size_t pos = 0;
	while ((entry = map_next(&quota->tenants, &pos)) != NULL) {
		struct tenant *tenant = entry->value;
		size_t at = 0;
		while ((share = map_next(&tenant->shares, &at)) != NULL)
			free(share->value);
		map_done(&tenant->shares);
		free(tenant);
	}
	map_done(&quota->tenants);
	map_done(&quota->hosts);
}

void nftables_quota_set_names(struct nftables_quota *quota, const struct nftables_policy *policy)
{
	map_done(&quota->hosts);
	map_init(&quota->hosts);
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		const struct nftables_namespace *ns = &policy->namespaces[i];
		for (size_t k = 0; k < ns->n_rules; k++) {
			const struct nftables_rule *rule = &ns->rules[k];
			for (size_t t = 0; t < rule->n_targets; t++) {
				if (rule->targets[t].is_name && !rule->targets[t].is_wildcard)
					map_set(&quota->hosts, key_of(&rule->targets[t].name),
						quota);
			}
		}
	}
}

enum nftables_limit nftables_quota_check(const struct nftables_quota *quota, struct slice tenant,
					 const struct addrset_id *name)
{
	const struct tenant *found = map_get(&quota->tenants, tenant);
	if (found == NULL)
		return NFTABLES_LIMIT_NONE;
	if (found->n_pairs >= NFTABLES_TENANT_PAIRS_MAX)
		return NFTABLES_LIMIT_NAMESPACE;
	const struct share *share = map_get(&found->shares, key_of(name));
	bool is_full = share != NULL && share->n_pairs >= NFTABLES_NAME_PAIRS_MAX;
	return is_full && map_has(&quota->hosts, key_of(name)) ? NFTABLES_LIMIT_NAME
							       : NFTABLES_LIMIT_NONE;
}

bool nftables_quota_is_paid_by(const struct addrset_known *pair, struct slice tenant)
{
	const struct share *share = pair->payer;
	return share != NULL && slice_eq(name_of(share->tenant), tenant);
}

static struct tenant *use_tenant(struct nftables_quota *quota, struct slice name)
{
	struct tenant *tenant = map_get(&quota->tenants, name);
	if (tenant != NULL)
		return tenant;
	tenant = xcalloc(1, sizeof(*tenant) + name.n + 1);
	map_init(&tenant->shares);
	tenant->n_name = name.n;
	memcpy(tenant->name, name.p, name.n);
	map_set(&quota->tenants, name, tenant);
	return tenant;
}

static struct share *use_share(struct tenant *tenant, const struct addrset_id *name)
{
	struct share *share = map_get(&tenant->shares, key_of(name));
	if (share != NULL)
		return share;
	share = xcalloc(1, sizeof(*share));
	share->tenant = tenant;
	share->name = *name;
	map_set(&tenant->shares, key_of(name), share);
	return share;
}

void nftables_quota_charge(struct nftables_quota *quota, struct slice tenant,
			   struct addrset_known *pair)
{
	assert(tenant.n != 0);
	nftables_quota_release(quota, pair);
	struct share *share = use_share(use_tenant(quota, tenant), &pair->name);
	share->n_pairs++;
	share->tenant->n_pairs++;
	pair->payer = share;
}

void nftables_quota_release(struct nftables_quota *quota, struct addrset_known *pair)
{
	struct share *share = pair->payer;
	if (share == NULL)
		return;
	struct tenant *tenant = share->tenant;
	assert(share->n_pairs > 0 && tenant->n_pairs > 0);
	pair->payer = NULL;
	tenant->n_pairs--;
	if (--share->n_pairs == 0) {
		map_del(&tenant->shares, key_of(&share->name));
		free(share);
	}
	if (tenant->n_pairs == 0) {
		map_del(&quota->tenants, name_of(tenant));
		map_done(&tenant->shares);
		free(tenant);
	}
}

size_t nftables_quota_used(const struct nftables_quota *quota, struct slice tenant)
{
	const struct tenant *found = map_get(&quota->tenants, tenant);
	return found != NULL ? found->n_pairs : 0;
}
