/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Users, cgroups and network namespaces of this machine. Addresses inside of a network namespace are read by a
 * thread that enters it and ends there. */
#include "node/machine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/egress/name.h"
#include "api/egress/node_report.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "net/sock.h"
#include "node/cgroup.h"
#include "node/target_watch.h"

#define AREA	   "node"
#define NAMESPACES "/run/netns/"
#define USERS	   "/etc/passwd"
#define PREFIX	   "egress.fairlead.dev/"
#define WARN_NS	   (60 * NS_PER_S)

enum { USER_BYTES = 4096, USER_BYTES_MAX = 1 << 20, NAME_SERVERS_MAX = 16 };

/* What an annotation of a Namespace names, from one pass to the next. */
struct target {
	char *value;
	struct log_limit limit; /* of warnings */
	/* What was found last. */
	bool has_user;
	uint64_t user;
	struct node_cgroup cgroup; /* level 0: none */
	node_addresses addresses;  /* of a network namespace */
	bool is_used;		   /* in this pass */
};

struct node_machine {
	struct node_machine_conf conf;
	struct map targets; /* "namespace annotation": struct target, owned */
	struct node_target_watch *watch;
	struct net_cidr name_servers[NAME_SERVERS_MAX]; /* that were found last */
	size_t n_name_servers;
	struct strbuf clients; /* lines */
	bool clients_are_full; /* logged */
};

/* Of one pass. */
struct collected {
	struct node_machine *machine;
	struct arena *arena;
	VEC(struct nftables_owner) owners;
	VEC(struct nftables_pod) pods;
	VEC(struct node_problem) problems;
};

/* ---- targets and problems ---- */

static void free_target(struct target *target)
{
	if (target == NULL)
		return;
	vec_done(&target->addresses);
	free(target->value);
	free(target);
}

/* Another value is another target. */
static struct target *use_target(struct node_machine *machine, const char *ns,
				 const char *annotation, const char *value)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	strbuf_addf(&key, "%s %s", ns, annotation);
	struct target *target = map_get(&machine->targets, strbuf_slice(&key));
	if (target == NULL || strcmp(target->value, value) != 0) {
		free_target(target);
		target = xcalloc(1, sizeof(*target));
		target->value = xstrdup(value);
		target->limit.interval_ns = WARN_NS;
		map_set(&machine->targets, strbuf_slice(&key), target);
	}
	target->is_used = true;
	return target;
}

static void forget_unused(struct node_machine *machine)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&machine->targets, &pos)) != NULL) {
		struct target *target = entry->value;
		if (!target->is_used)
			free_target(map_del(&machine->targets,
					    (struct slice){ entry->key, entry->key_n }));
		else
			target->is_used = false;
	}
}

/* The first one of a namespace is reported, all are logged. */
static void add_problem(struct collected *collected, struct target *target,
			struct node_problem problem)
{
	bool is_new = true;
	log_limited(&target->limit, LOG_WARNING, AREA,
		    "Namespace %s: %s; its EgressFirewall does not apply there", problem.ns,
		    problem.message);
	for (size_t i = 0; i < collected->problems.n; i++)
		is_new &= strcmp(collected->problems.v[i].ns, problem.ns) != 0;
	if (is_new)
		vec_push(&collected->problems, problem);
}

/* No way out of the folder. */
static bool is_path_below(const char *path)
{
	return path[0] != '/' && path[0] != '\0' && strstr(path, "..") == NULL;
}

/* A failure to read a target says nothing about it. What was found before stays: without it, connections that rules deny
 * would be open. */
static void log_kept(struct target *target, const char *ns, const char *why)
{
	log_limited(&target->limit, LOG_WARNING, AREA,
		    "Namespace %s: '%s': %s; what was found before stays", ns, target->value, why);
}

/* ---- users and cgroups ---- */

