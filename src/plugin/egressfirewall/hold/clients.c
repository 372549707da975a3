/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of clients. An address that several pods report has an entry for each, the one that counts first. */
#include "plugin/egressfirewall/hold/clients.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "api/egress/node_report.h"
#include "api/egress/rules.h"
#include "api/fielderr.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec.h"
#include "plugin/egressfirewall/hold/links.h"

struct egressfirewall_clients {
	struct egressfirewall_clients_table table; /* first: workers look there */
	struct egressfirewall_links *links;
	pthread_mutex_t lock; /* guards all else, and the table against other writers */
	struct map tenants;   /* by namespace */
	size_t n_firewalls;
	VEC(struct egressfirewall_client *) networks;
};

/* It is in no table: who asks from the machine is found by the caller. */
static struct egressfirewall_client *new_machine(struct egressfirewall_links *links,
						 const char *node)
{
	static const struct kube_ip no_address;
	struct egressfirewall_client *client = xcalloc(1, sizeof(*client));
	client->tenant = xcalloc(1, sizeof(*client->tenant) + sizeof(EGRESSFIREWALL_MACHINE_NS));
	memcpy(client->tenant->ns, EGRESSFIREWALL_MACHINE_NS, sizeof(EGRESSFIREWALL_MACHINE_NS));
	atomic_init(&client->tenant->refs, 1);
	atomic_init(&client->refs, 1);
	client->link = egressfirewall_links_get(links, node, &no_address);
	return client;
}

struct egressfirewall_clients *egressfirewall_clients_new(struct egressfirewall_links *links,
							  const char *machine)
{
	struct egressfirewall_clients *clients = xcalloc(1, sizeof(*clients));
	rcutable_init(&clients->table.by_ip);
	rng_secure(clients->table.key, sizeof(clients->table.key));
	clients->links = links;
	if (machine != NULL)
		clients->table.machine = new_machine(links, machine);
	pthread_mutex_init(&clients->lock, NULL);
	map_init(&clients->tenants);
	return clients;
}

/* ---- tenants ---- */

static void unref_tenant(struct egressfirewall_tenant *tenant)
{
	if (atomic_fetch_sub_explicit(&tenant->refs, 1, memory_order_acq_rel) != 1)
		return;
	egressfirewall_names_free(rcu_get(&tenant->names));
	free(tenant);
}

static void drop_tenant(struct rcu_item *item)
{
	unref_tenant(CONTAINER_OF(item, struct egressfirewall_tenant, item));
}

static struct egressfirewall_tenant *use_tenant(struct egressfirewall_clients *clients,
						struct slice ns)
{
	struct egressfirewall_tenant *tenant = map_get(&clients->tenants, ns);
	if (tenant == NULL) {
		tenant = xcalloc(1, sizeof(*tenant) + ns.n + 1);
		memcpy(tenant->ns, ns.p, ns.n);
		atomic_init(&tenant->refs, 1);
		map_set(&clients->tenants, ns, tenant);
	}
	tenant->uses++;
	return tenant;
}

static void leave_tenant(struct egressfirewall_clients *clients,
			 struct egressfirewall_tenant *tenant)
{
	assert(tenant->uses > 0);
	if (--tenant->uses != 0)
		return;
	map_del(&clients->tenants, slice_of(tenant->ns));
	rcu_defer(&tenant->item, drop_tenant);
}

/* ---- firewalls ---- */

static bool is_valid(const json_t *firewall)
{
	struct arena arena;
	struct api_errors errors = { 0 };
	struct egress_rules rules;
	arena_init(&arena);
	egress_rules_read(firewall, &arena, &rules, &errors);
	bool valid = errors.n == 0;
	api_errors_done(&errors);
	arena_done(&arena);
	return valid;
}

static void publish_names(struct egressfirewall_tenant *tenant, struct egressfirewall_names *names)
{
	struct egressfirewall_names *old = rcu_get(&tenant->names);
	rcu_publish(&tenant->names, names);
	egressfirewall_names_retire(old);
}

