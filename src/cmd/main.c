/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fairlead: picks the sub-command. A link named `coredns` behaves as `fairlead dns`. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/secret.h"
#include "cmd/adopt/adopt.h"
#include "cmd/advise/advise.h"
#include "cmd/api.h"
#include "cmd/objects/apply.h"
#include "cmd/backup.h"
#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/controller.h"
#include "cmd/objects/delete.h"
#include "cmd/dns.h"
#include "cmd/explain/explain.h"
#include "cmd/objects/get.h"
#include "cmd/help.h"
#include "cmd/plan/plan.h"
#include "cmd/resolvconf/resolvconf.h"
#include "cmd/netconfig/netconfig.h"
#include "cmd/node/node.h"
#include "cmd/status/status.h"
#include "cmd/up.h"
#include "net/sock.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool has_secrets; /* of users, in its memory: it leaves no core dump */
	const char *help;
} commands[] = {
	{ "up", cmd_up, true, "run everything on this machine: API and DNS server" },
	{ "dns", cmd_dns, false, "run the DNS server, with CoreDNS's flags and Corefile" },
	{ "check", cmd_check, false,
	  "validate Corefiles: prints file:line:col of each error, opens no port" },
	{ "resolvconf", cmd_resolvconf, false,
	  "show the resolv.conf of pods in manifests, with Events and lints" },
	{ "advise", cmd_advise, false, "find out from a log which ndots namespaces could use" },
	{ "explain", cmd_explain, false,
	  "show which egress rules decide for a name or address, and why" },
	{ "controller", cmd_controller, true, "controllers, against a Kubernetes API" },
	{ "node", cmd_node, false, "enforce egress rules on this node" },
	{ "api", cmd_api, true, "run the embedded API alone" },
	{ "status", cmd_status, false,
	  "check API, DNS and own objects; exit status 1 and the reasons on problems" },
	{ "get", cmd_get, true, "show objects of an API server or of this machine" },
	{ "apply", cmd_apply, true, "create and update objects from manifests" },
	{ "delete", cmd_delete, false, "remove objects" },
	{ "netconfig", cmd_netconfig, false,
	  "network configuration of a machine from its IPAddresses: netplan, cloud-init" },
	{ "plan", cmd_plan, true, "show what would change at DNS providers because of DNSRecords" },
	{ "adopt", cmd_adopt, true,
	  "hand record sets of external-dns and others over to DNSRecords" },
	{ "backup", cmd_backup, true, "copy a data directory into a file" },
	{ "restore", cmd_restore, true, "restore a backup into a data directory" },
	{ "export", cmd_export, true, "write all objects of a data directory as manifests" },
	{ "help", cmd_help, false, "show the options of a plugin: `fairlead help PLUGIN`" },
};

static void print_usage(FILE *file)
{
	fprintf(file, "usage: fairlead COMMAND [ARGUMENTS]\n\ncommands:\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].help);
	fprintf(file, "\nUse `fairlead COMMAND --help` for details, `fairlead --version` for the "
		      "version.\n");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* A standard stream that is closed at start would be the number of the next socket, and log lines
 * would go there. */
static void open_standard_streams(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int main(int argc, char **argv)
{
	open_standard_streams();
	net_raise_low_ports();
	if (argc > 0 && strcmp(base_name(argv[0]), "coredns") == 0)
		return cmd_dns(argc, argv);
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ||
	    (strcmp(name, "help") == 0 && argc == 2)) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
		printf("fairlead %s\n", FAIRLEAD_VERSION);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].name, name) != 0)
			continue;
		if (commands[i].has_secrets)
			secret_forbid_core_dumps();
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "fairlead: unknown command '%s', try `fairlead --help`\n", name);
	return EXIT_USAGE;
}