/* Without a free descriptor the sources of users are passed over, and the last one may say that there is none. */
static int confirm_no_user(void)
{
	int fd = open(USERS, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return -ENOENT;
}

static int look_up_user(const char *name, uint64_t *ret)
{
	struct passwd user, *found = NULL;
	int r = ERANGE;
	for (size_t n = USER_BYTES; r == ERANGE && n <= USER_BYTES_MAX; n *= 4) {
		CLEANUP(freep) char *buf = xmalloc(n);
		r = getpwnam_r(name, &user, buf, n, &found);
	}
	if (r == ESRCH || (r == 0 && found == NULL))
		return confirm_no_user();
	if (r == 0)
		*ret = user.pw_uid;
	return -r;
}

static const char *add_user(struct collected *collected, struct target *target, const char *ns)
{
	struct nftables_owner owner = { .namespace_name = ns };
	int r = slice_u64(slice_of(target->value), &owner.id);
	if (r == 0 && owner.id >= UINT32_MAX)
		return "no such user";
	if (r < 0) {
		r = collected->machine->conf.find_user(target->value, &owner.id);
		if (r == 0) {
			target->user = owner.id;
			target->has_user = true;
		}
		if (r == -ENOENT) {
			target->has_user = false;
			return "no such user";
		}
	}
	if (r < 0) {
		const char *why = arena_printf(collected->arena,
					       "this user cannot be looked up: %s", err_str(r));
		if (!target->has_user)
			return why;
		owner.id = target->user;
		log_kept(target, ns, why);
	}
	vec_push(&collected->owners, owner);
	return NULL;
}

static const char *add_cgroup(struct collected *collected, struct target *target, const char *ns)
{
	CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
	struct node_cgroup cgroup = { 0 };
	if (node_cgroup_folder(NULL, target->value, &folder))
		node_target_watch_add(collected->machine->watch, folder.s);
	const char *why = collected->machine->conf.find_cgroup(NULL, target->value, &cgroup);
	if (why == NULL || !cgroup.is_unknown)
		target->cgroup = cgroup;
	if (target->cgroup.level == 0)
		return why;
	if (why != NULL)
		log_kept(target, ns, why);
	vec_push(&collected->owners, (struct nftables_owner){ .is_cgroup = true,
							      .id = target->cgroup.id,
							      .level = target->cgroup.level,
							      .namespace_name = ns });
	return NULL;
}

/* ---- network namespaces ---- */

struct visit {
	int fd, result;
	bool wants_socket;
	struct node_network *network;
};

static void add_interface(struct node_network *network, const struct ifaddrs *one)
{
	struct addrset_address address = { 0 };
	if (one->ifa_addr == NULL || (one->ifa_flags & IFF_LOOPBACK) != 0)
		return;
	if (one->ifa_addr->sa_family == AF_INET) {
		address.n = 4;
		memcpy(address.bytes,
		       &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr, 4);
	} else if (one->ifa_addr->sa_family == AF_INET6) {
		address.n = 16;
		memcpy(address.bytes,
		       &((const struct sockaddr_in6 *)(const void *)one->ifa_addr)->sin6_addr, 16);
	} else {
		return;
	}
	vec_push(&network->addresses, address);
}

static void *read_addresses(void *arg)
{
	struct visit *visit = arg;
	struct ifaddrs *list = NULL;
	if (setns(visit->fd, CLONE_NEWNET) < 0) {
		visit->result = -errno;
		return NULL;
	}
	/* First: no change goes by between the reading and it. Without one a change is noticed later. */
	if (visit->wants_socket)
		visit->network->socket = node_target_watch_open_socket();
	if (getifaddrs(&list) < 0) {
		visit->result = errno == EINVAL ? -EIO : -errno; /* it is a network namespace */
		return NULL;
	}
	for (const struct ifaddrs *one = list; one != NULL; one = one->ifa_next)
		add_interface(visit->network, one);
	freeifaddrs(list);
	return NULL;
}

static int read_network(const char *path, bool wants_socket, struct node_network *ret)
{
	struct visit visit = { .wants_socket = wants_socket, .network = ret };
	pthread_t thread;
	visit.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (visit.fd < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	int r = -pthread_create(&thread, NULL, read_addresses, &visit);
	if (r == 0)
		pthread_join(thread, NULL);
	close(visit.fd);
	return r < 0 ? r : visit.result;
}

static const char *explain_network(struct arena *arena, int result)
{
	if (result == 0)
		return "this network namespace has no address";
	if (result == -EINVAL)
		return "this file is no network namespace here (is the mount visible to the "
		       "program?)";
	return arena_printf(arena,
			    result == -ENOENT ? "no such network namespace: %s"
					      : "this network namespace cannot be read: %s",
			    err_str(result));
}

static const char *add_network(struct collected *collected, struct target *target, const char *ns)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct node_machine *machine = collected->machine;
	struct node_network found = { .socket = -1 };
	if (!is_path_below(target->value))
		return "no such network namespace: this is no name in the folder";
	strbuf_addf(&path, "%s%s", machine->conf.networks, target->value);
	node_target_watch_add(machine->watch, path.s);
	int r = machine->conf.read_network(
		path.s, node_target_watch_needs_socket(machine->watch, path.s), &found);
	if (found.socket >= 0)
		node_target_watch_set_socket(machine->watch, path.s, found.socket);
	bool is_unknown = r < 0 && r != -ENOENT && r != -EINVAL;
	if (!is_unknown) {
		vec_done(&target->addresses);
		target->addresses = found.addresses;
	} else {
		vec_done(&found.addresses);
	}
	for (size_t i = 0; i < target->addresses.n; i++)
		vec_push(&collected->pods, (struct nftables_pod){ target->addresses.v[i], ns });
	if (target->addresses.n == 0)
		return explain_network(collected->arena, r);
	if (is_unknown)
		log_kept(target, ns, explain_network(collected->arena, r));
	return NULL;
}

/* ---- all of them ---- */

/* Returns why the target is not there, from the arena or static; NULL: it was added. */
static const struct {
	const char *annotation;
	const char *(*add)(struct collected *collected, struct target *target, const char *ns);
} kinds[] = {
	{ EGRESS_UID_ANNOTATION, add_user },
	{ EGRESS_CGROUP_ANNOTATION, add_cgroup },
	{ EGRESS_NETNS_ANNOTATION, add_network },
};

static bool is_known(const char *annotation)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(annotation, kinds[i].annotation) == 0)
			return true;
	}
	return false;
}

