/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Users, cgroups and network namespaces of this machine. Addresses inside of a network namespace are read by a
 * thread that enters it and ends there. */
#include "node/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/egress/name.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define AREA	   "node"
#define CGROUPS	   "/sys/fs/cgroup/"
#define NAMESPACES "/run/netns/"

enum { USER_BYTES = 4096 };

/* The policy is built every few seconds. */
static struct log_limit missing_log = { .interval_ns = 60 * NS_PER_S };

struct collected {
	VEC(struct nftables_owner) owners;
	VEC(struct nftables_pod) pods;
};

static void log_missing(const char *ns, const char *annotation, const char *value, const char *why)
{
	log_limited(&missing_log, LOG_WARNING, AREA,
		    "Namespace %s: %s is '%s', which is not here: %s; its firewall does not apply "
		    "to it",
		    ns, annotation, value, why);
}

/* No way out of the folder. */
static bool is_path_below(const char *path)
{
	return path[0] != '/' && path[0] != '\0' && strstr(path, "..") == NULL;
}

/* ---- users and cgroups ---- */

static bool find_user(const char *value, uint64_t *ret)
{
	struct passwd user, *found = NULL;
	char buf[USER_BYTES];
	if (slice_u64(slice_of(value), ret) == 0)
		return *ret < UINT32_MAX;
	if (getpwnam_r(value, &user, buf, sizeof(buf), &found) != 0 || found == NULL)
		return false;
	*ret = user.pw_uid;
	return true;
}

static void add_user(struct collected *collected, const char *ns, const char *value)
{
	struct nftables_owner owner = { .namespace_name = ns };
	if (find_user(value, &owner.id))
		vec_push(&collected->owners, owner);
	else
		log_missing(ns, EGRESS_UID_ANNOTATION, value, "no such user");
}

/* The kernel's id of a cgroup is the number of its folder. */
static void add_cgroup(struct collected *collected, const char *ns, const char *value)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct nftables_owner owner = { .is_cgroup = true, .namespace_name = ns };
	struct stat st;
	strbuf_addf(&path, CGROUPS "%s", value);
	if (!is_path_below(value) || stat(path.s, &st) < 0) {
		log_missing(ns, EGRESS_CGROUP_ANNOTATION, value, "no such cgroup");
		return;
	}
	owner.id = st.st_ino;
	for (struct slice rest = slice_of(value); rest.n != 0;)
		owner.level += slice_cut(&rest, '/').n != 0;
	vec_push(&collected->owners, owner);
}

/* ---- network namespaces ---- */

struct visit {
	struct collected *collected;
	const char *ns;
	int fd, result;
};

static void add_interface(const struct visit *visit, const struct ifaddrs *one)
{
	struct nftables_pod pod = { .namespace_name = visit->ns };
	if (one->ifa_addr == NULL || (one->ifa_flags & IFF_LOOPBACK) != 0)
		return;
	if (one->ifa_addr->sa_family == AF_INET) {
		pod.address.n = 4;
		memcpy(pod.address.bytes,
		       &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr, 4);
	} else if (one->ifa_addr->sa_family == AF_INET6) {
		pod.address.n = 16;
		memcpy(pod.address.bytes,
		       &((const struct sockaddr_in6 *)(const void *)one->ifa_addr)->sin6_addr, 16);
	} else {
		return;
	}
	vec_push(&visit->collected->pods, pod);
}

static void *read_addresses(void *arg)
{
	struct visit *visit = arg;
	struct ifaddrs *list = NULL;
	if (setns(visit->fd, CLONE_NEWNET) < 0 || getifaddrs(&list) < 0) {
		visit->result = -errno;
		return NULL;
	}
	for (const struct ifaddrs *one = list; one != NULL; one = one->ifa_next)
		add_interface(visit, one);
	freeifaddrs(list);
	return NULL;
}

static void add_network(struct collected *collected, const char *ns, const char *value)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct visit visit = { .collected = collected, .ns = ns, .fd = -1, .result = -EINVAL };
	pthread_t thread;
	strbuf_addf(&path, NAMESPACES "%s", value);
	if (is_path_below(value)) {
		visit.fd = open(path.s, O_RDONLY | O_CLOEXEC);
		visit.result = visit.fd < 0 ? -errno : 0;
	}
	if (visit.result == 0)
		visit.result = -pthread_create(&thread, NULL, read_addresses, &visit);
	if (visit.result == 0)
		pthread_join(thread, NULL);
	if (visit.result < 0)
		log_missing(ns, EGRESS_NETNS_ANNOTATION, value, err_str(visit.result));
	if (visit.fd >= 0)
		close(visit.fd);
}

/* ---- all of them ---- */

static const struct {
	const char *annotation;
	void (*add)(struct collected *collected, const char *ns, const char *value);
} kinds[] = {
	{ EGRESS_UID_ANNOTATION, add_user },
	{ EGRESS_CGROUP_ANNOTATION, add_cgroup },
	{ EGRESS_NETNS_ANNOTATION, add_network },
};

static bool has_firewall(const struct nftables_policy *policy, const char *ns)
{
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		if (strcmp(policy->namespaces[i].name, ns) == 0)
			return true;
	}
	return false;
}

static bool has_address(const struct collected *collected, const struct nftables_pod *pod)
{
	for (size_t i = 0; i < collected->pods.n; i++) {
		if (memcmp(&collected->pods.v[i].address, &pod->address, sizeof(pod->address)) == 0)
			return true;
	}
	return false;
}

void node_machine_add(const json_t *const *namespaces, size_t n, struct arena *arena,
		      struct nftables_policy *policy)
{
	struct collected collected = { 0 };
	for (size_t i = 0; i < n; i++) {
		const char *ns = api_name(namespaces[i]);
		const json_t *annotations = api_get(namespaces[i], "metadata.annotations");
		for (size_t k = 0; k < ARRAY_LEN(kinds) && has_firewall(policy, ns); k++) {
			const char *value =
				api_text(json_object_get(annotations, kinds[k].annotation));
			if (value[0] != '\0')
				kinds[k].add(&collected, ns, value);
		}
	}
	for (size_t i = 0; i < policy->n_pods; i++) {
		if (!has_address(&collected, &policy->pods[i]))
			vec_push(&collected.pods, policy->pods[i]);
	}
	policy->owners = arena_memdup(arena, collected.owners.v,
				      collected.owners.n * sizeof(*collected.owners.v));
	policy->n_owners = collected.owners.n;
	policy->pods =
		arena_memdup(arena, collected.pods.v, collected.pods.n * sizeof(*collected.pods.v));
	policy->n_pods = collected.pods.n;
	vec_done(&collected.owners);
	vec_done(&collected.pods);
}
