/* SPDX-License-Identifier: GPL-3.0-or-later */
/* prometheus: what it counts, what the page shows, and its life over reloads. The chain here has
 * three helpers besides: one that binds, one that only looks, one that answers. One server serves
 * all tests, as metrics belong to the process; each test loads what it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "server/query.h"
#include "server/setup.h"
#include "testing/fake_http.h"
#include "testing/fake_server.h"

static int two_parse(struct plugin_inst *self, struct setup *s)
{
	static const char *const addresses[] = { "127.0.0.1", "::1" };
	(void)self;
	s->conf->listen = addresses;
	s->conf->n_listen = ARRAY_LEN(addresses);
	return 0;
}

static enum verdict look_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

/* A: answered; TXT: failed; others: dropped. */
static enum verdict end_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	if (q->req.qtype == DNS_TYPE_TXT)
		return query_fail(q, DNS_RCODE_REFUSED, NULL);
	if (q->req.qtype != DNS_TYPE_A)
		return V_DROP;
	query_reply(q);
	return V_ANSWERED;
}

extern const struct plugin prometheus_plugin;
static const struct plugin two_plugin = { .name = "two", .parse = two_parse };
static const struct plugin look_plugin = { .name = "look", .serve = look_serve };
static const struct plugin end_plugin = { .name = "end", .serve = end_serve };
const struct plugin *const plugin_list[] = { &two_plugin, &prometheus_plugin, &look_plugin,
					     &end_plugin, NULL };

static struct fake *f;
static uint16_t port;
static int port_fd;

static int start(void **state)
{
	(void)state;
	f = fake_new(". {\n end\n}\n");
	return f != NULL ? 0 : -1;
}

static int stop(void **state)
{
	(void)state;
	fake_free(f);
	return 0;
}

static int take_port(void **state)
{
	(void)state;
	port_fd = http_fake_port(&port);
	return 0;
}

static int leave_port(void **state)
{
	(void)state;
	close(port_fd);
	return 0;
}

static const char *corefile(const char *text)
{
	return http_fake_text(text, port);
}

static void load(const char *text)
{
	assert_true(fake_reload(f, corefile(text)));
}

static char *page(void)
{
	unsigned status = 0;
	char *text = http_fake_get(port, "/metrics", &status);
	if (text != NULL)
		assert_int_equal(status, 200);
	return text;
}

#define ENABLED(server, zone, name)                                                             \
	"coredns_plugin_enabled{name=\"" name "\",server=\"" server "\",view=\"\",zone=\"" zone \
	"\"}"
#define RESPONSES(plugin, rcode)                                           \
	"coredns_dns_responses_total{plugin=\"" plugin "\",rcode=\"" rcode \
	"\",server=\"dns://:53\",view=\"\",zone=\".\"}"

static void page_shows_the_process(void **state)
{
	static const char *const lines[] = {
		"coredns_build_info{goversion=\"\",revision=\"\",version=\"" FAIRLEAD_VERSION
		"\"} 1\n",
		"# TYPE coredns_panics_total counter\ncoredns_panics_total 0\n",
		"\nprocess_resident_memory_bytes ",
		ENABLED("dns://:53", ".", "prometheus") " 1\n",
	};
	(void)state;
	load(". {\n prometheus PORT\n end\n}\n");
	CLEANUP(freep) char *text = page();
	assert_non_null(text);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		assert_non_null(strstr(text, lines[i]));
	unsigned status = 0;
	free(http_fake_get(port, "/", &status));
	assert_int_equal(status, 404);
}

static void queries_are_counted(void **state)
{
	(void)state;
	load(". {\n prometheus PORT\n look\n end\n}\norg {\n end\n}\n");
	static const char *const asked[][2] = {
		{ "a.test.", "A" },  { "a.test.", "A" }, { "a.test.", "TXT" },
		{ "a.test.", "MX" }, { "a.org.", "A" },
	};
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		fake_ask(f, &(struct fake_ask){ .name = asked[i][0], .type = asked[i][1] });
	/* The label names the handler right below; it is empty if the server replied itself, or
	 * nothing did. */
	assert_true(fake_metric(f, RESPONSES("look", "NOERROR")) == 2);
	assert_true(fake_metric(f, RESPONSES("", "REFUSED")) == 1);
	assert_true(fake_metric(f, "coredns_dns_requests_total{family=\"1\",proto=\"udp\","
				   "server=\"dns://:53\",type=\"A\",view=\"\",zone=\".\"}") == 2);
	/* A block without the plugin is not counted. */
	assert_true(fake_metric(f, "coredns_dns_requests_total{family=\"1\",proto=\"udp\","
				   "server=\"dns://:53\",type=\"A\",view=\"\",zone=\"org.\"}") < 0);
}