static bool add_targets(struct collected *collected, const char *ns, const json_t *annotations)
{
	bool is_any = false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *annotation = kinds[i].annotation;
		const json_t *value = json_object_get(annotations, annotation);
		if (value == NULL)
			continue;
		is_any = true;
		struct target *target =
			use_target(collected->machine, ns, annotation, api_text(value));
		const char *why = kinds[i].add(collected, target, ns);
		if (why != NULL)
			add_problem(collected, target,
				    (struct node_problem){
					    ns, EGRESS_REPORT_TARGET_MISSING,
					    arena_printf(collected->arena, "%s is '%s': %s",
							 annotation, target->value, why) });
	}
	return is_any;
}

static bool report_unknown(struct collected *collected, const char *ns, const json_t *annotations)
{
	const char *annotation;
	const json_t *value;
	bool is_any = false;
	/* The object is only read; jansson's macro wants it writable. */
	json_object_foreach ((json_t *)(uintptr_t)annotations, annotation, value) {
		if (strncmp(annotation, PREFIX, strlen(PREFIX)) != 0 || is_known(annotation))
			continue;
		is_any = true;
		add_problem(collected, use_target(collected->machine, ns, annotation, ""),
			    (struct node_problem){
				    ns, EGRESS_REPORT_UNKNOWN_ANNOTATION,
				    arena_printf(collected->arena,
						 "%s is no annotation of a Namespace; there are "
						 "uid, cgroup and netns",
						 annotation) });
	}
	return is_any;
}

static void add_namespace(struct collected *collected, const char *ns, const json_t *annotations)
{
	bool is_any = add_targets(collected, ns, annotations);
	is_any |= report_unknown(collected, ns, annotations);
	if (!is_any)
		add_problem(collected, use_target(collected->machine, ns, "", ""),
			    (struct node_problem){
				    ns, EGRESS_REPORT_NOTHING_NAMED,
				    "no annotation of the Namespace names a user, a cgroup or a "
				    "network namespace (" PREFIX "uid, cgroup, netns)" });
}

static const json_t *find_annotations(struct node_objects namespaces, const char *ns)
{
	for (size_t i = 0; i < namespaces.n; i++) {
		if (strcmp(api_name(namespaces.v[i]), ns) == 0)
			return api_get(namespaces.v[i], "metadata.annotations");
	}
	return NULL;
}

static bool has_address(const struct collected *collected, const struct nftables_pod *pod)
{
	for (size_t i = 0; i < collected->pods.n; i++) {
		if (memcmp(&collected->pods.v[i].address, &pod->address, sizeof(pod->address)) == 0)
			return true;
	}
	return false;
}

static void keep_collected(struct collected *collected, struct nftables_policy *policy,
			   struct node_problems *ret)
{
	struct arena *arena = collected->arena;
	policy->owners = arena_memdup(arena, collected->owners.v,
				      collected->owners.n * sizeof(*collected->owners.v));
	policy->n_owners = collected->owners.n;
	policy->pods = arena_memdup(arena, collected->pods.v,
				    collected->pods.n * sizeof(*collected->pods.v));
	policy->n_pods = collected->pods.n;
	ret->v = arena_memdup(arena, collected->problems.v,
			      collected->problems.n * sizeof(*collected->problems.v));
	ret->n = collected->problems.n;
	vec_done(&collected->owners);
	vec_done(&collected->pods);
	vec_done(&collected->problems);
}