/* The rules of all namespaces of the machine, or what these are, have changed. */
static void publish_machine(struct egressfirewall_clients *clients)
{
	VEC(const json_t *) firewalls = { 0 };
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&clients->tenants, &pos)) != NULL) {
		const struct egressfirewall_tenant *tenant = entry->value;
		if (tenant->is_of_machine && tenant->firewall != NULL)
			vec_push(&firewalls, tenant->firewall);
	}
	publish_names(clients->table.machine->tenant,
		      egressfirewall_names_new(firewalls.v, firewalls.n));
	vec_done(&firewalls);
}

/* Its names are replaced; `firewall` may be NULL. */
static void use_firewall(struct egressfirewall_clients *clients,
			 struct egressfirewall_tenant *tenant, const json_t *firewall)
{
	publish_names(tenant, egressfirewall_names_new(&firewall, firewall != NULL));
	if (clients->table.machine == NULL)
		return;
	json_decref(tenant->firewall);
	tenant->firewall = firewall != NULL ? json_deep_copy(firewall) : NULL;
	if (tenant->is_of_machine)
		publish_machine(clients);
}

static void remove_firewall(struct egressfirewall_clients *clients, struct slice ns)
{
	struct egressfirewall_tenant *tenant = map_get(&clients->tenants, ns);
	if (tenant == NULL || !tenant->has_firewall)
		return;
	tenant->has_firewall = false;
	clients->n_firewalls--;
	use_firewall(clients, tenant, NULL);
	leave_tenant(clients, tenant);
}

void egressfirewall_clients_firewall(struct egressfirewall_clients *clients, struct slice ns,
				     const json_t *firewall)
{
	pthread_mutex_lock(&clients->lock);
	if (firewall == NULL) {
		remove_firewall(clients, ns);
		pthread_mutex_unlock(&clients->lock);
		return;
	}
	struct egressfirewall_tenant *tenant = use_tenant(clients, ns);
	if (tenant->has_firewall) {
		leave_tenant(clients, tenant); /* it was counted before */
	} else {
		tenant->has_firewall = true;
		clients->n_firewalls++;
	}
	if (rcu_get(&tenant->names) == NULL || is_valid(firewall))
		use_firewall(clients, tenant, firewall);
	pthread_mutex_unlock(&clients->lock);
}

void egressfirewall_clients_namespace(struct egressfirewall_clients *clients, struct slice ns,
				      bool is_of_machine)
{
	if (clients->table.machine == NULL)
		return;
	pthread_mutex_lock(&clients->lock);
	struct egressfirewall_tenant *tenant = use_tenant(clients, ns);
	if (tenant->is_of_machine != is_of_machine) {
		tenant->is_of_machine = is_of_machine;
		publish_machine(clients);
		if (is_of_machine)
			tenant->uses++;
		else
			leave_tenant(clients, tenant);
	}
	leave_tenant(clients, tenant);
	pthread_mutex_unlock(&clients->lock);
}

/* ---- pods ---- */

/* Which of two pods has an address that both report: not the one that is about to go, else the newer (as the
 * agents of nodes decide). */
static bool is_rather(const struct kube_pod_node *pod, const struct kube_pod_node *other)
{
	if (pod->is_deleting != other->is_deleting)
		return other->is_deleting;
	return strcmp(pod->created, other->created) > 0;
}

static bool is_same_pod(const struct kube_obj *pod, const struct kube_obj *other)
{
	return strcmp(pod->name, other->name) == 0 && strcmp(pod->ns, other->ns) == 0;
}

/* The first entry of the address; `is_own`: of those of this pod but for this object, or else of those of
 * others. */
static struct egressfirewall_client *find_entry(const struct egressfirewall_clients *clients,
						const struct kube_ip *ip,
						const struct kube_obj *pod,
						const struct kube_obj *except, bool is_own)
{
	struct egressfirewall_client_ip words = egressfirewall_client_ip_of(ip);
	uint32_t hash = egressfirewall_clients_hash(clients->table.key, words);
	struct rcutable_cursor cursor;
	struct rcutable_node *node = rcutable_find(&clients->table.by_ip, hash, &cursor);
	for (; node != NULL; node = rcutable_next(&cursor, node)) {
		struct egressfirewall_client *client =
			CONTAINER_OF(node, struct egressfirewall_client, node);
		if (client->ip.low == words.low && client->ip.high == words.high &&
		    client->pod != NULL && client->pod != except &&
		    is_same_pod(client->pod, pod) == is_own)
			return client;
	}
	return NULL;
}

