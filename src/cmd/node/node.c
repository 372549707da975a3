/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead node`: the agent of a node, until a signal ends it. The rules stay in force then. */
#include "cmd/node/node.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/metrics/metrics.h"
#include "base/metrics/process.h"
#include "base/slice.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"
#include "cmd/flags.h"
#include "cmd/kubecli.h"
#include "cmd/name_servers.h"
#include "cmd/node/metrics_page.h"
#include "cmd/node/probe.h"
#include "cmd/node/remove.h"
#include "http/server.h"
#include "kube/client/config.h"
#include "net/tls.h"
#include "node/agent.h"
#include "node/machine.h"

#define SOCKET_DIR  "/run/fairlead"
#define SOCKET_PATH SOCKET_DIR "/egress.sock"

enum { NAME_MAX_BYTES = 253, RANGES_MAX = 256 };

struct node_flags {
	struct kubecli cli;
	const char *name, *socket, *socket_group, *listen, *cert, *key, *ca, *pod_ranges,
		*always_open, *log_group;
	const char *log_format, *report_ns, *data_path, *metrics;
	bool remove, probe, alive, machine;
};

struct node_run {
	struct node_flags flags;
	char host[NAME_MAX_BYTES + 1];
	union net_addr addr;
	struct node_agent_conf conf;
};

/* ---- flags ---- */

typedef VEC(struct net_cidr) range_list;

static int read_ranges(const char *flag, const char *text, struct net_cidr **ret, size_t *ret_n)
{
	range_list list = { 0 };
	for (struct slice rest = slice_of(text); rest.n != 0;) {
		struct slice word = slice_trim(slice_cut(&rest, ','));
		struct net_cidr range;
		if (net_cidr_parse(word, &range) < 0 || list.n == RANGES_MAX) {
			cmd_print_error("node", "--%s: '%.*s' is no range of addresses", flag,
					(int)word.n, word.p);
			vec_done(&list);
			return EXIT_USAGE;
		}
		vec_push(&list, range);
	}
	*ret = list.v;
	*ret_n = list.n;
	return EXIT_DONE;
}

/* The kubelet's default: the host's name in lower case. */
static int choose_name(struct node_run *run)
{
	const char *given = run->flags.name != NULL ? run->flags.name : getenv("NODE_NAME");
	if (given == NULL && gethostname(run->host, sizeof(run->host) - 1) == 0) {
		for (char *at = run->host; *at != '\0'; at++)
			*at = ascii_lower(*at);
		given = run->host;
	}
	if (given == NULL || !api_is_subdomain_name(given)) {
		cmd_print_error("node", "--name: '%s' is no name of a node",
				given != NULL ? given : "");
		return EXIT_USAGE;
	}
	run->conf.node_name = given;
	return EXIT_DONE;
}

static int read_log_group(struct node_run *run)
{
	uint64_t group = 0;
	const char *text = run->flags.log_group;
	if (text != NULL && (slice_u64(slice_of(text), &group) < 0 || group > UINT16_MAX)) {
		cmd_print_error("node", "--log-group: '%s' is no number from 0 to 65535", text);
		return EXIT_USAGE;
	}
	run->conf.log_group = (uint16_t)group;
	return EXIT_DONE;
}

static int read_socket_group(struct node_run *run)
{
	uint64_t group = 0;
	const char *text = run->flags.socket_group;
	if (text == NULL)
		return EXIT_DONE;
	if (slice_u64(slice_of(text), &group) < 0 || group >= UINT32_MAX) {
		cmd_print_error("node", "--socket-group: '%s' is no number of a group", text);
		return EXIT_USAGE;
	}
	run->conf.has_socket_group = true;
	run->conf.socket_group = (gid_t)group;
	return EXIT_DONE;
}

/* Nobody but DNS servers may ask: the authority signs certificates for these alone. */
static int open_tls(struct node_run *run)
{
	const struct node_flags *flags = &run->flags;
	bool has_files = flags->cert != NULL || flags->key != NULL || flags->ca != NULL;
	if (flags->listen == NULL && !has_files)
		return EXIT_DONE;
	if (flags->listen == NULL || flags->cert == NULL || flags->key == NULL ||
	    flags->ca == NULL) {
		cmd_print_error("node", "--listen, --tls-cert, --tls-key and --tls-ca belong "
					"together: servers on other nodes are known by their "
					"certificates");
		return EXIT_USAGE;
	}
	if (net_addr_parse(slice_of(flags->listen), &run->addr) < 0) {
		cmd_print_error("node", "--listen: '%s' is not ADDRESS:PORT", flags->listen);
		return EXIT_USAGE;
	}
	run->conf.tls = (struct net_tls_files){ .cert = flags->cert,
						.key = flags->key,
						.ca = flags->ca,
						.auth = NET_TLS_REQUIRE_AND_VERIFY };
	run->conf.addr = &run->addr;
	return EXIT_DONE;
}

static int check_metrics(const char *text)
{
	union net_addr addr;
	if (text == NULL || http_server_address(slice_of(text), &addr) == 0)
		return EXIT_DONE;
	cmd_print_error("node", "--metrics: '%s' is not ADDRESS:PORT", text);
	return EXIT_USAGE;
}

static int read_flags(struct node_run *run)
{
	struct node_agent_conf *conf = &run->conf;
	struct net_cidr *pods = NULL, *open = NULL;
	int status = choose_name(run);
	if (status == EXIT_DONE)
		status = read_log_group(run);
	if (status == EXIT_DONE)
		status = read_socket_group(run);
	if (status == EXIT_DONE)
		status = check_metrics(run->flags.metrics);
	if (status == EXIT_DONE)
		status = read_ranges("pod-ranges", run->flags.pod_ranges, &pods,
				     &conf->n_pod_ranges);
	conf->pod_ranges = pods;
	if (status == EXIT_DONE)
		status = read_ranges("always-open", run->flags.always_open, &open,
				     &conf->n_always_open);
	conf->always_open = open;
	conf->socket_path = run->flags.socket;
	conf->trusts_data_path = strcmp(run->flags.data_path, "nftables") == 0;
	conf->is_machine = run->flags.machine;
	conf->machine = (struct node_machine_conf){ .resolv_conf = NAME_SERVERS_FILE,
						    .read_name_servers = name_servers_read };
	conf->pod_name = getenv("POD_NAME");
	conf->pod_uid = getenv("POD_UID");
	if (status == EXIT_DONE && !conf->trusts_data_path &&
	    strcmp(run->flags.data_path, "auto") != 0) {
		cmd_print_error("node", "--data-path is auto or nftables");
		return EXIT_USAGE;
	}
	return status == EXIT_DONE ? open_tls(run) : status;
}

/* ---- running ---- */

struct stopper {
	struct node_agent *agent;
	sigset_t set;
};

static void *wait_signal(void *arg)
{
	struct stopper *stopper = arg;
	int number = 0;
	if (sigwait(&stopper->set, &number) == 0) {
		log_info("node", "%s: stopping; the rules stay in force",
			 number == SIGTERM ? "SIGTERM" : "SIGINT");
		node_agent_stop(stopper->agent);
	}
	return NULL;
}

/* Of the default path only: other folders are the administrator's. */
static int make_socket_dir(const char *path)
{
	if (strcmp(path, SOCKET_PATH) != 0 || mkdir(SOCKET_DIR, 0755) == 0 || errno == EEXIST)
		return EXIT_DONE;
	cmd_print_error("node", "cannot make '" SOCKET_DIR "': %s; --socket names another path",
			err_str(-errno));
	return EXIT_FAILED;
}

static int run_agent(struct node_run *run)
{
	struct stopper stopper;
	pthread_t thread;
	char err[512] = "";
	sigemptyset(&stopper.set);
	sigaddset(&stopper.set, SIGTERM);
	sigaddset(&stopper.set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &stopper.set, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (node_agent_new(&run->conf, &stopper.agent, ERR_TEXT(err)) < 0) {
		cmd_print_error("node", "%s", err);
		return EXIT_FAILED;
	}
	log_info("node", "node %s of %s; DNS servers of this node ask at %s", run->conf.node_name,
		 kube_client_text(run->conf.client), run->conf.socket_path);
	int status = EXIT_FAILED;
	if (pthread_create(&thread, NULL, wait_signal, &stopper) == 0) {
		node_agent_run(stopper.agent);
		pthread_join(thread, NULL);
		status = EXIT_DONE;
	}
	node_agent_free(stopper.agent);
	return status;
}

/* Of the machine of `fairlead up`, whose data was named, or of this node. */
static int remove_all(struct node_run *run)
{
	struct node_flags *flags = &run->flags;
	bool has_api = flags->cli.kubeconfig != NULL || flags->cli.data != NULL;
	if (flags->name == NULL && flags->cli.data != NULL)
		flags->name = NODE_MACHINE_NAME;
	int status = has_api ? choose_name(run) : EXIT_DONE;
	if (status == EXIT_DONE)
		status = node_remove_table();
	if (status == EXIT_DONE && has_api)
		status = node_remove_report(&flags->cli, flags->report_ns, run->conf.node_name);
	return status;
}

static int run_node(struct node_run *run)
{
	if (run->flags.remove)
		return remove_all(run);
	if (run->flags.probe)
		return node_probe(run->flags.socket, run->flags.alive);
	int status = read_flags(run);
	if (status == EXIT_DONE)
		status = make_socket_dir(run->flags.socket);
	if (status != EXIT_DONE)
		return status;
	if (!kubecli_open(&run->flags.cli))
		return EXIT_FAILED;
	run->conf.client = run->flags.cli.client;
	const char *own_ns = kube_config_namespace(kube_client_config(run->conf.client));
	run->conf.names_ns = run->flags.cli.ns != NULL ? run->flags.cli.ns : own_ns;
	run->conf.report_ns = run->flags.report_ns != NULL ? run->flags.report_ns : own_ns;
	struct http_server *page = NULL;
	metrics_init(0);
	metrics_add_process_collector();
	if (run->flags.metrics != NULL && node_metrics_page_start(run->flags.metrics, &page) < 0)
		status = EXIT_FAILED;
	else
		status = run_agent(run);
	http_server_stop(page);
	kubecli_close(&run->flags.cli);
	return status;
}

static void print_help(const struct flag *flags, size_t n)
{
	printf("usage: fairlead node [FLAGS]\n\n"
	       "Enforces the EgressFirewalls of this node's pods in one nftables table, and adds\n"
	       "the addresses that DNS servers ask for before they answer. Needs CAP_NET_ADMIN.\n"
	       "When it ends, the rules stay in force; --remove takes them away.\n\nflags:\n");
	flags_help(flags, n, stdout);
}

int cmd_node(int argc, char **argv)
{
	struct node_run run = { .flags = { .cli = { .verb = "node" },
					   .socket = SOCKET_PATH,
					   .log_format = "text",
					   .data_path = "auto" } };
	struct node_flags *values = &run.flags;
	const struct flag flags[] = {
		KUBECLI_FLAGS(&values->cli),
		FLAG_VALUE("name", &values->name, "NODE",
			   "this node's name; default: $NODE_NAME, the host's name"),
		FLAG_VALUE("socket", &values->socket, "FILE",
			   "where DNS servers of this node ask; default " SOCKET_PATH),
		FLAG_VALUE("socket-group", &values->socket_group, "GID",
			   "users of this group may ask there, too; default: nobody else"),
		FLAG_VALUE("listen", &values->listen, "ADDR:PORT",
			   "where those of other nodes ask, by TLS; default: nowhere"),
		FLAG_VALUE("tls-cert", &values->cert, "FILE", "certificate of this agent"),
		FLAG_VALUE("tls-key", &values->key, "FILE", "its key"),
		FLAG_VALUE("tls-ca", &values->ca, "FILE",
			   "authority of the DNS servers' certificates"),
		FLAG_VALUE("pod-ranges", &values->pod_ranges, "CIDR,...",
			   "ranges of this node's pods; default: what its Node says"),
		FLAG_VALUE("always-open", &values->always_open, "CIDR,...",
			   "what pods reach whatever the rules say, beside pods and the API"),
		FLAG_VALUE("report-namespace", &values->report_ns, "NAMESPACE",
			   "where it reports what is in force; default: the context's"),
		FLAG_VALUE("data-path", &values->data_path, "auto|nftables",
			   "nftables: packets of pods meet the rules, whatever interfaces say"),
		FLAG_VALUE("log-group", &values->log_group, "N",
			   "NFLOG group for samples of denied packets; default 0: none"),
		FLAG_VALUE("metrics", &values->metrics, "ADDR:PORT",
			   "address of /metrics; default: not served"),
		FLAG_VALUE("log-format", &values->log_format, "FORMAT",
			   "text or json (default text)"),
		FLAG_SWITCH("machine", &values->machine,
			    "without a cluster: annotations of Namespaces name users, cgroups and "
			    "network namespaces"),
		FLAG_SWITCH(
			"probe", &values->probe,
			"ask the agent at --socket whether its rules are in force; exit status 1: "
			"no"),
		FLAG_SWITCH("alive", &values->alive,
			    "with --probe: whether it answers, with or without rules"),
		FLAG_SWITCH("remove", &values->remove,
			    "remove the table: nothing is enforced any more; with --kubeconfig or "
			    "--data the node's report, too"),
	};
	char why[256];
	cmd_find_log_format(argc, argv);
	int r = flags_parse(flags, ARRAY_LEN(flags), argc, argv, ERR_TEXT(why));
	if (r == -2) {
		print_help(flags, ARRAY_LEN(flags));
		return EXIT_DONE;
	}
	if (r < 0)
		return cmd_usage_error("node", why);
	if (r < argc)
		return cmd_usage_error("node", "takes no arguments");
	if (values->alive && !values->probe)
		return cmd_usage_error("node", "--alive belongs to --probe");
	if (values->probe && values->remove)
		return cmd_usage_error("node", "--probe and --remove exclude each other");
	if (!cmd_set_log_format(values->log_format))
		return cmd_usage_error("node", "--log-format is text or json");
	int status = run_node(&run);
	free((void *)(uintptr_t)run.conf.pod_ranges);
	free((void *)(uintptr_t)run.conf.always_open);
	return status;
}
