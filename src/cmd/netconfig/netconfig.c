/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead netconfig`: the network configuration of a machine from its devices and the IPAddresses
 * that its claims were given, for netplan and cloud-init. */
#include "cmd/netconfig/netconfig.h"

#include <stdio.h>
#include <string.h>

#include "api/machine/bind.h"
#include "api/machine/machine.h"
#include "api/machine/merge.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/readfile.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"
#include "cmd/kubecli.h"
#include "cmd/manifest.h"
#include "cmd/netconfig/gather.h"
#include "cmd/netconfig/gather_api.h"
#include "cmd/netconfig/guest_data.h"
#include "cmd/netconfig/iso9660.h"
#include "cmd/netconfig/network_config.h"

/* What NoCloud looks for. */
#define NOCLOUD_LABEL "cidata"

enum { READ_WAIT_MS = 60000 };
enum output { OUT_NETPLAN, OUT_NOCLOUD, OUT_VMWARE, OUT_MERGED };

struct netconfig {
	struct kubecli cli;
	struct flag_values files;
	const char *machine_name, *mode, *output, *dhcp_dns, *own, *folder, *iso, *user_data_file;
	const char *defaults_ns;
	enum output form;
	struct machine_merge_opts opts;
	struct gathered gathered;
	struct strbuf user_data;
	struct arena arena;
	struct machine_problems problems;
	struct machine machine;
	struct machine_merged merged;
};

/* The index of the word in the list, which ends with NULL; -1 after a message. */
static int choose_word(const char *flag, const char *word, const char *const *words)
{
	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], word) == 0)
			return i;
	}
	fprintf(stderr, "fairlead netconfig: %s%s: '%s' is none of", flag[1] == '\0' ? "-" : "--",
		flag, word);
	for (int i = 0; words[i] != NULL; i++)
		fprintf(stderr, " %s", words[i]);
	fputc('\n', stderr);
	return -1;
}

/* False after a message. */
static bool check_combination(const struct netconfig *run)
{
	bool to_files = run->folder != NULL || run->iso != NULL;
	if (run->defaults_ns != NULL && !api_name_is_path_segment(run->defaults_ns)) {
		fprintf(stderr,
			"fairlead netconfig: --defaults-namespace: '%s' cannot be the name "
			"of a namespace\n",
			run->defaults_ns);
		return false;
	}
	if (run->files.n == 0 && run->machine_name == NULL) {
		fprintf(stderr,
			"fairlead netconfig: name manifests with -f, or a machine of the API "
			"with --machine\n");
		return false;
	}
	if (to_files && run->form != OUT_NOCLOUD) {
		fprintf(stderr, "fairlead netconfig: --out and --iso are for -o nocloud\n");
		return false;
	}
	if (run->user_data_file != NULL && run->form != OUT_VMWARE && !to_files) {
		fprintf(stderr, "fairlead netconfig: --user-data is for -o vmware, and for -o "
				"nocloud with --out or --iso\n");
		return false;
	}
	return true;
}

static bool choose_options(struct netconfig *run)
{
	static const char *const forms[] = { "netplan", "nocloud", "vmware", "merged", NULL };
	static const char *const modes[] = { "per-device", "flat", NULL };
	static const char *const owns[] = { "replace", "prepend", NULL };
	static const char *const dhcps[] = { "auto", "use", "ignore", NULL };
	bool to_files = run->folder != NULL || run->iso != NULL;
	const char *form_word = run->output != NULL ? run->output
				: to_files	    ? "nocloud"
						    : "netplan";
	int form = choose_word("o", form_word, forms);
	int mode = choose_word("mode", run->mode, modes);
	int own = choose_word("own-nameservers", run->own, owns);
	int dhcp = choose_word("dhcp-dns", run->dhcp_dns, dhcps);
	if (form < 0 || mode < 0 || own < 0 || dhcp < 0)
		return false;
	run->form = (enum output)form;
	run->opts = (struct machine_merge_opts){ .flat = mode == 1,
						 .prepend = own == 1,
						 .dhcp_dns = (enum machine_dhcp_dns)dhcp };
	return check_combination(run);
}

static bool read_user_data(struct netconfig *run)
{
	if (run->user_data_file == NULL)
		return true;
	int r = readfile_path(run->user_data_file, GUEST_USER_DATA_BYTES_MAX, READ_WAIT_MS,
			      &run->user_data);
	if (r == ERR_LIMIT)
		kubecli_say(&run->cli, "cannot read '%s': it has more than %d bytes",
			    run->user_data_file, GUEST_USER_DATA_BYTES_MAX);
	else if (r < 0)
		kubecli_say(&run->cli, "cannot read '%s': %s", run->user_data_file, err_str(r));
	return r >= 0;
}

static bool gather_objects(struct netconfig *run)
{
	bool api = run->files.n == 0 || run->cli.kubeconfig != NULL || run->cli.data != NULL ||
		   run->cli.context != NULL;
	if (run->files.n != 0 &&
	    !gather_files(&run->cli, &run->files, run->machine_name, api, &run->gathered))
		return false;
	if (!api)
		return true;
	bool ok = kubecli_open(&run->cli) &&
		  gather_api(&run->cli, run->machine_name, run->defaults_ns, &run->gathered);
	kubecli_close(&run->cli);
	return ok;
}

/* "file.yaml:3:7: ", or "IPAddress ns/name: " for an object of the API. */
static void put_place(const struct netconfig *run, const struct machine_problem *problem,
		      struct strbuf *out)
{
	for (size_t i = 0; i < run->gathered.files.objects.n; i++) {
		const struct manifest_object *object = &run->gathered.files.objects.v[i];
		if (object->o != problem->object)
			continue;
		manifest_place(object, problem->field, out);
		strbuf_adds(out, ": ");
		return;
	}
	strbuf_addf(out, "%s ", api_kind(problem->object));
	api_object_key(out, problem->object);
	strbuf_adds(out, ": ");
}

/* False when one of them is an error. */
static bool print_problems(const struct netconfig *run)
{
	const struct machine_problems *problems = &run->problems;
	for (size_t i = 0; i < problems->n; i++) {
		const struct machine_problem *problem = &problems->v[i];
		CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
		put_place(run, problem, &line);
		fprintf(stderr, "%s%s%s%s%s\n", line.s, problem->warning ? "warning: " : "",
			problem->field, problem->field[0] != '\0' ? ": " : "", problem->text);
	}
	if (problems->n == MACHINE_PROBLEMS_MAX)
		fprintf(stderr, "fairlead netconfig: further problems are not shown\n");
	return problems->n_errors == 0;
}

/* A guest whose devices come up in another order would get the addresses of another network. */
static void warn_about_names(struct netconfig *run)
{
	if (run->form == OUT_MERGED || run->problems.n_errors != 0)
		return;
	for (size_t i = 0; i < run->machine.n_devices; i++) {
		if (run->machine.devices[i].mac == NULL)
			machine_warn(&run->problems, run->machine.object,
				     machine_device_field(&run->machine, i, "", &run->arena),
				     "device %zu has no MAC address: the guest finds it by its "
				     "name '%s'",
				     i, run->machine.devices[i].name);
	}
}

static void print_cuts(const struct netconfig *run)
{
	for (size_t i = 0; i < run->merged.n_cut; i++)
		kubecli_say(&run->cli,
			    "warning: the %s '%s' is left out: guests hold %d name servers, and %d "
			    "search domains of %d characters in all",
			    run->merged.cut[i].is_domain ? "search domain" : "name server",
			    run->merged.cut[i].text, MACHINE_GUEST_SERVERS_MAX,
			    MACHINE_GUEST_DOMAINS_MAX, MACHINE_GUEST_DOMAIN_CHARACTERS_MAX);
}

/* Domains go where servers are (merge.h): they stand alone only if no device has one. */
static void warn_about_lone_domains(const struct netconfig *run)
{
	const struct machine_nameservers *all = &run->merged.all;
	if (run->form != OUT_MERGED && all->search.n != 0 && all->addresses.n == 0)
		kubecli_say(
			&run->cli,
			"warning: no device has a name server: netplan uses the search domains "
			"alone, but cloud-init 22.4 leaves them out of /etc/resolv.conf, and on "
			"a device with DHCP drops them");
}

static bool make_machine(struct netconfig *run)
{
	struct machine_objects objects = { run->gathered.objects.v, run->gathered.objects.n,
					   run->defaults_ns };
	machine_read(run->gathered.machine, run->gathered.name, &run->problems, &run->machine);
	machine_bind(&run->machine, &objects, run->form == OUT_MERGED, &run->problems);
	warn_about_names(run);
	if (!print_problems(run))
		return false;
	machine_merge(&run->machine, &run->opts, &run->arena, &run->merged);
	print_cuts(run);
	warn_about_lone_domains(run);
	return true;
}

static int save_iso(const struct guest_files *files, const char *path, struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;
	struct iso9660_file listed[GUEST_DATA_FILES];
	for (size_t i = 0; i < GUEST_DATA_FILES; i++)
		listed[i] =
			(struct iso9660_file){ files->v[i].name, strbuf_slice(&files->v[i].text) };
	int r = iso9660_write(NOCLOUD_LABEL, listed, GUEST_DATA_FILES, &image);
	if (r < 0) {
		err_text_set(err, "cannot make an image: %s", err_str(r));
		return r;
	}
	return guest_data_save_file(path, strbuf_slice(&image), err);
}

static bool write_nocloud(const struct netconfig *run)
{
	struct guest_files files;
	char why[512];
	int r = 0;
	guest_data_nocloud(&run->machine, &run->merged, strbuf_slice(&run->user_data), &files);
	if (run->folder != NULL)
		r = guest_data_save(&files, run->folder, ERR_TEXT(why));
	if (r >= 0 && run->iso != NULL)
		r = save_iso(&files, run->iso, ERR_TEXT(why));
	guest_data_done(&files);
	if (r < 0)
		kubecli_say(&run->cli, "%s", why);
	return r >= 0;
}

static bool write_output(const struct netconfig *run)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	switch (run->form) {
	case OUT_NETPLAN:
		network_config_write(&run->machine, &run->merged, true, &out);
		break;
	case OUT_NOCLOUD:
		if (run->folder != NULL || run->iso != NULL)
			return write_nocloud(run);
		network_config_write(&run->machine, &run->merged, false, &out);
		break;
	case OUT_VMWARE:
		guest_data_vmware(&run->machine, &run->merged, strbuf_slice(&run->user_data), &out);
		break;
	case OUT_MERGED:
		network_config_write_merged(&run->merged, &out);
		break;
	}
	fwrite(out.s, 1, out.n, stdout);
	return true;
}

static void print_help(const struct flag *flags, size_t count)
{
	printf("usage: fairlead netconfig -f FILE... [--machine NAME] [FLAGS]\n"
	       "       fairlead netconfig --kubeconfig FILE --machine NAME [FLAGS]\n\n"
	       "Prints the network configuration of a machine: its devices are those of a "
	       "VSphereVM,\n"
	       "VSphereMachine or VSphereMachineTemplate, their addresses and name servers those "
	       "of\n"
	       "its IPAddresses. With -f and --kubeconfig, what the files lack is read from the "
	       "API.\n"
	       "Exit status 1: a claim is not bound yet or an object is not valid; all problems "
	       "are\n"
	       "listed.\n\n");
	flags_help(flags, count, stdout);
}

static int run_netconfig(struct netconfig *run)
{
	if (!choose_options(run))
		return EXIT_USAGE;
	strbuf_init(&run->user_data);
	arena_init(&run->arena);
	run->problems.arena = &run->arena;
	bool ok = read_user_data(run) && gather_objects(run) && make_machine(run) &&
		  write_output(run);
	gather_done(&run->gathered);
	strbuf_done(&run->user_data);
	arena_done(&run->arena);
	return kubecli_flush(&run->cli, ok ? EXIT_DONE : EXIT_FAILED);
}

int cmd_netconfig(int argc, char **argv)
{
	struct netconfig run = {
		.cli.verb = "netconfig", .mode = "per-device", .own = "replace", .dhcp_dns = "auto"
	};
	const struct flag flags[] = {
		FLAG_VALUES(
			"f", &run.files, "FILE",
			"manifest, folder of manifests, or - for standard input; may be repeated"),
		FLAG_VALUE("machine", &run.machine_name, "NAME",
			   "the machine; default: the only one in the files"),
		FLAG_VALUE("mode", &run.mode, "MODE",
			   "name servers per-device (default), or flat: all on the device with the "
			   "default route"),
		FLAG_VALUE("o", &run.output, "FORMAT",
			   "netplan (default), nocloud, vmware, or merged: the name servers alone"),
		FLAG_VALUE("own-nameservers", &run.own, "HOW",
			   "those of machine and devices replace (default) or prepend those of "
			   "addresses"),
		FLAG_VALUE(
			"dhcp-dns", &run.dhcp_dns, "HOW",
			"name servers of DHCP: use, ignore, or auto (default): ignore where there "
			"are others"),
		FLAG_VALUE("out", &run.folder, "DIR",
			   "with nocloud: write meta-data, network-config and user-data into DIR"),
		FLAG_VALUE("iso", &run.iso, "FILE",
			   "with nocloud: write a CD image with the label cidata"),
		FLAG_VALUE("user-data", &run.user_data_file, "FILE",
			   "with vmware, --out or --iso: user data to add"),
		FLAG_VALUE("defaults-namespace", &run.defaults_ns, "NAMESPACE",
			   "namespace of the ConfigMap fairlead-ipam; default: fairlead, "
			   "fairlead-ipam-system, default"),
		KUBECLI_FLAGS(&run.cli),
	};
	char why[256];
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &run.files, ERR_TEXT(why));
	int status = EXIT_USAGE;
	if (r == -2)
		print_help(flags, ARRAY_LEN(flags));
	else if (r < 0)
		fprintf(stderr, "fairlead netconfig: %s, try --help\n", why);
	else
		status = run_netconfig(&run);
	vec_done(&run.files);
	return r == -2 ? EXIT_DONE : status;
}
