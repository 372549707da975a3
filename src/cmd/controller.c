/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead controller`: runs controllers against the API of a kubeconfig, or of the pod's cluster.
 */
#include "cmd/controller.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/tree_memory.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/metrics/process.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"
#include "cmd/controllerconf.h"
#include "cmd/flags.h"
#include "cmd/up/up_check.h"
#include "controller/manager.h"
#include "kube/client/client.h"
#include "kube/client/config.h"

/* In place of a kubeconfig's path: the pod's service account, whatever the environment names. */
#define IN_CLUSTER "in-cluster"

/* ---- running ---- */

static struct kube_client *open_client(const char *file, const char *context, struct err_text err)
{
	struct kube_config *c;
	int r = file != NULL && strcmp(file, IN_CLUSTER) == 0
			? kube_config_in_cluster(NULL, &c, err)
			: kube_config_load(file, context, &c, err);
	return r < 0 ? NULL : kube_client_new(c);
}

/* Signals, by a thread that waits for them. */
struct stopper {
	struct manager *manager;
	sigset_t set;
	pthread_t thread;
};

static void *wait_signal(void *arg)
{
	struct stopper *s = arg;
	int sig = 0;
	/* SIGUSR1 is ours: there is nothing left to stop. */
	if (sigwait(&s->set, &sig) == 0 && sig != SIGUSR1) {
		log_info(NULL, "%s: stopping", sig == SIGTERM ? "SIGTERM" : "SIGINT");
		manager_stop(s->manager);
	}
	return NULL;
}

static int run_manager(struct manager *manager, const sigset_t *set)
{
	struct stopper s = { .manager = manager, .set = *set };
	if (pthread_create(&s.thread, NULL, wait_signal, &s) != 0) {
		manager_stop(manager);
		IGNORE(manager_run(manager));
		return EXIT_FAILED;
	}
	int r = manager_run(manager);
	pthread_kill(s.thread, SIGUSR1);
	pthread_join(s.thread, NULL);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}

/* All threads inherit it, so that only the one that waits gets a signal. */
static void block_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, ret, NULL);
}

static int start_manager(const struct controllerconf_flags *flags,
			 struct controllerconf *controllerconf, struct kube_client *client,
			 struct kube_client *leases)
{
	char err[700] = "";
	struct manager *m;
	sigset_t set;
	const char *ns =
		flags->ns != NULL ? flags->ns : kube_config_namespace(kube_client_config(leases));
	CLEANUP(freep) char *service = xasprintf("fairlead-webhooks.%s.svc", ns);
	struct manager_conf mc = { .client = client,
				   .lease_client = leases,
				   .controllers = controllerconf->chosen.v,
				   .n_controllers = controllerconf->chosen.n,
				   .writes = controllerconf->writes.v,
				   .rivals = controllerconf->rivals.v,
				   .ns = ns,
				   .no_election = flags->no_election,
				   .times = controllerconf->times,
				   .listen = flags->listen,
				   .options = &flags->options,
				   .check = up_check,
				   .webhooks = controllerconf->hooks.listen != NULL
						       ? &controllerconf->hooks
						       : NULL };
	controllerconf->hooks.client = client;
	controllerconf->hooks.secret_client = leases;
	controllerconf->hooks.ns = ns;
	if (controllerconf->names[0] == NULL)
		controllerconf->names[0] = service;
	block_signals(&set);
	log_info(NULL, "controllers of %s, namespace %s", kube_client_text(client), ns);
	if (leases != client)
		log_info(NULL, "leases in %s", kube_client_text(leases));
	if (manager_start(&mc, &m, ERR_TEXT(err)) < 0) {
		cmd_print_error("controller", "%s", err);
		return EXIT_FAILED;
	}
	if (flags->listen != NULL)
		log_info(NULL, "health and metrics on port %u", manager_port(m));
	if (controllerconf->hooks.listen != NULL)
		log_info(NULL, "web hooks on port %u", manager_webhook_port(m));
	return run_manager(m, &set);
}

static int run_controllers(const struct controllerconf_flags *flags,
			   struct controllerconf *controllerconf)
{
	char err[512] = "";
	struct kube_client *client = open_client(flags->kubeconfig, flags->context, ERR_TEXT(err));
	struct kube_client *leases = client;
	int status = EXIT_FAILED;
	if (client != NULL && flags->lease_kubeconfig != NULL)
		leases = open_client(flags->lease_kubeconfig, NULL, ERR_TEXT(err));
	if (client != NULL && leases != NULL)
		status = start_manager(flags, controllerconf, client, leases);
	else
		cmd_print_error("controller", "%s", err);
	if (leases != client)
		kube_client_free(leases);
	kube_client_free(client);
	return status;
}

/* ---- flags ---- */

static void print_controller(const struct controller *controller)
{
	struct controller_writes writes = controller_default_writes(controller);
	char rate[32];
	snprintf(rate, sizeof(rate), "%u:%u", writes.per_s,
		 writes.burst != 0 ? writes.burst : writes.per_s);
	printf("  %-16s %-8s %s%s\n", controller->name, rate, controller->help,
	       controller->by_name_only ? " (only by name)" : "");
}

static void print_help(const struct flag *flags, size_t count)
{
	printf("usage: fairlead controller --controllers NAME,... [FLAGS]\n\n"
	       "Runs controllers until SIGTERM or SIGINT. If several processes run the same\n"
	       "controllers, one is the leader and the others wait.\n\nflags:\n");
	flags_help(flags, count, stdout);
	printf("\ncontrollers, with their --write-rate:\n");
	for (size_t i = 0; controller_list[i] != NULL; i++)
		print_controller(controller_list[i]);
}

static int complain_usage(const char *why)
{
	return cmd_usage_error("controller", why);
}

enum { FLAGS_MAX = 64 };

/* All flags, in the order of --help. */
struct flag_table {
	struct flag v[FLAGS_MAX];
	size_t n;
};

static void add_flags(struct flag_table *table, const struct flag *rows, size_t count)
{
	assert(count <= FLAGS_MAX - table->n);
	memcpy(table->v + table->n, rows, count * sizeof(*rows));
	table->n += count;
}

static void add_cluster_flags(struct flag_table *table, struct controllerconf_flags *values)
{
	const struct flag rows[] = {
		FLAG_VALUE("controllers", &values->controllers, "NAME,...",
			   "controllers to run; * is all but those that run only by name, -NAME "
			   "leaves one of them out"),
		FLAG_VALUE("kubeconfig", &values->kubeconfig, "FILE",
			   "of the API server; default: $KUBECONFIG, ~/.kube/config, the pod's "
			   "service account"),
		FLAG_VALUE("context", &values->context, "NAME",
			   "context of the kubeconfig; default: the current one"),
		FLAG_VALUE("namespace", &values->ns, "NAME",
			   "namespace of leases and sources; default: that of the context of "
			   "--lease-kubeconfig, else of --kubeconfig"),
	};
	add_flags(table, rows, ARRAY_LEN(rows));
}

/* Leader election, health and metrics. */
static void add_process_flags(struct flag_table *table, struct controllerconf_flags *values)
{
	const struct flag rows[] = {
		FLAG_VALUE("lease-kubeconfig", &values->lease_kubeconfig, "FILE",
			   "cluster that holds the leases and the webhook Secret, or " IN_CLUSTER
			   ": the pod's own; default: that of --kubeconfig"),
		FLAG_VALUE("lease-duration", &values->duration, "TIME",
			   "time after which another process replaces a dead leader; default 15s"),
		FLAG_VALUE(
			"lease-renew", &values->renew, "TIME",
			"time after which a leader that cannot renew its lease stops; default 10s"),
		FLAG_VALUE("lease-retry", &values->retry, "TIME",
			   "time between two attempts to renew or acquire the lease; default 2s"),
		FLAG_VALUE("take-lease", &values->take_lease, "NAME[=[NAMESPACE/]LEASE],...",
			   "controllers that lead only while they hold the Lease of the program "
			   "that they replace, too; default: none"),
		FLAG_VALUE("heartbeat", &values->heartbeat, "TIME",
			   "time between two renewals of a controller's heartbeat Lease, where it "
			   "has one; default 30s"),
		FLAG_VALUE("write-rate", &values->write_rate, "NAME=RATE[:BURST],...",
			   "objects that a controller may write per second, Events included, and "
			   "at once after a pause (default: as RATE); 0: no limit; default: "
			   "listed below"),
		FLAG_VALUE("lookup-servers", &values->lookup_servers, "ADDR:PORT,...",
			   "DNS servers that controllers ask, 8 at most; default: those of "
			   "/etc/resolv.conf"),
		FLAG_SWITCH("no-election", &values->no_election,
			    "run without leader election, for a single process"),
		FLAG_VALUE("listen", &values->listen, "ADDR:PORT",
			   "address of /healthz, /readyz and /metrics; default: not served"),
	};
	add_flags(table, rows, ARRAY_LEN(rows));
}

static void add_webhook_flags(struct flag_table *table, struct controllerconf_flags *values)
{
	const struct flag rows[] = {
		FLAG_VALUE("webhook-listen", &values->hook_listen, "ADDR:PORT",
			   "address of the admission webhooks (HTTPS); default: not served"),
		FLAG_VALUE(
			"webhook-cert", &values->hook_cert, "FILE",
			"certificate of the webhooks, reloaded when it changes; default: managed "
			"by the program"),
		FLAG_VALUE("webhook-key", &values->hook_key, "FILE", "key of that certificate"),
		FLAG_VALUE("webhook-names", &values->hook_names, "NAME,...",
			   "names and addresses of managed certificates; default "
			   "fairlead-webhooks.NAMESPACE.svc"),
		FLAG_VALUE("webhook-secret", &values->hook_secret, "NAME",
			   "Secret of managed certificates; default fairlead-webhooks"),
		FLAG_VALUE("webhook-registration", &values->hook_registration, "NAME",
			   "webhook configurations whose caBundle is kept up to date; default "
			   "fairlead"),
		FLAG_VALUE("webhook-ca-life", &values->ca_life, "TIME",
			   "lifetime of a managed CA; default 8760h"),
		FLAG_VALUE("webhook-cert-life", &values->cert_life, "TIME",
			   "lifetime of a managed certificate; default 2160h"),
		FLAG_VALUE("webhook-overlap", &values->overlap, "TIME",
			   "time for which a CA is trusted before and after its use; default 10m"),
		FLAG_VALUE("webhook-look", &values->check_interval, "TIME",
			   "time between two checks of the files or the Secret; default 10s"),
	};
	add_flags(table, rows, ARRAY_LEN(rows));
}

/* Flags of dnsoperator and poddns, and of the log. */
static void add_operator_flags(struct flag_table *table, struct controllerconf_flags *values)
{
	const struct flag rows[] = {
		FLAG_VALUE("platform", &values->options.platform, "NAME",
			   "kubernetes, openshift, microshift, gardener or auto (detect); default "
			   "auto"),
		FLAG_VALUE("feature-gates", &values->options.feature_gates, "NAME=true|false,...",
			   "overrides the cluster's own feature gates"),
		FLAG_VALUE("dns-instances", &values->dns_instances, "ADDR:PORT,...",
			   "DNS servers whose Corefile dnsoperator checks, and that egressfirewall "
			   "polls; default: the pods of the platform"),
		FLAG_VALUE(
			"dns-ask", &values->dns_ask, "WAY",
			"how it reaches pods: dns, proxy (through the API server) or auto: proxy "
			"with --lease-kubeconfig and without --dns-instances; default auto"),
		FLAG_VALUE("dns-reload-time", &values->dns_reload, "TIME",
			   "time within which DNS servers load a new Corefile; default 3m"),
		FLAG_VALUE("dns-settle-time", &values->dns_settle, "TIME",
			   "shortest time for which Progressing and Degraded stay False; default "
			   "40s"),
		FLAG_VALUE("dns-cluster-domain", &values->options.dns_cluster_domain, "DOMAIN",
			   "cluster domain, on platform kubernetes; default: the one in the "
			   "current Corefile"),
		FLAG_VALUE("dns-operands", &values->options.dns_operands, "WHEN",
			   "apply the operands (deploy/operands): true, false or auto (on "
			   "OpenShift); default auto"),
		FLAG_VALUE("dns-image", &values->options.dns_image, "IMAGE",
			   "image of the DNS servers; default: $IMAGE"),
		FLAG_VALUE("dns-cli-image", &values->options.dns_cli_image, "IMAGE",
			   "image of node-resolver; default: $OPENSHIFT_CLI_IMAGE"),
		FLAG_VALUE("dns-proxy-image", &values->options.dns_proxy_image, "IMAGE",
			   "image of the proxy for metrics; default: $KUBE_RBAC_PROXY_IMAGE"),
		FLAG_VALUE("dns-config-source", &values->options.dns_config_source, "HOW",
			   "how servers read the Corefile: file, or api (immediately; not for "
			   "CoreDNS); default file"),
		FLAG_VALUE("pod-dns-servers", &values->pod_dns_servers, "IP,...",
			   "name servers that poddns writes into pods; default: the cluster's DNS "
			   "Service"),
		FLAG_VALUE("dnsrecord-types", &values->options.dnsrecord_types, "TYPE,...",
			   "types of DNSRecords that dnsrecord serves; default: all it has"),
		FLAG_VALUE("dnsrecord-classes", &values->options.dnsrecord_classes, "CLASS,...",
			   "classes that it serves: garden, seed, shoot; default shoot"),
		FLAG_VALUE("dnsrecord-ownership", &values->options.dnsrecord_ownership, "MODE",
			   "protect: record sets of others stay; drop-in: they are overwritten; "
			   "default protect"),
		FLAG_VALUE("dnsrecord-probe", &values->dnsrecord_probe, "TIME",
			   "time between two lookups of a published name; 0: none; default 10m"),
		FLAG_VALUE(
			"dnsrecord-serials", &values->dnsrecord_serials, "TIME",
			"time between two questions for the serial of a zone, by which changes of "
			"other writers are found; 0: none; default 0"),
		FLAG_VALUE(
			"dnsrecord-notify", &values->dnsrecord_notify, "ADDR:PORT",
			"where name servers send NOTIFY (RFC 1996), upon which the serial of the "
			"zone is read at once; default: nowhere"),
		FLAG_SWITCH("dnsrecord-by-generation", &values->options.dnsrecord_by_generation,
			    "on Gardener, too, a change of the spec is enough"),
		FLAG_SWITCH("dnsrecord-dry-run", &values->options.dnsrecord_dry_run,
			    "only write to status.providerStatus what would change"),
		FLAG_VALUE("log-format", &values->log_format, "FORMAT",
			   "text or json; default text"),
	};
	add_flags(table, rows, ARRAY_LEN(rows));
}

/* The index of the first argument, or as flags_parse; -2 after the help was printed. */
static int parse_flags(struct controllerconf_flags *values, int argc, char **argv,
		       struct err_text why)
{
	struct flag_table table = { .n = 0 };
	add_cluster_flags(&table, values);
	add_process_flags(&table, values);
	add_webhook_flags(&table, values);
	add_operator_flags(&table, values);
	cmd_find_log_format(argc, argv);
	int at = flags_parse(table.v, table.n, argc, argv, why);
	if (at == -2)
		print_help(table.v, table.n);
	return at;
}

/* Most memory is that of the watches' objects, which live long. The threads' short-lived memory is best
 * kept in few arenas: each one keeps what its busiest moment needed. The tables of large stores are
 * mapped on their own, whatever was freed before, so that the old table is unmapped when one grows. */
static void limit_malloc(void)
{
	enum { ARENAS_MAX = 2, MAPPED_BYTES_MIN = 128 * 1024 };
	mallopt(M_ARENA_MAX, ARENAS_MAX);
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES_MIN);
}

int cmd_controller(int argc, char **argv)
{
	struct controllerconf_flags f = { .log_format = "text",
					  .dns_ask = "auto",
					  .hook_secret = "fairlead-webhooks",
					  .hook_registration = "fairlead" };
	struct controllerconf c = { 0 }; /* which the flags come to point into */
	char why[512] = "";
	int status, at = parse_flags(&f, argc, argv, ERR_TEXT(why));
	if (at < 0)
		return at == -2 ? EXIT_DONE : complain_usage(why);
	if (at < argc)
		return complain_usage("takes no arguments");
	if (!cmd_set_log_format(f.log_format))
		return complain_usage("--log-format is text or json");
	if (controllerconf_read(&f, &c, ERR_TEXT(why)) < 0) {
		status = complain_usage(why);
	} else {
		metrics_init(0);
		metrics_add_process_collector();
		limit_malloc();
		api_tree_memory_keep();
		status = run_controllers(&f, &c);
	}
	controllerconf_done(&c);
	return status;
}
