/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead up`: the embedded API, a DNS server that knows its Services, controllers and further
 * programs, on one machine. */
#include "cmd/up.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/tree_memory.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/metrics/process.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/objects/apply.h"
#include "cmd/cmd.h"
#include "cmd/errors.h"
#include "cmd/embedded.h"
#include "cmd/embedded_admission.h"
#include "cmd/controller_choice.h"
#include "cmd/controllerconf.h"
#include "cmd/flags.h"
#include "cmd/up/supervise.h"
#include "cmd/up/up_children.h"
#include "cmd/up/up_egress.h"
#include "cmd/up/upcontrol.h"
#include "cmd/up/upstatus.h"
#include "controller/dnsoperator/machine_corefile.h"
#include "corefile_source/corefile_source.h"
#include "dns/resolvconf.h"
#include "net/addr.h"
#include "net/sock.h"
#include "plugin/catalogue.h"
#include "server/control.h"

enum {
	PIPE_WAIT_MS = 1000,
	ARENAS_MAX = 2, /* of malloc */
};
static const char resolv_conf[] = "/etc/resolv.conf";

struct up {
	struct embedded api;
	struct embedded_admission admission;
	const char *dns, *conf, *log_format, *controllers, *lookup_servers, *pod_dns_servers,
		*egress;
	struct controllerconf_flags records; /* those of the controller dnsrecord */
	struct flag_values load, child;
	struct controller_choice chosen;
	struct up_children children;
	union net_addr dns_addr;
	union net_addr lookup[CONTROLLERCONF_LOOKUP_SERVERS_MAX];
	union net_addr pod_dns[CONTROLLERCONF_POD_SERVERS_MAX];
	union net_addr notify; /* of `records` */
	size_t n_lookup, n_pod_dns;
	struct apiserver_server *server;
	struct corefile_source *file; /* --conf */
	struct strbuf corefile;	      /* else this, while the API has no configuration */
	struct strbuf stored;	      /* else that of the API at the start; "": it had none */
	struct upcontrol *control;    /* NULL: not started yet */
	struct supervise *supervise;
	struct upstatus *status;
	bool failed;	     /* the parts beside the DNS server could not start */
	char *note;	     /* path of what `fairlead status` reads */
	char *egress_keys;   /* path of the keys of what the DNS server learns; NULL: it does not */
	char *egress_socket; /* of the agent; NULL: nothing is enforced */
	struct strbuf controller_names; /* of `chosen`, for the API's /version */
	struct strbuf egress_never;	/* networks whose addresses it never learns */
	char bind[NET_ADDR_TEXT_MAX];
	struct controller_machine machine;
};

/* ---- the DNS server's configuration ---- */

/* A machine without name servers has nobody to forward to. */
static bool has_nameservers(void)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct arena a;
	struct dns_resolvconf rc;
	arena_init(&a);
	bool any = readfile_path(resolv_conf, DNS_RESOLVCONF_BYTES_MAX, PIPE_WAIT_MS, &text) == 0 &&
		   dns_resolvconf_parse(strbuf_slice(&text), &a, &rc) == 0 && rc.n_nameserver > 0;
	arena_done(&a);
	return any;
}

static bool has_egress_controller(const struct up *up)
{
	const struct controller *controller = controller_find("egressfirewall");
	return controller != NULL && controller_choice_has(&up->chosen, controller);
}

/* The DNS server learns addresses for egress rules, which their controller collects. A Corefile of the
 * user may have a stanza for it, but not with our keys. */
static bool learns_addresses(const struct up *up)
{
	return up->conf == NULL && strcmp(up->egress, "off") != 0 && has_egress_controller(up);
}

static void list_service_networks(struct up *up)
{
	const struct flag_values *given = &up->api.cidrs;
	strbuf_reset(&up->egress_never);
	strbuf_adds(&up->egress_never, given->n == 0 ? EMBEDDED_SERVICE_CIDR : given->v[0]);
	for (size_t i = 1; i < given->n; i++)
		strbuf_addf(&up->egress_never, " %s", given->v[i]);
}

/* Where the DNS server listens, what it reads Services from, and whom it can forward to. */
static void describe_machine(struct up *up)
{
	net_addr_ip_str(&up->dns_addr, up->bind);
	up->machine = (struct controller_machine){
		.port = net_addr_port(&up->dns_addr),
		.bind = up->bind,
		.kubeconfig = apiserver_server_system_kubeconfig(up->server),
		.no_resolvers = !has_nameservers(),
		.own_corefile = up->conf != NULL,
		.records = true,
	};
	if (!learns_addresses(up))
		return;
	up->egress_keys = xasprintf("%s/controllers/egressfirewall/keys", up->api.data);
	up->machine.egress_ns = UPCONTROL_NAMESPACE;
	up->machine.egress_keys = up->egress_keys;
	list_service_networks(up);
	up->machine.egress_never = up->egress_never.s;
	if (strcmp(up->egress, "enforce") != 0)
		return;
	up->egress_socket = up_egress_socket(up->api.data);
	up->machine.egress_socket = up->egress_socket;
}

static int load_text(void *ctx, struct strbuf *out, struct err_text why)
{
	struct up *u = ctx;
	if (u->file != NULL)
		return corefile_source_load(u->file, out, why);
	if (u->control != NULL && upcontrol_text(u->control, out))
		return 0;
	bool starts = u->control == NULL && u->stored.n != 0;
	strbuf_reset(out);
	strbuf_add_slice(out, strbuf_slice(starts ? &u->stored : &u->corefile));
	return 0;
}

/* Where the stored configuration cannot be served, as with upstreams of an empty resolv.conf: names of
 * the cluster and of DNSRecords are answered and all others refused, so that none goes to an upstream
 * that must not see it, and the API runs to correct the object. */
static int load_restricted(void *ctx, struct strbuf *out, struct err_text why)
{
	const struct up *up = ctx;
	struct controller_machine machine = up->machine;
	(void)why;
	machine.no_resolvers = true;
	dnsoperator_machine_corefile(&machine, out);
	return 0;
}

static bool has_corefile_controller(const struct up *up)
{
	for (size_t i = 0; i < up->chosen.n; i++) {
		if (up->chosen.v[i]->makes_corefile)
			return true;
	}
	return false;
}

/* The Corefile to start with. What the API has stored is served from the first query on: with another
 * configuration names would go to upstreams that must not see them, and controllers would lose the
 * addresses that they know. */
static int prepare_corefile(struct up *up, struct err_text why)
{
	if (up->conf != NULL) {
		up->file = corefile_source_new(up->conf, net_addr_port(&up->dns_addr));
		return 0;
	}
	dnsoperator_machine_corefile(&up->machine, &up->corefile);
	return has_corefile_controller(up) ? upcontrol_read_stored(&up->machine, &up->stored, why)
					   : 0;
}

/* ---- controllers and children ---- */

static int choose_controllers(struct up *up, struct err_text why)
{
	if (controller_choice_parse(up->controllers, &up->chosen, why) < 0)
		return -1;
	for (size_t i = 0; up->conf != NULL && controller_list[i] != NULL; i++) {
		const struct controller *controller = controller_list[i];
		if (!controller->makes_corefile)
			continue;
		if (!up->chosen.usual && controller_choice_has(&up->chosen, controller)) {
			err_text_set(
				why,
				"controller '%s' makes the Corefile, and --conf names another: "
				"use one of them",
				controller->name);
			return -1;
		}
		controller_choice_remove(&up->chosen, controller);
	}
	return 0;
}

static void list_controllers(struct up *up)
{
	for (size_t i = 0; i < up->chosen.n; i++)
		strbuf_addf(&up->controller_names, "%s%s", i != 0 ? "," : "",
			    up->chosen.v[i]->name);
	up->api.controllers = up->chosen.n != 0 ? up->controller_names.s : NULL;
}

static void add_child(void *ctx, const char *name, bool well, const char *text)
{
	CLEANUP(freep) char *what = xasprintf("child %s", name);
	upstatus_add(ctx, what, well, text);
}

static void collect_status(void *ctx, json_t *lines)
{
	struct up *up = ctx;
	upcontrol_report(up->control, lines);
	if (up->supervise != NULL)
		supervise_report(up->supervise, add_child, lines);
}

static void start_status(struct up *up)
{
	char err[512] = "";
	if (upstatus_start(up->api.data, collect_status, up, &up->status, ERR_TEXT(err)) < 0)
		log_warn(NULL, "%s: `fairlead status` will not report controllers and children",
			 err);
}

static int add_agent(struct up *up, struct err_text err)
{
	struct up_egress_conf conf = { .kubeconfig = up->machine.kubeconfig,
				       .data = up->api.data,
				       .ns = UPCONTROL_NAMESPACE,
				       .dns = &up->dns_addr };
	return strcmp(up->egress, "enforce") == 0 ? up_egress_add_child(&conf, &up->children, err)
						  : 0;
}

static int start_children(struct up *up, struct err_text err)
{
	int r = add_agent(up, err);
	if (r == 0 && up->children.n != 0)
		r = supervise_start(up->children.v, up->children.n, NULL, &up->supervise, err);
	/* The controllers look names of rules up when they start. */
	if (r == 0 && up->egress_socket != NULL && !up_egress_wait(up->api.data))
		log_warn(NULL, "the egress agent does not answer yet: addresses that are new for "
			       "names of egress rules get SERVFAIL until it does");
	return r;
}

static int start_parts(struct up *up, struct err_text err)
{
	struct upcontrol_conf conf = { .machine = &up->machine,
				       .corefile = up->stored.n != 0 ? up->stored.s : NULL,
				       .controllers = &up->chosen,
				       .admission = &up->admission,
				       .lookup_servers = up->lookup,
				       .n_lookup_servers = up->n_lookup,
				       .pod_dns_servers = up->pod_dns,
				       .n_pod_dns_servers = up->n_pod_dns,
				       .records = &up->records.options,
				       .data = up->api.data };
	int r = start_children(up, err);
	if (r == 0)
		r = upcontrol_start(&conf, &up->control, err);
	if (r == 0)
		start_status(up);
	return r;
}

static void stop_parts(struct up *up)
{
	upstatus_stop(up->status); /* it reads the others */
	supervise_stop(up->supervise);
	upcontrol_stop(up->control);
}

/* ---- what `fairlead status` reads ---- */

static void write_note(const struct up *up)
{
	char dns[NET_ADDR_TEXT_MAX];
	net_addr_str(&up->dns_addr, dns);
	int fd = open(up->note, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	bool ok = f != NULL && fprintf(f, "{\"pid\": %d, \"api\": \"%s\", \"dns\": \"%s\"}\n",
				       (int)getpid(), apiserver_server_url(up->server), dns) > 0;
	if (f != NULL)
		ok = fclose(f) == 0 && ok;
	if (!ok)
		log_warn(NULL, "cannot write '%s': `fairlead status` will not check the DNS server",
			 up->note);
}

static void print_addresses(const struct up *up)
{
	char dns[NET_ADDR_TEXT_MAX], ip[NET_ADDR_TEXT_MAX];
	net_addr_str(&up->dns_addr, dns);
	net_addr_ip_str(&up->dns_addr, ip);
	printf("Fairlead %s is up, its data is in %s\n\n"
	       "  API  %s\n"
	       "  DNS  %s\n\n"
	       "try: %s get services -A --data %s\n"
	       "     kubectl --kubeconfig %s get services -A\n"
	       "     dig @%s -p %u kubernetes.default.svc.cluster.local\n",
	       FAIRLEAD_VERSION, up->api.data, apiserver_server_url(up->server), dns,
	       program_invocation_name, up->api.data, apiserver_server_kubeconfig(up->server), ip,
	       net_addr_port(&up->dns_addr));
	fflush(stdout);
}

/* The DNS server listens: controllers may ask it, and children, too. */
static void on_started(void *ctx)
{
	struct up *up = ctx;
	char err[512] = "";
	if (start_parts(up, ERR_TEXT(err)) < 0) {
		cmd_print_error("up", "%s", err);
		up->failed = true;
		kill(getpid(), SIGTERM);
		return;
	}
	write_note(up);
	print_addresses(up);
}

/* ---- life ---- */

static int run_dns(struct up *up)
{
	char why[700] = "";
	describe_machine(up);
	if (prepare_corefile(up, ERR_TEXT(why)) < 0) {
		cmd_print_error("up", "%s", why);
		return EXIT_FAILED;
	}
	bool has_stored = up->stored.n != 0;
	struct control_opts o = {
		.src = { .ctx = up,
			 .name = up->conf != NULL ? up->conf : "<up>",
			 .path = up->file != NULL ? corefile_source_path(up->file) : NULL,
			 .load = load_text,
			 .last_good = has_stored ? load_restricted : NULL,
			 .last_good_name = "names of the cluster alone, until DNS default can be "
					   "served" },
		.server = { .workers = server_default_workers(),
			    .default_port = net_addr_port(&up->dns_addr),
			    /* /metrics of the API has them, behind its token */
			    .no_metrics_page = up->conf == NULL,
			    .explain = catalogue_explain },
		.quiet = true,
		.version = "Fairlead-" FAIRLEAD_VERSION,
		.started = on_started,
		.started_ctx = up,
	};
	int status = control_run(&o);
	unlink(up->note);
	stop_parts(up);
	corefile_source_free(up->file);
	return up->failed ? EXIT_FAILED : status;
}

static void block_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	static const int ours[] = { SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGHUP };
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		sigaddset(&set, ours[i]);
	/* Before any thread starts, so that only this one takes signals. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* A second server would share the port without a word, and each would get a part of the queries. */
static bool port_is_ours(const struct up *up)
{
	uint64_t first_ns = clock_mono_ns();
	int r;
	do
		r = up->conf == NULL ? net_sock_try(&up->dns_addr) : 0;
	while (r < 0 && embedded_retry(r, first_ns));
	if (r < 0)
		cmd_print_error("up", "cannot serve DNS on %s: %s; use --dns for another address",
				up->dns, err_str(r));
	return r == 0;
}

static bool can_enforce(const struct up *up)
{
	char why[256];
	if (strcmp(up->egress, "enforce") != 0)
		return true;
	up_egress_warn(has_egress_controller(up), up->conf != NULL);
	if (up_egress_check(ERR_TEXT(why)) == 0) {
		net_sock_set_mark(NET_SOCK_OWN_MARK);
		return true;
	}
	cmd_print_error("up", "--egress enforce: %s", why);
	return false;
}

static int run_all(struct up *up)
{
	if (!can_enforce(up) || !port_is_ours(up))
		return EXIT_FAILED;
	block_signals();
	metrics_init(server_slots(server_default_workers()));
	metrics_add_process_collector();
	list_controllers(up);
	embedded_admission_init(&up->admission);
	up->api.admission = &up->admission.interface;
	up->server = embedded_start(&up->api, "up");
	if (up->server == NULL)
		return EXIT_FAILED;
	int status = EXIT_DONE;
	if (up->load.n != 0)
		status = apply_files("up", apiserver_server_kubeconfig(up->server), &up->load);
	if (status == EXIT_DONE)
		status = run_dns(up);
	apiserver_server_stop(up->server);
	return status;
}

static int complain_usage(const char *why)
{
	return cmd_usage_error("up", why);
}

static void print_help(const struct flag *flags, size_t count)
{
	printf("usage: fairlead up [FLAGS]\n\n"
	       "Runs everything on this machine: a Kubernetes API with its data in one "
	       "directory,\na DNS server for the Services in it, and the controllers. Ends with "
	       "SIGINT or\nSIGTERM.\n\nflags:\n");
	flags_help(flags, count, stdout);
	printf("\ncontrollers:\n");
	for (size_t i = 0; controller_list[i] != NULL; i++)
		printf("  %-16s %s%s\n", controller_list[i]->name, controller_list[i]->help,
		       controller_list[i]->by_name_only ? " (only by name)" : "");
}

/* What flags say together; 0, or -1 with a sentence. */
static int check_flags(struct up *up, struct err_text why)
{
	if (net_addr_parse(slice_of(up->dns), &up->dns_addr) < 0 ||
	    net_addr_port(&up->dns_addr) == 0) {
		err_text_set(why, "--dns: expected an address and a port such as 127.0.0.1:1053");
		return -1;
	}
	if (!cmd_set_log_format(up->log_format)) {
		err_text_set(why, "--log-format is text or json");
		return -1;
	}
	if (strcmp(up->egress, "off") != 0 && strcmp(up->egress, "observe") != 0 &&
	    strcmp(up->egress, "enforce") != 0) {
		err_text_set(why, "--egress is off, observe or enforce");
		return -1;
	}
	int n_lookup = controllerconf_parse_addresses("lookup-servers", up->lookup_servers,
						      up->lookup, ARRAY_LEN(up->lookup), why);
	int n_pod_dns = n_lookup < 0
				? -1
				: controllerconf_parse_ips("pod-dns-servers", up->pod_dns_servers,
							   up->pod_dns, why);
	if (n_pod_dns < 0 || choose_controllers(up, why) < 0 ||
	    controllerconf_read_dnsrecord(&up->records, &up->notify, why) < 0)
		return -1;
	up->n_lookup = (size_t)n_lookup;
	up->n_pod_dns = (size_t)n_pod_dns;
	return up_children_parse(&up->child, &up->children, why);
}

/* As flags_parse; -2 after the help was printed. */
static int parse_flags(struct up *up, int argc, char **argv, struct err_text why)
{
	const struct flag flags[] = {
		EMBEDDED_FLAG_DATA(&up->api),
		FLAG_VALUE("api", &up->api.listen, "ADDR:PORT",
			   "address of the API; default " EMBEDDED_LISTEN),
		FLAG_VALUE("dns", &up->dns, "ADDR:PORT",
			   "address of the DNS server; default 127.0.0.1:1053"),
		FLAG_VALUES("load", &up->load, "FILE|DIR",
			    "manifests to apply at start, of a folder those directly in it; may be "
			    "repeated"),
		FLAG_VALUE("conf", &up->conf, "FILE",
			   "Corefile to use instead of the generated one"),
		FLAG_VALUE("controllers", &up->controllers, "NAME,...",
			   "controllers to run; * is all but those that run only by name, -NAME "
			   "leaves one of them out; default *"),
		FLAG_VALUE("lookup-servers", &up->lookup_servers, "ADDR:PORT,...",
			   "DNS servers that controllers ask; default: the one of --dns, and with "
			   "--conf those of /etc/resolv.conf"),
		FLAG_VALUE("pod-dns-servers", &up->pod_dns_servers, "IP,...",
			   "name servers that poddns writes into pods; default: that of --dns, if "
			   "its port is 53 and pods can reach it"),
		FLAG_VALUE("dnsrecord-classes", &up->records.options.dnsrecord_classes, "CLASS,...",
			   "classes of DNSRecords that dnsrecord serves: garden, seed, shoot; "
			   "default shoot"),
		FLAG_VALUE("dnsrecord-serials", &up->records.dnsrecord_serials, "TIME",
			   "time between two questions for the serial of a zone, by which changes "
			   "of other writers are found; 0: none; default 0"),
		FLAG_VALUE(
			"dnsrecord-notify", &up->records.dnsrecord_notify, "ADDR:PORT",
			"where name servers send NOTIFY (RFC 1996), upon which the serial of the "
			"zone is read at once; default: nowhere"),
		FLAG_VALUE(
			"egress", &up->egress, "off|observe|enforce",
			"observe: the DNS server learns the addresses of names in EgressFirewall "
			"rules; nothing is blocked; enforce: `fairlead node --machine` runs, too, "
			"and blocks; default observe"),
		FLAG_VALUES("child", &up->child, "NAME=PATH [ARG]...",
			    "program to run beside, and to start again when it ends; may be "
			    "repeated"),
		EMBEDDED_FLAG_NAME(&up->api),
		EMBEDDED_FLAG_CIDR(&up->api),
		FLAG_VALUE("log-format", &up->log_format, "FORMAT", "text or json; default text"),
	};
	cmd_find_log_format(argc, argv);
	int at = flags_parse(flags, ARRAY_LEN(flags), argc, argv, why);
	if (at == -2)
		print_help(flags, ARRAY_LEN(flags));
	return at;
}

static void up_done(struct up *up)
{
	strbuf_done(&up->corefile);
	strbuf_done(&up->stored);
	free(up->note);
	free(up->egress_keys);
	free(up->egress_socket);
	strbuf_done(&up->controller_names);
	strbuf_done(&up->egress_never);
	vec_done(&up->load);
	vec_done(&up->child);
	up_children_done(&up->children);
	controller_choice_done(&up->chosen);
	embedded_done(&up->api);
}

int cmd_up(int argc, char **argv)
{
	struct up u = { .api = EMBEDDED_INIT,
			.dns = "127.0.0.1:1053",
			.log_format = "text",
			.controllers = "*",
			.egress = "observe" };
	char why[512] = "";
	int status, at = parse_flags(&u, argc, argv, ERR_TEXT(why));
	strbuf_init(&u.corefile);
	strbuf_init(&u.stored);
	strbuf_init(&u.controller_names);
	strbuf_init(&u.egress_never);
	if (at == -2) {
		status = EXIT_DONE;
	} else if (at < 0 || at < argc) {
		status = complain_usage(at < 0 ? why : "takes no arguments");
	} else if (check_flags(&u, ERR_TEXT(why)) < 0) {
		status = complain_usage(why);
	} else {
		u.note = xasprintf("%s/up.json", u.api.data);
		/* Some 80 threads, which mostly sleep: with an arena of their own for each few of
		 * them, a megabyte is lost. Queries are answered without an allocator. */
		mallopt(M_ARENA_MAX, ARENAS_MAX);
		api_tree_memory_keep();
		status = run_all(&u);
	}
	up_done(&u);
	return status;
}