/* ---- name servers ---- */

/* A file that is empty or gone for a moment, since somebody writes it, leaves those of before open. */
static void add_name_servers(struct node_machine *machine, struct arena *arena,
			     struct nftables_policy *policy)
{
	struct net_cidr found[NAME_SERVERS_MAX];
	if (machine->conf.resolv_conf == NULL)
		return;
	node_target_watch_add(machine->watch, machine->conf.resolv_conf);
	size_t n =
		machine->conf.read_name_servers(machine->conf.resolv_conf, found, ARRAY_LEN(found));
	if (n != 0) {
		memcpy(machine->name_servers, found, n * sizeof(*found));
		machine->n_name_servers = n;
	}
	policy->name_servers = arena_memdup(arena, machine->name_servers,
					    machine->n_name_servers * sizeof(*found));
	policy->n_name_servers = machine->n_name_servers;
}

/* fe80::/10: each interface has one, which says nothing on another link, where it may be somebody else's. */
static bool is_link_local(const struct addrset_address *address)
{
	return address->n == 16 && address->bytes[0] == 0xfe && (address->bytes[1] & 0xc0) == 0x80;
}

static bool add_client(struct strbuf *clients, const struct nftables_pod *pod)
{
	char text[INET6_ADDRSTRLEN];
	if (is_link_local(&pod->address))
		return true;
	inet_ntop(pod->address.n == 4 ? AF_INET : AF_INET6, pod->address.bytes, text, sizeof(text));
	return egress_report_add_client(clients, pod->namespace_name, text);
}

/* Those past the limit are judged all the same; answers to them are not held. */
static void list_clients(struct node_machine *machine, const struct collected *collected)
{
	size_t n = 0;
	strbuf_reset(&machine->clients);
	while (n < collected->pods.n && add_client(&machine->clients, &collected->pods.v[n]))
		n++;
	bool is_full = n < collected->pods.n;
	if (is_full && !machine->clients_are_full)
		log_warn(AREA,
			 "%zu of %zu addresses of network namespaces do not fit into the report "
			 "(%d bytes): rules apply to them, and DNS answers to them are not held",
			 collected->pods.n - n, collected->pods.n, EGRESS_REPORT_CLIENTS_BYTES);
	machine->clients_are_full = is_full;
}

void node_machine_add(struct node_machine *machine, struct node_objects namespaces,
		      struct arena *arena, struct nftables_policy *policy,
		      struct node_problems *ret)
{
	struct collected collected = { .machine = machine, .arena = arena };
	policy->spares_own_addresses = true;
	policy->own_mark = NET_SOCK_OWN_MARK;
	policy->own_user = geteuid(); /* `fairlead up` has started it */
	node_target_watch_begin(machine->watch);
	add_name_servers(machine, arena, policy);
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		const char *ns = policy->namespaces[i].name;
		add_namespace(&collected, ns, find_annotations(namespaces, ns));
	}
	forget_unused(machine);
	node_target_watch_end(machine->watch);
	list_clients(machine, &collected);
	for (size_t i = 0; i < policy->n_pods; i++) {
		if (!has_address(&collected, &policy->pods[i]))
			vec_push(&collected.pods, policy->pods[i]);
	}
	keep_collected(&collected, policy, ret);
}

struct slice node_machine_clients(const struct node_machine *machine)
{
	return strbuf_slice(&machine->clients);
}

bool node_machine_has_changed(struct node_machine *machine)
{
	return node_target_watch_has_changed(machine->watch);
}

struct node_machine *node_machine_new(const struct node_machine_conf *conf)
{
	struct node_machine *machine = xcalloc(1, sizeof(*machine));
	machine->conf = *conf;
	if (conf->find_user == NULL)
		machine->conf.find_user = look_up_user;
	if (conf->find_cgroup == NULL)
		machine->conf.find_cgroup = node_cgroup_find;
	if (conf->read_network == NULL)
		machine->conf.read_network = read_network;
	if (conf->networks == NULL)
		machine->conf.networks = NAMESPACES;
	map_init(&machine->targets);
	machine->watch = node_target_watch_new();
	strbuf_init(&machine->clients);
	return machine;
}

void node_machine_free(struct node_machine *machine)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (machine == NULL)
		return;
	while ((entry = map_next(&machine->targets, &pos)) != NULL)
		free_target(entry->value);
	map_done(&machine->targets);
	node_target_watch_free(machine->watch);
	strbuf_done(&machine->clients);
	free(machine);
}