static bool has_place(const struct kube_obj *pod)
{
	return pod != NULL && kube_pod_node_of(pod)->has_own_ips &&
	       kube_pod_node_of(pod)->node[0] != '\0';
}

static void add_entry(struct egressfirewall_clients *clients, struct kube_obj *pod,
		      const struct kube_ip *ip, struct egressfirewall_link *link)
{
	uint32_t hash =
		egressfirewall_clients_hash(clients->table.key, egressfirewall_client_ip_of(ip));
	struct egressfirewall_client *other = find_entry(clients, ip, pod, NULL, false);
	struct egressfirewall_client *client = xcalloc(1, sizeof(*client));
	client->ip = egressfirewall_client_ip_of(ip);
	client->tenant = use_tenant(clients, slice_of(pod->ns));
	client->link = link;
	client->pod = kube_obj_ref(pod);
	atomic_init(&client->refs, 1);
	if (other != NULL && is_rather(kube_pod_node_of(pod), kube_pod_node_of(other->pod)))
		rcutable_add_first(&clients->table.by_ip, &client->node, hash);
	else
		rcutable_add(&clients->table.by_ip, &client->node, hash);
}

static void unref_client(struct egressfirewall_client *client)
{
	if (atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) != 1)
		return;
	kube_obj_unref(client->pod);
	free(client);
}

static void drop_client(struct rcu_item *item)
{
	unref_client(CONTAINER_OF(item, struct egressfirewall_client, item));
}

static void remove_entry(struct egressfirewall_clients *clients,
			 struct egressfirewall_client *client)
{
	rcutable_remove(&clients->table.by_ip, &client->node);
	leave_tenant(clients, client->tenant);
	rcu_defer(&client->item, drop_client);
}

/* Status of a pod changes often, and mostly says the same about its place. */
static bool is_same_place(const struct kube_obj *old, const struct kube_obj *pod)
{
	if (!has_place(old) || !has_place(pod))
		return has_place(old) == has_place(pod);
	const struct kube_pod_node *left = kube_pod_node_of(old), *right = kube_pod_node_of(pod);
	return left->is_deleting == right->is_deleting && left->n_ips == right->n_ips &&
	       strcmp(left->node, right->node) == 0 &&
	       memcmp(&left->host_ip, &right->host_ip, sizeof(left->host_ip)) == 0 &&
	       memcmp(left->ips, right->ips, left->n_ips * sizeof(left->ips[0])) == 0;
}

/* `now`: what became of it, whose entries stay. */
static void remove_pod(struct egressfirewall_clients *clients, const struct kube_obj *pod,
		       const struct kube_obj *now)
{
	const struct kube_pod_node *gone = kube_pod_node_of(pod);
	for (uint32_t i = 0; i < gone->n_ips; i++) {
		struct egressfirewall_client *client =
			find_entry(clients, &gone->ips[i], pod, now, true);
		if (client != NULL)
			remove_entry(clients, client);
	}
}

static void add_pod(struct egressfirewall_clients *clients, struct kube_obj *pod)
{
	const struct kube_pod_node *now = kube_pod_node_of(pod);
	struct egressfirewall_link *link =
		egressfirewall_links_get(clients->links, now->node, &now->host_ip);
	for (uint32_t i = 0; i < now->n_ips; i++)
		add_entry(clients, pod, &now->ips[i], link);
}

void egressfirewall_clients_pod(struct egressfirewall_clients *clients, struct kube_obj *old,
				struct kube_obj *pod)
{
	if (is_same_place(old, pod))
		return;
	pthread_mutex_lock(&clients->lock);
	if (has_place(pod))
		add_pod(clients, pod);
	if (has_place(old))
		remove_pod(clients, old, pod);
	pthread_mutex_unlock(&clients->lock);
}