static void plugins_are_shown_while_they_are_there(void **state)
{
	(void)state;
	load("com net {\n prometheus PORT\n look\n end\n}\n"
	     "org {\n prometheus PORT\n end\n}\n"
	     "edu {\n look\n}\n");
	assert_true(fake_metric(f, ENABLED("dns://:53", "com.", "look")) == 1);
	assert_true(fake_metric(f, ENABLED("dns://:53", "com.", "prometheus")) == 1);
	/* Only a block's first zone is shown, as CoreDNS does. */
	assert_true(fake_metric(f, ENABLED("dns://:53", "net.", "look")) < 0);
	assert_true(fake_metric(f, ENABLED("dns://:53", "org.", "end")) == 1);
	assert_true(fake_metric(f, ENABLED("dns://:53", "org.", "look")) < 0);
	assert_true(fake_metric(f, ENABLED("dns://:53", "edu.", "look")) < 0);

	assert_false(fake_reload(f, corefile("com {\n prometheus 192.0.2.1:0\n}\n")));
	assert_true(fake_metric(f, ENABLED("dns://:53", "com.", "look")) == 1);
	load("com {\n prometheus PORT\n end\n}\n"
	     "org {\n prometheus PORT\n end\n}\n");
	assert_true(fake_metric(f, ENABLED("dns://:53", "com.", "end")) == 1);
	assert_true(fake_metric(f, ENABLED("dns://:53", "org.", "end")) == 1);
	assert_true(fake_metric(f, ENABLED("dns://:53", "com.", "look")) < 0);
	assert_true(fake_metric(f, ENABLED("dns://:53", "net.", "prometheus")) < 0);
}

static void every_bound_address_is_shown(void **state)
{
	(void)state;
	load("com:5353 {\n two\n prometheus PORT\n end\n}\n");
	assert_true(fake_metric(f, ENABLED("dns://127.0.0.1:5353", "com.", "end")) == 1);
	assert_true(fake_metric(f, ENABLED("dns://[::1]:5353", "com.", "end")) == 1);
	assert_true(fake_metric(f, ENABLED("dns://127.0.0.1:5353", "com.", "two")) < 0);
}

static void page_goes_with_the_last_stanza(void **state)
{
	(void)state;
	load("com {\n prometheus PORT\n}\norg {\n prometheus PORT\n}\n");
	load("com {\n prometheus PORT {\n runtime_metrics\n}\n}\n");
	CLEANUP(freep) char *text = page();
	assert_non_null(text);
	assert_true(fake_reload(f, "com {\n end\n}\n"));
	assert_null(page());
}

static void bad_stanzas(void **state)
{
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ ". {\n prometheus /foo\n}\n",
		  "Corefile:2:13: '/foo' is not an address such as localhost:9153" },
		{ ". {\n prometheus :1 b\n}\n",
		  "Corefile:2:16: prometheus: unexpected argument 'b'" },
		{ ". {\n prometheus {\n runtime_metrics x\n}\n}\n",
		  "Corefile:3:18: runtime_metrics: expected no argument, got 'x'" },
		{ ". {\n prometheus {\n tls\n}\n}\n", "Corefile:3:2: tls: expected an argument" },
		{ ". {\n prometheus {\n tls web.yml\n}\n}\n",
		  "Corefile:3:2: tls: web configuration files are not supported; remove the "
		  "option, listen on localhost and let a proxy in front add TLS" },
		{ ". {\n prometheus {\n frob\n}\n}\n",
		  "Corefile:3:2: unknown option 'frob', expected one of: runtime_metrics, tls" },
		{ ". {\n prometheus\n prometheus\n}\n",
		  "Corefile:3:2: 'prometheus' may be used only once in a server block, first at "
		  "line "
		  "2" },
		{ ". {\n prometheus 192.0.2.1:0\n}\n",
		  "Corefile:2:2: cannot listen on '192.0.2.1:0': Cannot assign requested address" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_false(fake_reload(f, rows[i].text));
		assert_string_equal(fake_error(), rows[i].error);
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, take_port, leave_port)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(page_shows_the_process),
		TEST(queries_are_counted),
		TEST(plugins_are_shown_while_they_are_there),
		TEST(every_bound_address_is_shown),
		TEST(page_goes_with_the_last_stanza),
		TEST(bad_stanzas),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