/* ---- network namespaces of one machine ---- */

static bool read_ip(struct slice text, struct egressfirewall_client_ip *ret)
{
	union net_addr addr;
	if (net_addr_parse_ip(text, &addr) < 0)
		return false;
	*ret = egressfirewall_client_ip_of_addr(&addr);
	return true;
}

static struct egressfirewall_client *find_network(const struct egressfirewall_clients *clients,
						  struct slice ns,
						  struct egressfirewall_client_ip ip)
{
	for (size_t i = 0; i < clients->networks.n; i++) {
		struct egressfirewall_client *client = clients->networks.v[i];
		if (client->ip.low == ip.low && client->ip.high == ip.high &&
		    slice_eq(slice_of(client->tenant->ns), ns))
			return client;
	}
	return NULL;
}

static void list_network(struct egressfirewall_clients *clients,
			 const struct egress_report_client *line)
{
	struct egressfirewall_client_ip ip;
	if (!read_ip(line->address, &ip))
		return;
	struct egressfirewall_client *client = find_network(clients, line->ns, ip);
	if (client == NULL) {
		client = xcalloc(1, sizeof(*client));
		client->ip = ip;
		client->tenant = use_tenant(clients, line->ns);
		client->link = clients->table.machine->link;
		atomic_init(&client->refs, 1);
		vec_push(&clients->networks, client);
		rcutable_add(&clients->table.by_ip, &client->node,
			     egressfirewall_clients_hash(clients->table.key, ip));
	}
	client->is_listed = true;
}

void egressfirewall_clients_networks(struct egressfirewall_clients *clients, struct slice lines)
{
	struct egress_report_client line;
	size_t n = 0;
	if (clients->table.machine == NULL)
		return;
	pthread_mutex_lock(&clients->lock);
	for (size_t i = 0; i < clients->networks.n; i++)
		clients->networks.v[i]->is_listed = false;
	while (egress_report_next_client(&lines, &line))
		list_network(clients, &line);
	for (size_t i = 0; i < clients->networks.n; i++) {
		struct egressfirewall_client *client = clients->networks.v[i];
		if (client->is_listed)
			clients->networks.v[n++] = client;
		else
			remove_entry(clients, client);
	}
	clients->networks.n = n;
	pthread_mutex_unlock(&clients->lock);
}

struct egressfirewall_clients_counts egressfirewall_clients_counts(
	struct egressfirewall_clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	struct egressfirewall_clients_counts counts = { .clients = clients->table.by_ip.n,
							.tenants = clients->tenants.n,
							.firewalls = clients->n_firewalls };
	pthread_mutex_unlock(&clients->lock);
	return counts;
}

/* ---- references ---- */

struct egressfirewall_client *egressfirewall_client_ref(struct egressfirewall_client *client)
{
	atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&client->tenant->refs, 1, memory_order_relaxed);
	return client;
}

void egressfirewall_client_unref(struct egressfirewall_client *client)
{
	struct egressfirewall_tenant *tenant = client->tenant;
	unref_client(client);
	unref_tenant(tenant);
}

void egressfirewall_clients_free(struct egressfirewall_clients *clients)
{
	size_t pos = 0;
	const struct map_entry *entry;
	if (clients == NULL)
		return;
	struct rcutable_node *node = rcutable_walk(&clients->table.by_ip, &pos, NULL);
	while (node != NULL) {
		struct egressfirewall_client *client =
			CONTAINER_OF(node, struct egressfirewall_client, node);
		node = rcutable_walk(&clients->table.by_ip, &pos, node);
		unref_client(client);
	}
	if (clients->table.machine != NULL)
		egressfirewall_client_unref(clients->table.machine);
	pos = 0;
	while ((entry = map_next(&clients->tenants, &pos)) != NULL) {
		struct egressfirewall_tenant *tenant = entry->value;
		json_decref(tenant->firewall);
		unref_tenant(tenant);
	}
	rcutable_done(&clients->table.by_ip);
	map_done(&clients->tenants);
	vec_done(&clients->networks);
	pthread_mutex_destroy(&clients->lock);
	free(clients);
}
